/* Root ABI 1: what one root of a boundary tells the program that opens it. See docs/reference/boundary.md.
 * A root's library exports one symbol, atoll_root_v1; everything else stays inside it. */
#ifndef ATOLL_ROOT_H
#define ATOLL_ROOT_H
#include <stdint.h>

#define ATOLL_ROOT_ABI 1u

#ifdef __cplusplus
extern "C" {
#endif

/* One entry that the root defines. The declaration has its white space folded, so that a caller built
 * from another one is refused before it reads the wrong arguments. */
typedef struct atoll_root_entry {
  const char *name;
  const char *declaration;
  void (*function)(void);
} atoll_root_entry;

/* Whether the root can be used on this machine. Filled by `state`. */
typedef struct atoll_root_state {
  uint32_t available;
  uint32_t software; /* 1 where its device runs on the processor: it is taken only when named */
  char device[256];  /* the device's own name; "" for the processor */
  char reason[4096]; /* why not, where it is not available */
} atoll_root_state;

typedef struct atoll_root {
  uint32_t abi; /* ATOLL_ROOT_ABI */
  const char *name;
  const char *package;
  const char *version;
  const char *driver; /* "" for the processor */
  uint32_t entry_count;
  const atoll_root_entry *entries;
  void (*state)(atoll_root_state *state);
  void (*begin)(void);               /* before each call: forget this thread's device and error */
  const char *(*device_name)(void);  /* what the last call on this thread reported */
  const char *(*last_error)(void);   /* the last failure's text on this thread */
} atoll_root;

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const atoll_root *atoll_root_v1(void);

#ifdef __cplusplus
}
#endif
#endif
