// _GNU_SOURCE is defined only here, not in the header, because Swift imports glibc without it.
#define _GNU_SOURCE
#include "CVaultSystem.h"
#include <errno.h>
#include <fcntl.h>
#include <nss.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

int csystem_wait(sem_t *semaphore, const struct timespec *until) {
  return sem_clockwait(semaphore, CLOCK_MONOTONIC, until);
}

int csystem_control_process(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }

static int finds_users_in_files;

void csystem_find_users_in_files(void) { finds_users_in_files = 1; }

void csystem_prepare_to_find_users(void) {
  if (!finds_users_in_files) return;
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("group", "files");
}

void csystem_take_default_action(int signal_number) { signal(signal_number, SIG_DFL); }

int32_t csystem_add_key(const char *type, const char *description, const void *payload, size_t count, int32_t keyring) {
  return (int32_t)syscall(SYS_add_key, type, description, payload, count, keyring);
}

int32_t csystem_search_key(int32_t keyring, const char *type, const char *description) {
  return (int32_t)syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, type, description, 0);
}

long csystem_read_key(int32_t key, void *buffer, size_t capacity) {
  return syscall(SYS_keyctl, KEYCTL_READ, key, buffer, capacity);
}

int csystem_change_key(int operation, int32_t key, long argument) {
  return (int)syscall(SYS_keyctl, operation, key, argument);
}

int csystem_peer(int socket, int32_t *process, uint32_t *user, uint32_t *group) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return -1;
  *process = peer.pid;
  *user = peer.uid;
  *group = peer.gid;
  return 0;
}

int csystem_processor(void) { return sched_getcpu(); }

void csystem_leave_processor(int processor) {
  cpu_set_t all, others;
  if (processor < 0 || sched_getcpu() != processor || sched_getaffinity(0, sizeof all, &all) != 0) return;
  others = all;
  CPU_CLR(processor, &others);
  // Fails if there is no other.
  if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof all, &all);
}

int csystem_open_leased(const char *path) {
  // Pinned first, because opening a FIFO would wait for ever.
  int pinned = csystem_name(path), found = -1;
  if (pinned < 0) return -1;
  struct stat status;
  if (fstat(pinned, &status) == 0) {
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", pinned);
    errno = ENXIO;
    if (S_ISREG(status.st_mode)) do found = open(name, O_RDONLY | O_CLOEXEC); while (found < 0 && errno == EINTR);
  }
  int number = errno;
  close(pinned);
  errno = number;
  return found;
}

int csystem_rename_new(const char *from, const char *to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
  // Filters of older containers answer calls that they do not know with EPERM.
  if (errno != EINVAL && errno != ENOSYS && errno != EPERM) return -1;
  // File systems that do not support that flag have hard links, and link() fails if the name is taken.
  if (link(from, to) == 0) return unlink(from), 0;
  // Folders have no hard links. rename() replaces nothing by a folder but an empty folder.
  struct stat status;
  if (errno != EPERM || lstat(from, &status) != 0 || !S_ISDIR(status.st_mode)) return -1;
  if (lstat(to, &status) != 0) return rename(from, to);
  errno = EEXIST;
  return -1;
}

int csystem_access(const char *path, int mode) {
  if (faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0) return 0;
  return errno == EPERM && geteuid() == getuid() && getegid() == getgid() ? access(path, mode) : -1;
}

int csystem_exchange(const char *left, const char *right) {
  return renameat2(AT_FDCWD, left, AT_FDCWD, right, RENAME_EXCHANGE);
}

uint32_t csystem_file_system(const char *path) {
  struct statfs answer;
  return statfs(path, &answer) == 0 ? (uint32_t)answer.f_type : 0;
}

int csystem_identity(int folder, const char *path, uint64_t *device, uint64_t *inode) {
  struct statx found;
  struct stat status;
  if (statx(folder, path, AT_SYMLINK_NOFOLLOW, STATX_INO, &found) == 0 && found.stx_mask & STATX_INO) {
    *device = makedev(found.stx_dev_major, found.stx_dev_minor);
    *inode = found.stx_ino;
    return 0;
  }
  // An older kernel or a sandbox may lack statx.
  if (fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  *device = status.st_dev;
  *inode = status.st_ino;
  return 0;
}

int csystem_name(const char *path) { return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC); }

int csystem_give_to_group(int descriptor, uint32_t group) {
  return fchownat(descriptor, "", (uid_t)-1, group, AT_EMPTY_PATH);
}
