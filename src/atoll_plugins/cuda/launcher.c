/* The CUDA launcher: a launch of atoll_launch.h as calls of the driver interface. driver.py makes the same
 * calls in the same order; tests/conformance compares the two logs. */
#ifndef ATOLL_CUDA_LIBRARY
#define ATOLL_CUDA_LIBRARY "libcuda.so.1"
#endif

#define ATOLL_CU_FUNCTIONS(X)                                                                                \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString) X(cuDeviceGetCount) X(cuDeviceGet)   \
  X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease_v2)     \
  X(cuCtxPushCurrent_v2) X(cuCtxPopCurrent_v2) X(cuStreamSynchronize) X(cuModuleLoadDataEx)                  \
  X(cuModuleUnload) X(cuModuleGetFunction) X(cuMemAlloc_v2) X(cuMemFree_v2) X(cuMemcpyHtoD_v2)               \
  X(cuMemcpyDtoH_v2) X(cuLaunchKernel)

enum { CU_MOST_DEVICES = 64, CU_LOG_BYTES = 4096 };

static const char *const cu_names[] = {
#define X(name) #name,
    ATOLL_CU_FUNCTIONS(X)
#undef X
};

static struct {
#define X(name) __typeof__(&name) name;
  ATOLL_CU_FUNCTIONS(X)
#undef X
} cu;

typedef struct cu_loaded {
  CUmodule module;
  CUfunction function;
} cu_loaded;

static struct {
  pthread_mutex_t lock;
  int chosen, open;
  pid_t process;
  CUdevice device;
  atoll_device_facts facts;
  atoll_limits limits;
  CUcontext context;
  atoll_cache kept;
} cu_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int cu_failed(atoll_text *reason, const char *function, CUresult code) {
  const char *name = NULL, *text = NULL;
  (void)cu.cuGetErrorName(code, &name);
  (void)cu.cuGetErrorString(code, &text);
  return atoll_say(reason, "%s failed with %d (%s: %s) on %s", function, (int)code, name ? name : "unknown",
                   text ? text : "unknown", cu_state.facts.name[0] ? cu_state.facts.name : "cuda");
}

static int cu_library(atoll_text *reason) {
  static int opened;
  void *table[sizeof cu_names / sizeof *cu_names];
  if (opened) return 0;
  if (atoll_open_library(ATOLL_CUDA_LIBRARY, cu_names, table, sizeof cu_names / sizeof *cu_names, reason))
    return 1;
  memcpy(&cu, table, sizeof cu);
  opened = 1;
  return 0;
}

/* The kernel module's version, "580.159.04", or the toolkit version where the file is not there. */
static void cu_driver_version(char *out, size_t capacity, int supported) {
  char text[512] = "";
  FILE *file = fopen("/proc/driver/nvidia/version", "r");
  (void)snprintf(out, capacity, "%d.%d", supported / 1000, supported % 1000 / 10);
  if (file == NULL) return;
  if (fgets(text, sizeof text, file) != NULL) {
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "))
      if (isdigit((unsigned char)word[0]) && strchr(word, '.') != NULL) {
        atoll_copy(out, capacity, word);
        break;
      }
  }
  (void)fclose(file);
}

static int cu_facts(int ordinal, int supported, CUdevice *device, atoll_device_facts *facts, atoll_text *reason) {
  int major = 0, minor = 0;
  CUresult code = cu.cuDeviceGet(device, ordinal);
  memset(facts, 0, sizeof *facts);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuDeviceGet", code);
  code = cu.cuDeviceGetName(facts->name, sizeof facts->name, *device);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuDeviceGetName", code);
  code = cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, *device);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuDeviceGetAttribute", code);
  code = cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, *device);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuDeviceGetAttribute", code);
  (void)snprintf(facts->arch, sizeof facts->arch, "sm_%d%d", major, minor);
  cu_driver_version(facts->driver, sizeof facts->driver, supported);
  facts->version[0] = (uint32_t)(supported / 1000);
  facts->version[1] = (uint32_t)(supported % 1000 / 10);
  facts->index = (uint32_t)ordinal;
  return 0;
}

