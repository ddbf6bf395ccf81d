// Wrappers, most of one line, for calls that Swift cannot import and that only programs need, no store.
#pragma once
#include <stddef.h>

/// The arguments that this process was started with. Swift's own list is read from /proc, and empty without it.
char **cprocess_arguments(int *count);

/// Locks pages when they are first touched, so reserving a large range takes no memory.
int cprocess_lock_on_fault(const void *address, size_t count);

/// A descriptor that delivers the blocked `signals`, a `sigset_t`. It closes on exec and does not block.
int cprocess_signal_descriptor(const void *signals);

/// SIG_IGN is an integer cast to a pointer, which Swift does not import.
void cprocess_ignore(int signal_number);
int cprocess_is_ignored(int signal_number);
/// Makes a write whose reader has gone, or to a file that may not grow, an error instead of the process's end, and opens
/// what is closed of stdin, stdout and stderr, so that no file of the store gets its number and is written as output.
void cprocess_guard_output(void);

/// Creates a file in memory that has no name in any folder. It closes on exec.
int cprocess_memory_file(const char *name);

/// Forbids all further changes to a memory file, permanently.
int cprocess_seal(int descriptor);

/// A descriptor of the process that connected, which never means another one: SO_PEERPIDFD, since Linux 6.5.
int cprocess_peer_process(int socket);
/// The peer's AppArmor or SELinux label: SO_PEERSEC. -1 if there is none.
long cprocess_peer_label(int socket, char *buffer, size_t capacity);

/// Closes the descriptors from this number on when this process becomes another program, or starts one.
void cprocess_close_on_exec(int first);
/// Locks this process's memory, pages of the future included, once they are touched.
int cprocess_lock_memory(void);
/// Lets this process, and programs that it starts, open 16,384 files instead of the usual 1,024, if the system permits it.
void cprocess_raise_descriptor_limit(void);
