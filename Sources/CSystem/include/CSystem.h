// One-line functions for what Swift cannot import. Nothing here decides anything.
#pragma once
#include <signal.h>
#include <stddef.h>

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
