/* The OpenCL launcher: a launch of atoll_launch.h as OpenCL 1.2 calls. driver.py makes the same calls in
 * the same order; tests/conformance compares the two logs. */
#ifndef ATOLL_OPENCL_LIBRARY
#define ATOLL_OPENCL_LIBRARY "libOpenCL.so.1"
#endif

#define ATOLL_CL_FUNCTIONS(X)                                                                              \
  X(clGetPlatformIDs) X(clGetDeviceIDs) X(clGetDeviceInfo) X(clCreateContext) X(clReleaseContext)          \
  X(clCreateCommandQueue) X(clReleaseCommandQueue) X(clCreateBuffer) X(clReleaseMemObject)                 \
  X(clCreateProgramWithSource) X(clBuildProgram) X(clGetProgramBuildInfo) X(clReleaseProgram)              \
  X(clCreateKernel) X(clReleaseKernel) X(clGetKernelWorkGroupInfo) X(clSetKernelArg)                       \
  X(clEnqueueWriteBuffer) X(clEnqueueReadBuffer) X(clEnqueueNDRangeKernel) X(clFinish)

enum { CL_MOST_PLATFORMS = 16, CL_MOST_DEVICES = 64 };

static const char *const cl_names[] = {
#define X(name) #name,
    ATOLL_CL_FUNCTIONS(X)
#undef X
};

static struct {
#define X(name) __typeof__(&name) name;
  ATOLL_CL_FUNCTIONS(X)
#undef X
} cl;

typedef struct cl_loaded {
  cl_program program;
  cl_kernel kernel;
  size_t most_items; /* of a group; fewer than the device's where the kernel takes more of each */
} cl_loaded;

static struct {
  pthread_mutex_t lock;
  int chosen, open;
  pid_t process;
  cl_device_id device;
  const char *options; /* of every build */
  atoll_device_facts facts;
  atoll_limits limits;
  cl_context context;
  cl_command_queue queue;
  atoll_cache kept;
} cl_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int cl_failed(atoll_text *reason, const char *function, cl_int code) {
  return atoll_say(reason, "%s failed with %d on %s", function, (int)code,
                   cl_state.facts.name[0] ? cl_state.facts.name : "opencl");
}

static int cl_library(atoll_text *reason) {
  static int opened;
  void *table[sizeof cl_names / sizeof *cl_names];
  if (opened) return 0;
  if (atoll_open_library(ATOLL_OPENCL_LIBRARY, cl_names, table, sizeof cl_names / sizeof *cl_names, reason))
    return 1;
  memcpy(&cl, table, sizeof cl);
  opened = 1;
  return 0;
}

static int cl_text(cl_device_id device, cl_device_info what, char *out, size_t capacity) {
  char text[1024] = "";
  cl_int code = cl.clGetDeviceInfo(device, what, sizeof text - 1, text, NULL);
  atoll_copy(out, capacity, text);
  return code != CL_SUCCESS;
}

/* The facts of a device, or 1 where it cannot compile source or does not answer. */
static int cl_facts(cl_device_id device, atoll_device_facts *facts) {
  char version[128];
  cl_bool available = 0, compiler = 0;
  cl_device_type type = 0;
  memset(facts, 0, sizeof *facts);
  if (cl.clGetDeviceInfo(device, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL) != CL_SUCCESS) return 1;
  if (cl.clGetDeviceInfo(device, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL) != CL_SUCCESS)
    return 1;
  if (!available || !compiler) return 1;
  if (cl.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS) return 1;
  if (cl_text(device, CL_DEVICE_NAME, facts->name, sizeof facts->name)) return 1;
  if (cl_text(device, CL_DRIVER_VERSION, facts->driver, sizeof facts->driver)) return 1;
  if (cl_text(device, CL_DEVICE_VERSION, version, sizeof version)) return 1;
  facts->software = (type & CL_DEVICE_TYPE_CPU) != 0;
  if (strncmp(version, "OpenCL ", 7) != 0) return 1;
  for (char *at = version + 7; *at; at++)
    if (*at == ' ') *at = 0;
  return !atoll_read_version(version + 7, facts->version);
}

