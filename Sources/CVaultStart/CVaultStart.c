#define _GNU_SOURCE
#include "CVaultStart.h"
#include "CVaultProcess.h"

#include <stdio.h>
#include <stdlib.h>

static int set_backtrace;

// Runs before Swift's runtime does, which looks in eight folders for its tool that prints backtraces, and aborts where
// /proc is not mounted. Naming a tool keeps it from looking. A crash prints nothing: a backtrace would show memory, and
// what the runtime says of a failed allocation goes to C's stderr. We write to the descriptor, so that is turned off.
__attribute__((constructor(101))) static void prepare(void) {
  stderr = fopencookie(NULL, "w", (cookie_io_functions_t){0});
  if (getenv("SWIFT_BACKTRACE") == NULL)
    set_backtrace = setenv("SWIFT_BACKTRACE", "enable=no,swift-backtrace=/nonexistent", 1) == 0;
}

void cstart_restore_environment(void) {
  if (set_backtrace) unsetenv("SWIFT_BACKTRACE");
}

// Swift's `CommandLine` calls these. The runtime's own ones come with a constructor that finds the arguments by parsing
// /proc/self/maps; in a static executable the linker takes these instead.

char **_swift_stdlib_getUnsafeArgvArgc(int *count) { return cprocess_arguments(count); }

// Called where a program sets `CommandLine.arguments`, which these do not.
void _swift_stdlib_overrideUnsafeArgvArgc(char **values, int count) { (void)values, (void)count; }
