// _GNU_SOURCE must not reach the header: Swift's own view of glibc has no such definition.
#define _GNU_SOURCE
#include "CSystem.h"
#include <nss.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

int csystem_set_dumpable(int dumpable) { return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); }

int csystem_get_dumpable(void) { return prctl(PR_GET_DUMPABLE, 0, 0, 0, 0); }

int csystem_lookup_in(const char *database, const char *service) { return __nss_configure_lookup(database, service); }

int csystem_lock_on_fault(const void *address, size_t count) { return mlock2(address, count, MLOCK_ONFAULT); }

int csystem_signal_descriptor(const sigset_t *signals) { return signalfd(-1, signals, SFD_CLOEXEC | SFD_NONBLOCK); }

void csystem_take_default_action(int signal_number) { signal(signal_number, SIG_DFL); }

void csystem_ignore(int signal_number) { signal(signal_number, SIG_IGN); }