static uint32_t cl_list(cl_device_id *devices, atoll_device_facts *facts) {
  cl_platform_id platforms[CL_MOST_PLATFORMS];
  cl_uint platform_count = 0, found = 0;
  if (cl.clGetPlatformIDs(CL_MOST_PLATFORMS, platforms, &platform_count) != CL_SUCCESS) return 0;
  if (platform_count > CL_MOST_PLATFORMS) platform_count = CL_MOST_PLATFORMS;
  for (cl_uint p = 0; p < platform_count; p++) {
    cl_device_id here[CL_MOST_DEVICES];
    cl_uint count = 0;
    if (cl.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, CL_MOST_DEVICES, here, &count) != CL_SUCCESS) continue;
    if (count > CL_MOST_DEVICES) count = CL_MOST_DEVICES;
    for (cl_uint d = 0; d < count && found < CL_MOST_DEVICES; d++) {
      if (cl_facts(here[d], &facts[found])) continue;
      facts[found].index = found;
      devices[found++] = here[d];
    }
  }
  return found;
}

/* Division and square root are rounded correctly where the device can; that is not its default. */
static const char *cl_options(cl_device_id device) {
  cl_ulong single = 0;
  if (cl.clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL) != CL_SUCCESS) return "";
  return single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? "-cl-fp32-correctly-rounded-divide-sqrt" : "";
}

static void cl_limits(cl_device_id device, atoll_limits *out) {
  size_t items[3], group = 0;
  memset(out, 0, sizeof *out);
  if (cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof group, &group, NULL) == CL_SUCCESS)
    out->together = group;
  (void)cl.clGetDeviceInfo(device, CL_DEVICE_LOCAL_MEM_SIZE, sizeof out->shared_bytes, &out->shared_bytes, NULL);
  if (cl.clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, NULL) == CL_SUCCESS)
    for (int d = 0; d < 3; d++) out->items[d] = items[d];
}

static int cl_choose(atoll_text *reason) {
  static cl_device_id devices[CL_MOST_DEVICES];
  static atoll_device_facts facts[CL_MOST_DEVICES];
  uint32_t count;
  int index;
  if (cl_state.chosen) return 0;
  if (cl_library(reason)) return 1;
  count = cl_list(devices, facts);
  if (count == 0)
    return atoll_say(reason, "%s finds no device that compiles OpenCL C", ATOLL_OPENCL_LIBRARY);
  index = atoll_choose_device("opencl", facts, count, reason);
  if (index < 0) return 1;
  cl_state.device = devices[index];
  cl_state.options = cl_options(devices[index]);
  cl_state.facts = facts[index];
  cl_limits(devices[index], &cl_state.limits);
  cl_state.process = getpid();
  cl_state.chosen = 1;
  return 0;
}

static int cl_open(atoll_text *reason) {
  cl_int code = CL_SUCCESS;
  if (cl_choose(reason)) return 1;
  /* Not only an open device: what a vendor's library started when it was asked for devices stays behind too. */
  if (cl_state.process != getpid())
    return atoll_say(reason, "this process was forked after %s had been found", cl_state.facts.name);
  if (cl_state.open) return 0;
  cl_state.context = cl.clCreateContext(NULL, 1, &cl_state.device, NULL, NULL, &code);
  if (code != CL_SUCCESS) return cl_failed(reason, "clCreateContext", code);
  cl_state.queue = cl.clCreateCommandQueue(cl_state.context, cl_state.device, 0, &code);
  if (code != CL_SUCCESS) {
    (void)cl.clReleaseContext(cl_state.context);
    return cl_failed(reason, "clCreateCommandQueue", code);
  }
  cl_state.open = 1;
  return 0;
}

static void cl_unload(void *pointer) {
  cl_loaded *loaded = pointer;
  (void)cl.clReleaseKernel(loaded->kernel);
  (void)cl.clReleaseProgram(loaded->program);
  free(loaded);
}

