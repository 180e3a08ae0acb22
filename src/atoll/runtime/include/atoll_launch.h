/* Launch ABI 1: how compiled device code is launched from C. See docs/reference/launch-abi.md.
 * One launcher a driver; it opens the vendor's library at run time and links none. */
#ifndef ATOLL_LAUNCH_H
#define ATOLL_LAUNCH_H
#include <stddef.h>
#include <stdint.h>

#define ATOLL_LAUNCH_ABI 1u

#ifdef __cplusplus
extern "C" {
#endif

enum { ATOLL_BUFFER = 0, ATOLL_SCALAR = 1 };           /* atoll_arg.kind */
enum { ATOLL_READ = 1, ATOLL_WRITE = 2, ATOLL_BOTH = 3 }; /* atoll_arg.access */

/* One argument. A buffer is host memory that the launcher copies to the device before the launch
 * (READ, BOTH) and back after it (WRITE, BOTH). A scalar is `bytes` bytes passed by value: the next
 * bytes of the push-constant block at the next multiple of `align`, or the next kernel argument,
 * as the reference page says for each target. */
typedef struct atoll_arg {
  int32_t kind;
  int32_t access;
  void *data;
  uint64_t bytes;
  uint32_t align;
  uint32_t reserved;
} atoll_arg;

/* Code for one launch. Several codes of one kernel (one per architecture) stand in one array; the
 * launcher takes the best that the device runs. */
typedef struct atoll_code {
  const void *data;
  uint64_t bytes;
  const char *arch;    /* "sm_90" for machine code, "" where it does not matter */
  const char *floor;   /* "90" for a portable form, "" otherwise */
} atoll_code;

typedef struct atoll_launch {
  uint32_t abi;        /* ATOLL_LAUNCH_ABI */
  const char *entry;
  const atoll_code *codes;
  uint32_t code_count;
  uint32_t groups[3];
  uint32_t group[3];
  const atoll_arg *args;
  uint32_t arg_count;
} atoll_launch;

/* A text the callee fills; always ends in a zero byte, cut where it is too long. */
typedef struct atoll_text {
  char *data;
  size_t capacity;
} atoll_text;

/* What a driver says of the device it would use, for the check at load. */
typedef struct atoll_device_facts {
  char name[256];
  char arch[64];       /* "sm_90", "" where the backend has none */
  uint32_t version[2]; /* API version, or toolkit version that the driver supports */
  uint32_t software;
} atoll_device_facts;

typedef struct atoll_driver {
  const char *name;
  /* 0 and the facts of the default device, or nonzero and the reason in one sentence. */
  int (*probe)(atoll_device_facts *facts, atoll_text *reason);
  /* 0 and the device's name, or nonzero and the reason. Runs and waits. */
  int (*launch)(const atoll_launch *launch, atoll_text *device, atoll_text *reason);
} atoll_driver;

/* Called by an island after it ran, with the device's own name; kept per thread. */
void atoll_ran_on(const char *device);
/* What the last call on this thread reported; "" where it reported nothing. */
const char *atoll_device_name(void);
/* The last failure's text on this thread; "" where there was none. */
const char *atoll_last_error(void);
/* Launch on the named driver of this library, report the device, keep the error. 0 or nonzero. */
int atoll_run(const atoll_driver *driver, const atoll_launch *launch);

/* Declares the launcher of a driver: ATOLL_DRIVER(NAME) before `atoll_run(&atoll_driver_NAME, …)`. */
#define ATOLL_DRIVER(name) extern const atoll_driver atoll_driver_##name

#ifdef __cplusplus
}
#endif
#endif
