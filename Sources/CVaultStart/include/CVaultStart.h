// What the executables do before their main function, to start faster. Libraries do not link it.
#pragma once

/// Takes back what was set for the start of Swift's runtime, so that no program inherits it.
void cstart_restore_environment(void);