static int cl_build(const atoll_code *code, const char *entry, cl_loaded *out, atoll_text *reason) {
  const char *text = code->data;
  size_t size = code->bytes;
  cl_int result = CL_SUCCESS;
  out->program = cl.clCreateProgramWithSource(cl_state.context, 1, &text, &size, &result);
  if (result != CL_SUCCESS) return cl_failed(reason, "clCreateProgramWithSource", result);
  result = cl.clBuildProgram(out->program, 1, &cl_state.device, cl_state.options, NULL, NULL);
  if (result != CL_SUCCESS) {
    size_t log_size = 0;
    char *log = NULL;
    (void)cl.clGetProgramBuildInfo(out->program, cl_state.device, CL_PROGRAM_BUILD_LOG, 0, NULL, &log_size);
    log = calloc(log_size + 1, 1);
    if (log != NULL)
      (void)cl.clGetProgramBuildInfo(out->program, cl_state.device, CL_PROGRAM_BUILD_LOG, log_size, log, NULL);
    (void)atoll_say(reason, "clBuildProgram failed with %d on %s: %s", (int)result, cl_state.facts.name,
                    log ? log : "");
    free(log);
    (void)cl.clReleaseProgram(out->program);
    return 1;
  }
  out->kernel = cl.clCreateKernel(out->program, entry, &result);
  if (result != CL_SUCCESS) {
    (void)cl.clReleaseProgram(out->program);
    return atoll_say(reason, "clCreateKernel failed with %d on %s for %s", (int)result, cl_state.facts.name, entry);
  }
  return 0;
}

static int cl_asked(cl_kernel kernel, cl_kernel_work_group_info what, void *out, size_t size, atoll_text *reason) {
  cl_int code = cl.clGetKernelWorkGroupInfo(kernel, cl_state.device, what, size, out, NULL);
  return code == CL_SUCCESS ? 0 : cl_failed(reason, "clGetKernelWorkGroupInfo", code);
}

/* What a kernel says of itself on the device. */
static int cl_room(const char *entry, cl_loaded *out, atoll_text *reason) {
  cl_ulong shared = 0;
  if (cl_asked(out->kernel, CL_KERNEL_LOCAL_MEM_SIZE, &shared, sizeof shared, reason)) return 1;
  if (cl_state.limits.shared_bytes && shared > cl_state.limits.shared_bytes)
    return atoll_say(reason, "%s refuses the code of `%s`: it takes %llu bytes of shared memory, the device has %llu",
                     cl_state.facts.name, entry, (unsigned long long)shared,
                     (unsigned long long)cl_state.limits.shared_bytes);
  return cl_asked(out->kernel, CL_KERNEL_WORK_GROUP_SIZE, &out->most_items, sizeof out->most_items, reason);
}

static cl_loaded *cl_load(const atoll_launch *launch, const atoll_code *code, atoll_text *reason) {
  cl_loaded *loaded = atoll_find(&cl_state.kept, code, launch->entry, 0);
  if (loaded != NULL) return loaded;
  loaded = calloc(1, sizeof *loaded);
  if (loaded == NULL) {
    (void)atoll_say(reason, "out of host memory");
    return NULL;
  }
  if (cl_build(code, launch->entry, loaded, reason)) {
    free(loaded);
    return NULL;
  }
  if (cl_room(launch->entry, loaded, reason)) {
    cl_unload(loaded);
    return NULL;
  }
  if (atoll_keep_code(&cl_state.kept, code, launch->entry, 0, loaded, cl_unload)) {
    cl_unload(loaded);
    (void)atoll_say(reason, "out of host memory");
    return NULL;
  }
  return loaded;
}

static int cl_upload(const atoll_launch *launch, cl_mem *buffers, atoll_text *reason) {
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    cl_int code = CL_SUCCESS;
    if (arg->kind != ATOLL_BUFFER || atoll_owner(launch, k) != k) continue;
    buffers[k] = cl.clCreateBuffer(cl_state.context, CL_MEM_READ_WRITE, atoll_room(arg->bytes), NULL, &code);
    if (code != CL_SUCCESS) {
      buffers[k] = NULL;
      return cl_failed(reason, "clCreateBuffer", code);
    }
    if (arg->bytes == 0) continue;
    code = cl.clEnqueueWriteBuffer(cl_state.queue, buffers[k], CL_TRUE, 0, arg->bytes, arg->data, 0, NULL, NULL);
    if (code != CL_SUCCESS) return cl_failed(reason, "clEnqueueWriteBuffer", code);
  }
  return 0;
}

