#include <gcrypt.h>

/// Prepares the library for use by one thread. Swift cannot call `gcry_control`, which takes any arguments.
static inline int cgcrypt_start(void) {
  if (gcry_check_version("1.10.0") == NULL) return -1;
  gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
  gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  return 0;
}