/* What a device says of a grid and of a group; nothing where it does not answer. */
static void cu_limits(CUdevice device, atoll_limits *out) {
  int value = 0;
  memset(out, 0, sizeof *out);
  for (int d = 0; d < 3; d++) {
    if (cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + d, device) == CUDA_SUCCESS)
      out->groups[d] = (uint64_t)value;
    if (cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + d, device) == CUDA_SUCCESS)
      out->items[d] = (uint64_t)value;
  }
  if (cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device) == CUDA_SUCCESS)
    out->together = (uint64_t)value;
}

static int cu_choose(atoll_text *reason) {
  static CUdevice devices[CU_MOST_DEVICES];
  static atoll_device_facts facts[CU_MOST_DEVICES];
  int count = 0, supported = 0, index;
  CUresult code;
  if (cu_state.chosen) return 0;
  if (cu_library(reason)) return 1;
  if ((code = cu.cuInit(0)) != CUDA_SUCCESS) return cu_failed(reason, "cuInit", code);
  if ((code = cu.cuDriverGetVersion(&supported)) != CUDA_SUCCESS)
    return cu_failed(reason, "cuDriverGetVersion", code);
  if ((code = cu.cuDeviceGetCount(&count)) != CUDA_SUCCESS) return cu_failed(reason, "cuDeviceGetCount", code);
  if (count > CU_MOST_DEVICES) count = CU_MOST_DEVICES;
  for (int k = 0; k < count; k++)
    if (cu_facts(k, supported, &devices[k], &facts[k], reason)) return 1;
  if (count <= 0) return atoll_say(reason, "%s finds no device", ATOLL_CUDA_LIBRARY);
  index = atoll_choose_device("cuda", facts, (uint32_t)count, reason);
  if (index < 0) return 1;
  cu_state.device = devices[index];
  cu_state.facts = facts[index];
  cu_limits(devices[index], &cu_state.limits);
  cu_state.process = getpid();
  cu_state.chosen = 1;
  return 0;
}

static int cu_open(atoll_text *reason) {
  CUresult code;
  if (cu_choose(reason)) return 1;
  /* Not only an open device: what a vendor's library started when it was asked for devices stays behind too. */
  if (cu_state.process != getpid())
    return atoll_say(reason, "this process was forked after %s had been found", cu_state.facts.name);
  if (cu_state.open) return 0;
  code = cu.cuDevicePrimaryCtxRetain(&cu_state.context, cu_state.device);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuDevicePrimaryCtxRetain", code);
  cu_state.open = 1;
  return 0;
}

/* ---- which code runs where (atoll_plugins/cuda/rules.py is the same for whole sets) ---- */

typedef struct cu_level {
  uint32_t major, minor;
  char suffix; /* 0, 'a' or 'f' */
} cu_level;

/* "sm_90a", "90a", "9.0" and "120" are read; 0 where the text is no level. */
static int cu_level_of(const char *text, cu_level *out) {
  char *end = NULL;
  unsigned long value;
  if (strncmp(text, "sm_", 3) == 0) text += 3;
  if (!isdigit((unsigned char)text[0])) return 0;
  value = strtoul(text, &end, 10);
  out->suffix = (*end == 'a' || *end == 'f') ? *end++ : 0;
  out->major = (uint32_t)(value / 10);
  out->minor = (uint32_t)(value % 10);
  return *end == 0 && value >= 10;
}

/* Tegra chips: their machine code serves themselves alone, and no other machine code serves them. */
static int cu_alone(cu_level level) {
  static const uint32_t alone[] = {53, 62, 72, 87, 88, 101};
  for (size_t k = 0; k < sizeof alone / sizeof *alone; k++)
    if (level.major * 10 + level.minor == alone[k]) return 1;
  return 0;
}

static int cu_machine_runs(cu_level code, cu_level device) {
  if (code.major == device.major && code.minor == device.minor) return 1;
  if (code.suffix == 'a' || (code.suffix == 'f' && code.major < 10)) return 0;
  if (cu_alone(code) || cu_alone(device)) return 0;
  return code.major == device.major && code.minor <= device.minor;
}

