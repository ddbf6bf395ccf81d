// One-line functions for what Swift cannot import. Nothing here decides anything.
#pragma once
#include <signal.h>
#include <stddef.h>
#include <stdint.h>

int csystem_set_dumpable(int dumpable);
int csystem_get_dumpable(void);

/// Where glibc looks up a database such as "passwd": in a static executable the default loads plugins, and dies.
int csystem_lookup_in(const char *database, const char *service);

/// Locks pages as they are first touched: reserving much then takes up no memory.
int csystem_lock_on_fault(const void *address, size_t count);

/// A descriptor from which the blocked `signals` are read; it closes on exec and does not block.
int csystem_signal_descriptor(const sigset_t *signals);

/// SIG_DFL and SIG_IGN are integers cast to pointers, which Swift does not import.
void csystem_take_default_action(int signal_number);
void csystem_ignore(int signal_number);
int csystem_is_ignored(int signal_number);

/// The kernel's keyrings, as add_key(2) and keyctl(2) have them: -1 and errno where the kernel refuses or has none.
int32_t csystem_add_key(const char *type, const char *description, const void *payload, size_t count, int32_t keyring);
int32_t csystem_search_key(int32_t keyring, const char *type, const char *description);
/// The size of the key's content; where the buffer is too small, how much of it was written is left open.
long csystem_read_key(int32_t key, void *buffer, size_t capacity);
int csystem_limit_key(int32_t key, uint32_t seconds);
int csystem_permit_key(int32_t key, uint32_t permissions);
int csystem_link_key(int32_t key, int32_t keyring);
int csystem_unlink_key(int32_t key, int32_t keyring);
int csystem_invalidate_key(int32_t key);

/// A file that lies in memory and has no name in any folder; it closes on exec.
int csystem_memory_file(const char *name);

/// Forbids every further change of a memory file, for good.
int csystem_seal(int descriptor);

/// Whether a path is on a file system that no disk holds: tmpfs or ramfs.
int csystem_lies_in_memory(const char *path);