static int cl_start(const atoll_launch *launch, cl_kernel kernel, const cl_mem *buffers, atoll_text *reason) {
  size_t global[3], local[3];
  cl_int code;
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    if (arg->kind == ATOLL_BUFFER)
      code = cl.clSetKernelArg(kernel, k, sizeof *buffers, &buffers[atoll_owner(launch, k)]);
    else
      code = cl.clSetKernelArg(kernel, k, arg->bytes, arg->data);
    if (code != CL_SUCCESS)
      return atoll_say(reason, "clSetKernelArg failed with %d on %s for argument %u of %s", (int)code,
                       cl_state.facts.name, (unsigned)k, launch->entry);
  }
  for (int d = 0; d < 3; d++) {
    local[d] = launch->group[d];
    global[d] = local[d] * launch->groups[d];
  }
  code = cl.clEnqueueNDRangeKernel(cl_state.queue, kernel, 3, NULL, global, local, 0, NULL, NULL);
  return code == CL_SUCCESS ? 0 : cl_failed(reason, "clEnqueueNDRangeKernel", code);
}

static int cl_finish(const atoll_launch *launch, const cl_mem *buffers, atoll_text *reason) {
  cl_int code = cl.clFinish(cl_state.queue);
  if (code != CL_SUCCESS) return cl_failed(reason, "clFinish", code);
  for (uint32_t k = 0; k < launch->arg_count; k++) {
    const atoll_arg *arg = &launch->args[k];
    if (buffers[k] == NULL || arg->bytes == 0 || !atoll_is_written(launch, k)) continue;
    code = cl.clEnqueueReadBuffer(cl_state.queue, buffers[k], CL_TRUE, 0, arg->bytes, arg->data, 0, NULL, NULL);
    if (code != CL_SUCCESS) return cl_failed(reason, "clEnqueueReadBuffer", code);
  }
  return 0;
}

static int cl_fits(const atoll_code *code, const atoll_device_facts *facts) {
  return atoll_or_empty(code->arch)[0] == 0 && atoll_or_empty(code->floor)[0] == 0 &&
         atoll_at_least(facts->version, code->version);
}

static uint32_t cl_score(const atoll_code *code, const atoll_device_facts *facts) {
  (void)code;
  (void)facts;
  return 1;
}

static int cl_run(const atoll_launch *launch, atoll_text *reason) {
  static const atoll_rules rules = {"opencl", " floor>=", "", cl_fits, cl_score};
  const atoll_code *code;
  cl_loaded *loaded;
  cl_mem *buffers;
  int failed;
  if (atoll_check(launch, reason) || atoll_overlaps(launch, reason) || cl_open(reason)) return 1;
  code = atoll_choose_code(launch, &rules, &cl_state.facts, "", reason);
  if (code == NULL) return 1;
  loaded = cl_load(launch, code, reason);
  if (loaded == NULL || atoll_too_large(launch, &cl_state.limits, loaded->most_items, cl_state.facts.name, reason))
    return 1;
  buffers = calloc(launch->arg_count + 1, sizeof *buffers);
  if (buffers == NULL) return atoll_say(reason, "out of host memory");
  failed = cl_upload(launch, buffers, reason) || cl_start(launch, loaded->kernel, buffers, reason) ||
           cl_finish(launch, buffers, reason);
  if (failed) (void)cl.clFinish(cl_state.queue); /* nothing may still use what is released now */
  for (uint32_t k = 0; k < launch->arg_count; k++)
    if (buffers[k] != NULL) (void)cl.clReleaseMemObject(buffers[k]);
  free(buffers);
  return failed;
}

static int cl_probe(atoll_device_facts *facts, atoll_text *reason) {
  int failed;
  (void)pthread_mutex_lock(&cl_state.lock);
  failed = cl_choose(reason);
  if (!failed) *facts = cl_state.facts;
  (void)pthread_mutex_unlock(&cl_state.lock);
  return failed;
}

static int cl_launch(const atoll_launch *launch, atoll_text *device, atoll_text *reason) {
  int failed;
  (void)pthread_mutex_lock(&cl_state.lock);
  failed = cl_run(launch, reason);
  if (!failed) (void)atoll_say(device, "%s", cl_state.facts.name);
  (void)pthread_mutex_unlock(&cl_state.lock);
  return failed;
}

ATOLL_HIDDEN const atoll_driver atoll_driver_opencl = {"opencl", cl_probe, cl_fits, cl_launch};