static int cu_portable_runs(cu_level code, cu_level device) {
  if (code.suffix) return cu_machine_runs(code, device);
  return code.major != device.major ? code.major < device.major : code.minor <= device.minor;
}

static int cu_fits(const atoll_code *code, const atoll_device_facts *facts) {
  const char *arch = atoll_or_empty(code->arch), *floor = atoll_or_empty(code->floor);
  uint32_t asked[2] = {0, 0};
  cu_level device, level;
  if (!cu_level_of(facts->arch, &device)) return 0;
  if (arch[0] != 0) { /* machine code runs under any driver of the same toolkit major or a newer one */
    if (atoll_or_empty(code->version)[0] && !atoll_read_version(code->version, asked)) return 0;
    return asked[0] <= facts->version[0] && cu_level_of(arch, &level) && cu_machine_runs(level, device);
  }
  if (floor[0] == 0 || !cu_level_of(floor, &level)) return 0;
  return atoll_at_least(facts->version, code->version) && cu_portable_runs(level, device);
}

/* Machine code before portable code; among each the highest level. */
static uint32_t cu_score(const atoll_code *code, const atoll_device_facts *facts) {
  int machine = atoll_or_empty(code->arch)[0] != 0;
  cu_level level = {0, 0, 0};
  (void)facts;
  (void)cu_level_of(machine ? code->arch : atoll_or_empty(code->floor), &level);
  return (machine ? 100000u : 0u) + (level.major * 10 + level.minor) * 10 + (level.suffix != 0);
}

/* ---- load and launch, with the primary context current ---- */

static void cu_unload(void *pointer) {
  cu_loaded *loaded = pointer;
  (void)cu.cuModuleUnload(loaded->module);
  free(loaded);
}

static int cu_build(const atoll_code *code, const char *entry, cu_loaded *out, atoll_text *reason) {
  char log[CU_LOG_BYTES] = "";
  CUjit_option options[2] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[2] = {log, (void *)(uintptr_t)(sizeof log - 1)};
  CUresult result = cu.cuModuleLoadDataEx(&out->module, code->data, 2, options, values);
  if (result != CUDA_SUCCESS) {
    char plain[512];
    atoll_text inner = {plain, sizeof plain};
    (void)cu_failed(&inner, "cuModuleLoadDataEx", result);
    return atoll_say(reason, "%s%s%s", plain, log[0] ? ": " : "", log);
  }
  result = cu.cuModuleGetFunction(&out->function, out->module, entry);
  if (result == CUDA_SUCCESS) return 0;
  (void)cu.cuModuleUnload(out->module);
  return cu_failed(reason, "cuModuleGetFunction", result);
}

static cu_loaded *cu_load(const atoll_launch *launch, const atoll_code *code, atoll_text *reason) {
  cu_loaded *loaded = atoll_find(&cu_state.kept, code, launch->entry, 0);
  if (loaded != NULL) return loaded;
  loaded = calloc(1, sizeof *loaded);
  if (loaded == NULL) {
    (void)atoll_say(reason, "out of host memory");
    return NULL;
  }
  if (cu_build(code, launch->entry, loaded, reason)) {
    free(loaded);
    return NULL;
  }
  if (atoll_keep_code(&cu_state.kept, code, launch->entry, 0, loaded, cu_unload)) {
    cu_unload(loaded);
    (void)atoll_say(reason, "out of host memory");
    return NULL;
  }
  return loaded;
}

static int cu_upload(const atoll_launch *launch, CUdeviceptr *buffers, atoll_text *reason) {
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    CUresult code;
    if (arg->kind != ATOLL_BUFFER || atoll_owner(launch, k) != k) continue;
    code = cu.cuMemAlloc_v2(&buffers[k], atoll_room(arg->bytes));
    if (code != CUDA_SUCCESS) {
      buffers[k] = 0;
      return cu_failed(reason, "cuMemAlloc", code);
    }
    if (arg->bytes == 0) continue;
    code = cu.cuMemcpyHtoD_v2(buffers[k], arg->data, arg->bytes);
    if (code != CUDA_SUCCESS) return cu_failed(reason, "cuMemcpyHtoD", code);
  }
  return 0;
}

