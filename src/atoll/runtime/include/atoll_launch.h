/* Launch ABI 1: how compiled device code is launched from C. See docs/reference/launch-abi.md.
 * One launcher a driver; it opens the vendor's library at run time and links none. */
#ifndef ATOLL_LAUNCH_H
#define ATOLL_LAUNCH_H
#include <stddef.h>
#include <stdint.h>

#define ATOLL_LAUNCH_ABI 1u

/* Each library holds its own core and launcher; none of it leaves the library. */
#if defined(__GNUC__)
#define ATOLL_HIDDEN __attribute__((visibility("hidden")))
#else
#define ATOLL_HIDDEN
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { ATOLL_BUFFER = 0, ATOLL_SCALAR = 1 };           /* atoll_arg.kind */
enum { ATOLL_READ = 1, ATOLL_WRITE = 2, ATOLL_BOTH = 3 }; /* atoll_arg.access */

/* One argument. A buffer is host memory that the launcher copies to the device before the launch, also
 * where the kernel only writes it (it may leave elements alone), and back after it (WRITE, BOTH). A
 * scalar is `bytes` bytes passed by value: the next bytes of the push-constant block at the next
 * multiple of `align`, or the next kernel argument, as the reference page says for each target. */
typedef struct atoll_arg {
  int32_t kind;
  int32_t access;
  void *data;
  uint64_t bytes;
  uint32_t align;
  uint32_t reserved;
} atoll_arg;

/* Code for one launch. Several codes of one kernel (one per architecture) stand in one array; the
 * launcher takes the best that the device runs. A text that says nothing is "" or NULL. Code that is text
 * ends in a zero byte that `bytes` does not count. For the processor `data` is the address of an
 * `atoll_cpu_code`, or of a variable that holds a pointer to an `atoll_cpu_kernel`, and `bytes` its size. */
typedef struct atoll_code {
  const void *data;
  uint64_t bytes;
  const char *arch;    /* "sm_90" for machine code, "" where it does not matter */
  const char *floor;   /* "90" for a portable form, "" otherwise */
  const char *version; /* "13.0": the toolkit or API version it asks of the driver, "" where none */
} atoll_code;

/* A kernel compiled for the processor: runs the work-groups first <= g < last, dimension 0 fastest. */
typedef void atoll_cpu_kernel(void *const *buffers, const void *block, const uint32_t groups[3],
                              const uint32_t group[3], uint64_t first, uint64_t last);

/* The same with what the launcher has to know of it. */
typedef struct atoll_cpu_code {
  atoll_cpu_kernel *kernel;
  uint64_t group_bytes; /* of the stack of the thread that runs it: the memory that a work-group shares */
} atoll_cpu_code;

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

/* What a driver says of the device it would use, for the check at load and for printing. */
typedef struct atoll_device_facts {
  char name[256];      /* the device's own name */
  char arch[64];       /* "sm_90", "" where the backend has none */
  char driver[128];    /* the driver's own version, as it prints it */
  uint32_t version[2]; /* API version, or toolkit version that the driver supports */
  uint32_t index;      /* from 0 in the driver's order: NAME:index */
  uint32_t software;   /* 1 where it runs on the processor */
  uint32_t named;      /* 1 where ATOLL_DEVICE names it, by driver and index or by its own name */
} atoll_device_facts;

typedef struct atoll_driver {
  const char *name;
  /* 0 and the facts of the device that a launch would use, or nonzero and the reason. The device is
   * the one that ATOLL_DEVICE names if it is one of this driver, else the first that is not
   * software, else the first. */
  int (*probe)(atoll_device_facts *facts, atoll_text *reason);
  /* 1 where code of this arch, floor and version runs on a device with these facts, else 0; looks at
   * no other field of the code, so it also answers for code that another loader holds. */
  int (*fits)(const atoll_code *code, const atoll_device_facts *facts);
  /* 0 and the device's name, or nonzero and the reason. Runs and waits. */
  int (*launch)(const atoll_launch *launch, atoll_text *device, atoll_text *reason);
} atoll_driver;

/* Called by an island after it ran, with the device's own name; kept per thread. */
ATOLL_HIDDEN void atoll_ran_on(const char *device);
/* As atoll_ran_on, for an island that ran on the processor: reports the processor's own name, as kernels
 * that are compiled for it do. */
ATOLL_HIDDEN void atoll_ran_on_cpu(void);
/* The processor's own name. */
ATOLL_HIDDEN void atoll_processor_name(char *out, size_t capacity);
/* What the last call on this thread reported; "" where it reported nothing. */
ATOLL_HIDDEN const char *atoll_device_name(void);
/* The last failure's text on this thread; "" where there was none. */
ATOLL_HIDDEN const char *atoll_last_error(void);
/* Before each call of an island: forget what the last one on this thread reported, device and failure. */
ATOLL_HIDDEN void atoll_forget(void);
/* Keep a failure's text on this thread, for code that fails before it launches. */
ATOLL_HIDDEN void atoll_fail(const char *text);
/* Launch on the named driver of this library, report the device, keep the error. 0 or nonzero. Refused
 * where ATOLL_DEVICE names no device of the driver, and where ATOLL_REQUIRE_DEVICE is set and the device
 * is software that nothing names. */
ATOLL_HIDDEN int atoll_run(const atoll_driver *driver, const atoll_launch *launch);

/* For a root's table: whoever opened this library has looked at ATOLL_DEVICE and ATOLL_REQUIRE_DEVICE and
 * chose it, so that ATOLL_DEVICE only picks among the devices of the driver. */
ATOLL_HIDDEN void atoll_decided(void);

/* Declares the launcher of a driver: ATOLL_DRIVER(NAME) before `atoll_run(&atoll_driver_NAME, …)`. */
#define ATOLL_DRIVER(name) extern ATOLL_HIDDEN const atoll_driver atoll_driver_##name

/* What a hand-written seam needs to fill the structs. */
static inline atoll_arg atoll_buffer_arg(void *data, uint64_t bytes, int32_t access) {
  atoll_arg arg = {ATOLL_BUFFER, access, data, bytes, 0, 0};
  return arg;
}
static inline atoll_arg atoll_read(const void *data, uint64_t bytes) {
  return atoll_buffer_arg((void *)data, bytes, ATOLL_READ);
}
static inline atoll_arg atoll_write(void *data, uint64_t bytes) {
  return atoll_buffer_arg(data, bytes, ATOLL_WRITE);
}
static inline atoll_arg atoll_both(void *data, uint64_t bytes) {
  return atoll_buffer_arg(data, bytes, ATOLL_BOTH);
}
/* A scalar of 1, 2, 4 or 8 bytes, aligned to its size. */
static inline atoll_arg atoll_value(const void *data, uint32_t bytes) {
  atoll_arg arg = {ATOLL_SCALAR, 0, (void *)data, bytes, bytes, 0};
  return arg;
}
/* Code that asks nothing of the device: the driver's own loader says whether it takes it. */
static inline atoll_code atoll_any_device(const void *data, uint64_t bytes) {
  atoll_code code = {data, bytes, "", "", ""};
  return code;
}

#ifdef __cplusplus
}
#endif
#endif
