// Wrappers, most of one line, for calls that Swift cannot import.
#pragma once
#include <linux/keyctl.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>

/// prctl(2)
int csystem_control_process(int option, unsigned long value);

/// Lets glibc look up users and groups only in /etc/passwd and /etc/group from now on. A static executable would crash
/// when it loads the plugins that the machine's nsswitch.conf names.
void csystem_find_users_in_files(void);
/// To be called before each call that looks up a user or a group. Only then nsswitch.conf is read.
void csystem_prepare_to_find_users(void);

/// Waits for a semaphore until a moment on the monotonic clock.
int csystem_wait(sem_t *semaphore, const struct timespec *until);

/// SIG_DFL is an integer cast to a pointer, which Swift does not import.
void csystem_take_default_action(int signal_number);

/// The kernel's keyrings, as in add_key(2) and keyctl(2): -1 and errno if the kernel refuses or has no keyrings.
int32_t csystem_add_key(const char *type, const char *description, const void *payload, size_t count, int32_t keyring);
int32_t csystem_search_key(int32_t keyring, const char *type, const char *description);
/// The size of the key's content. If the buffer is too small, it is unspecified how much of it was written.
long csystem_read_key(int32_t key, void *buffer, size_t capacity);
/// An operation of keyctl(2) with at most one argument, such as KEYCTL_LINK with the number of a keyring.
int csystem_change_key(int operation, int32_t key, long argument);

/// Who is at the other end of a Unix socket, as of the moment when they connected: SO_PEERCRED.
int csystem_peer(int socket, int32_t *process, uint32_t *user, uint32_t *group);

/// The number of the processor on which this thread runs; -1 if the kernel does not say.
int csystem_processor(void);
/// Moves this thread to another processor if it runs on that one and may use others, all of which it may use afterwards.
void csystem_leave_processor(int processor);

/// Opens the regular file at `path` for reading as soon as no other process has a lease on it, which the system ends after
/// the time in /proc/sys/fs/lease-break-time. On failure it returns -1 and sets errno, ENXIO for anything but a regular
/// file.
int csystem_open_leased(const char *path);

/// Renames the file or folder `from` to `to` atomically. Fails with EEXIST if that name is taken.
int csystem_rename_new(const char *from, const char *to);

/// Like `faccessat` with the effective user and group, also where a filter forbids its newer form.
int csystem_access(const char *path, int mode);

/// Exchanges the names of two files or folders atomically. Fails with EINVAL if the file system cannot.
int csystem_exchange(const char *left, const char *right);

/// The type of the file system that contains `path`, as in linux/magic.h; 0 if it is unknown.
uint32_t csystem_file_system(const char *path);

/// Changes the Unix group of the file that the descriptor refers to. On failure it returns -1 and sets errno.
int csystem_give_to_group(int descriptor, uint32_t group);

/// The device and the number of what is at `path`, without following a link. `folder` is an open folder or AT_FDCWD. On
/// failure it returns -1 and sets errno.
///
/// Unlike `lstat` it does not ask for the times. Once they have been asked for, Linux 6.13 and later notes a precise time
/// in the file's inode at the next write, and then each sync of the file also writes the inode.
int csystem_identity(int folder, const char *path, uint64_t *device, uint64_t *inode);

/// A descriptor that only identifies the file at `path`, without following a link. Closing it ends no lock. If it is
/// -1, errno is set.
int csystem_name(const char *path);
