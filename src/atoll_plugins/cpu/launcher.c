/* The processor's launcher: a kernel compiled into this library, its work-groups shared among threads. */
#include <sys/resource.h>

typedef struct cpu_share {
  atoll_cpu_kernel *kernel;
  void *const *buffers;
  const void *block;
  const atoll_launch *launch;
  uint64_t first, last;
  pthread_t thread;
  int started;
} cpu_share;

static int cpu_probe(atoll_device_facts *facts, atoll_text *reason) {
  const char *asked = getenv("ATOLL_DEVICE");
  (void)reason;
  memset(facts, 0, sizeof *facts);
  atoll_processor_name(facts->name, sizeof facts->name);
  facts->software = 1;
  if (asked != NULL && asked[0] != 0)
    facts->named = strcmp(asked, "cpu") == 0 || strcmp(asked, "cpu:0") == 0 || strcasestr(facts->name, asked) != NULL;
  return 0;
}

static int cpu_fits(const atoll_code *code, const atoll_device_facts *facts) {
  (void)code;
  (void)facts;
  return 1; /* it was linked into this library */
}

static void *cpu_work(void *pointer) {
  cpu_share *share = pointer;
  share->kernel(share->buffers, share->block, share->launch->groups, share->launch->group, share->first,
                share->last);
  return NULL;
}

/* Half of a thread's stack, so that what the thread is doing has room; `stack_room` in driver.py says the same. */
static uint64_t cpu_group_room(void) {
  struct rlimit stack;
  uint64_t bytes = 2u << 20;
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY) bytes = stack.rlim_cur;
  return (bytes < (8u << 20) ? bytes : 8u << 20) / 2;
}

static int cpu_check(const atoll_launch *launch, const atoll_device_facts *facts, atoll_text *reason) {
  const atoll_code *code = launch->codes;
  uint64_t taken = 0, room = cpu_group_room();
  if (launch->code_count == 0 || (code->bytes != sizeof(atoll_cpu_kernel *) && code->bytes != sizeof(atoll_cpu_code)))
    return atoll_say(reason, "%s has no code for the processor", launch->entry);
  if (code->bytes == sizeof(atoll_cpu_code)) taken = ((const atoll_cpu_code *)code->data)->group_bytes;
  if (taken > room)
    return atoll_say(reason, "%s refuses the code of `%s`: it takes %llu bytes of shared memory, the device has %llu",
                     facts->name, launch->entry, (unsigned long long)taken, (unsigned long long)room);
  return 0;
}

static uint64_t cpu_threads(uint64_t groups) {
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  uint64_t threads = cores > 0 ? (uint64_t)cores : 1;
  return threads < groups ? threads : groups;
}

/* Every share runs, on its own thread or, where none can be had, on this one. */
static int cpu_share_out(cpu_share whole, atoll_text *reason) {
  uint64_t groups = whole.last, threads = cpu_threads(groups);
  cpu_share *shares = calloc(threads, sizeof *shares);
  if (shares == NULL) return atoll_say(reason, "out of host memory");
  for (uint64_t k = 0; k < threads; k++) {
    shares[k] = whole;
    shares[k].first = groups / threads * k + (k < groups % threads ? k : groups % threads);
    shares[k].last = shares[k].first + groups / threads + (k < groups % threads);
    shares[k].started =
        k + 1 < threads && pthread_create(&shares[k].thread, NULL, cpu_work, &shares[k]) == 0;
  }
  for (uint64_t k = 0; k < threads; k++)
    if (!shares[k].started) (void)cpu_work(&shares[k]);
  for (uint64_t k = 0; k < threads; k++)
    if (shares[k].started) (void)pthread_join(shares[k].thread, NULL);
  free(shares);
  return 0;
}

static int cpu_bind(const atoll_launch *launch, void **buffers, unsigned char *block, atoll_text *reason) {
  cpu_share whole = {.buffers = buffers, .block = block, .launch = launch};
  uint32_t next = 0;
  for (uint32_t k = 0; k < launch->arg_count; k++)
    if (launch->args[k].kind == ATOLL_BUFFER) buffers[next++] = launch->args[k].data;
  memset(block, 0, atoll_pack(launch, NULL));
  (void)atoll_pack(launch, block);
  memcpy(&whole.kernel, launch->codes[0].data, sizeof whole.kernel);
  whole.last = (uint64_t)launch->groups[0] * launch->groups[1] * launch->groups[2];
  return cpu_share_out(whole, reason);
}

static int cpu_launch(const atoll_launch *launch, atoll_text *device, atoll_text *reason) {
  atoll_device_facts facts;
  void **buffers;
  unsigned char *block;
  int failed;
  if (atoll_check(launch, reason) || cpu_probe(&facts, reason) || cpu_check(launch, &facts, reason)) return 1;
  buffers = calloc(launch->arg_count + 1, sizeof *buffers);
  block = aligned_alloc(16, (atoll_pack(launch, NULL) + 16) / 16 * 16);
  failed = buffers == NULL || block == NULL ? atoll_say(reason, "out of host memory")
                                            : cpu_bind(launch, buffers, block, reason);
  free(buffers);
  free(block);
  if (!failed) (void)atoll_say(device, "%s", facts.name);
  return failed;
}

ATOLL_HIDDEN const atoll_driver atoll_driver_cpu = {"cpu", cpu_probe, cpu_fits, cpu_launch};
