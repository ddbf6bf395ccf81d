import CSystem
import Glibc

/// Keeps what is in memory from being written anywhere when the program dies.
enum ProcessHardening {
  static func apply() {
    openStandardDescriptors()
    // Swift's handler prints the bytes behind every register, whatever the limits on core dumps say.
    for signal in [SIGSEGV, SIGBUS, SIGILL, SIGABRT, SIGTRAP, SIGFPE, SIGQUIT, SIGSYS] {
      csystem_take_default_action(signal)
    }
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    _ = csystem_set_dumpable(0)
    // A reader that has gone is then an error of write, and the terminal and temporary files are put right.
    csystem_ignore(SIGPIPE)
  }

  /// Otherwise the store's file could become descriptor 2, and an error message be written into it.
  private static func openStandardDescriptors() {
    for descriptor in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] where fcntl(descriptor, F_GETFD) == -1 {
      // The lowest free number is the missing one. Its other direction is asked for, so that using it is an error.
      _ = unsafe open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
    }
  }
}
