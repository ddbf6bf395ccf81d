import CVaultStart
import CVaultSystem
import Glibc
import VaultCommands

cstart_restore_environment()
csystem_find_users_in_files()
// The store's file could otherwise become descriptor 2, and an error message be written into it.
for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
  // `open` returns the lowest free number, which is the missing one. It is opened in the wrong direction, so that using it
  // is an error.
  _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
}
// A reader that has gone, or a file that may not grow, is then an error of write, and temporary files are put away.
csystem_ignore(SIGPIPE)
csystem_ignore(SIGXFSZ)
exit(runProcess())