static int cu_start(const atoll_launch *launch, CUfunction function, CUdeviceptr *buffers, void **parameters,
                    atoll_text *reason) {
  const uint32_t *groups = launch->groups, *group = launch->group;
  CUresult code;
  for (uint32_t k = 0; k < launch->arg_count; k++)
    parameters[k] =
        launch->args[k].kind == ATOLL_BUFFER ? (void *)&buffers[atoll_owner(launch, k)] : launch->args[k].data;
  code = cu.cuLaunchKernel(function, groups[0], groups[1], groups[2], group[0], group[1], group[2], 0, NULL,
                           parameters, NULL);
  return code == CUDA_SUCCESS ? 0 : cu_failed(reason, "cuLaunchKernel", code);
}

static int cu_finish(const atoll_launch *launch, const CUdeviceptr *buffers, atoll_text *reason) {
  CUresult code = cu.cuStreamSynchronize(NULL);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuStreamSynchronize", code);
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    if (buffers[k] == 0 || arg->bytes == 0 || !atoll_is_written(launch, k)) continue;
    code = cu.cuMemcpyDtoH_v2(arg->data, buffers[k], arg->bytes);
    if (code != CUDA_SUCCESS) return cu_failed(reason, "cuMemcpyDtoH", code);
  }
  return 0;
}

static int cu_run_current(const atoll_launch *launch, atoll_text *reason) {
  static const atoll_rules rules = {"cuda", " ptx>=", "", cu_fits, cu_score};
  const atoll_code *code = atoll_choose_code(launch, &rules, &cu_state.facts, cu_state.facts.arch, reason);
  cu_loaded *loaded = code ? cu_load(launch, code, reason) : NULL;
  CUdeviceptr *buffers;
  void **parameters;
  int failed;
  if (loaded == NULL) return 1;
  buffers = calloc(launch->arg_count + 1, sizeof *buffers);
  parameters = calloc(launch->arg_count + 1, sizeof *parameters);
  failed = buffers == NULL || parameters == NULL ? atoll_say(reason, "out of host memory")
                                                 : cu_upload(launch, buffers, reason);
  failed = failed || cu_start(launch, loaded->function, buffers, parameters, reason) ||
           cu_finish(launch, buffers, reason);
  for (uint32_t k = 0; buffers != NULL && k < launch->arg_count; k++)
    if (buffers[k] != 0) (void)cu.cuMemFree_v2(buffers[k]);
  free(buffers);
  free(parameters);
  return failed;
}

static int cu_run(const atoll_launch *launch, atoll_text *reason) {
  CUcontext popped = NULL;
  CUresult code;
  int failed;
  if (atoll_check(launch, reason) || atoll_overlaps(launch, reason) || cu_open(reason)) return 1;
  if (atoll_too_large(launch, &cu_state.limits, 0, cu_state.facts.name, reason)) return 1;
  code = cu.cuCtxPushCurrent_v2(cu_state.context);
  if (code != CUDA_SUCCESS) return cu_failed(reason, "cuCtxPushCurrent", code);
  failed = cu_run_current(launch, reason);
  code = cu.cuCtxPopCurrent_v2(&popped);
  if (code != CUDA_SUCCESS && !failed) return cu_failed(reason, "cuCtxPopCurrent", code);
  return failed;
}

static int cu_probe(atoll_device_facts *facts, atoll_text *reason) {
  int failed;
  (void)pthread_mutex_lock(&cu_state.lock);
  failed = cu_choose(reason);
  if (!failed) *facts = cu_state.facts;
  (void)pthread_mutex_unlock(&cu_state.lock);
  return failed;
}

static int cu_launch(const atoll_launch *launch, atoll_text *device, atoll_text *reason) {
  int failed;
  (void)pthread_mutex_lock(&cu_state.lock);
  failed = cu_run(launch, reason);
  if (!failed) (void)atoll_say(device, "%s", cu_state.facts.name);
  (void)pthread_mutex_unlock(&cu_state.lock);
  return failed;
}

ATOLL_HIDDEN const atoll_driver atoll_driver_cuda = {"cuda", cu_probe, cu_fits, cu_launch};
