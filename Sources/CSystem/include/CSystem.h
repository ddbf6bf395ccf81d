// One-line functions for what Swift cannot import. Nothing here decides anything.
#pragma once
#include <sys/prctl.h>

static inline int csystem_set_dumpable(int dumpable) { return prctl(PR_SET_DUMPABLE, dumpable, 0, 0, 0); }
