// _GNU_SOURCE is defined only here, not in the header, because Swift imports glibc without it.
#define _GNU_SOURCE
#include "CVaultProcess.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int argument_count;
static char **arguments;

// Runs before Swift's runtime does.
__attribute__((constructor(101))) static void keep_arguments(int count, char **values) {
  argument_count = count;
  arguments = values;
}

char **cprocess_arguments(int *count) {
  *count = argument_count;
  return arguments;
}

int cprocess_lock_on_fault(const void *address, size_t count) { return mlock2(address, count, MLOCK_ONFAULT); }

int cprocess_signal_descriptor(const void *signals) { return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK); }

void cprocess_ignore(int signal_number) { signal(signal_number, SIG_IGN); }

int cprocess_is_ignored(int signal_number) {
  struct sigaction action;
  return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

void cprocess_guard_output(void) {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  for (int number = 0; number < 3; number++)
    // `open` returns the lowest free number. It opens in the wrong direction, so that using it is an error.
    if (fcntl(number, F_GETFD) == -1 && open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY) == -1
        && open("/", O_PATH) == -1)
      _exit(1);
}

int cprocess_memory_file(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int cprocess_seal(int descriptor) {
  return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

// Missing in the headers of older systems.
enum { peer_process_option = 77 };

int cprocess_peer_process(int socket) {
  int descriptor = -1;
  socklen_t size = sizeof descriptor;
  return getsockopt(socket, SOL_SOCKET, peer_process_option, &descriptor, &size) == 0 ? descriptor : -1;
}

long cprocess_peer_label(int socket, char *buffer, size_t capacity) {
  socklen_t size = (socklen_t)capacity;
  return getsockopt(socket, SOL_SOCKET, SO_PEERSEC, buffer, &size) == 0 ? (long)size : -1;
}

void cprocess_close_on_exec(int first) { (void)close_range((unsigned)first, ~0U, CLOSE_RANGE_CLOEXEC); }

int cprocess_lock_memory(void) { return mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT); }

void cprocess_raise_descriptor_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= 16384) return;
  limit.rlim_cur = limit.rlim_max < 16384 ? limit.rlim_max : 16384;
  setrlimit(RLIMIT_NOFILE, &limit);
}
