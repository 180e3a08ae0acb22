/* A driver interface without a device, for tests: host memory, one kernel (`saxpy`) that it runs itself.
 * FAKE_CUDA_LEVELS ("90,86") are the devices' levels, FAKE_CUDA_VERSION the toolkit it serves (13000),
 * FAKE_CUDA_INIT an error for cuInit, FAKE_CUDA_KERNELS a library of kernels compiled for the processor that are
 * run in the place of those of their name. What is alive can be counted. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_PTX = 218, UNSUPPORTED_PTX = 222, NOT_FOUND = 500, INVALID_CONTEXT = 201 };

static int started, depth;
static long live_memory, live_modules, live_contexts, live_graphs, live_streams, live_events;
static int levels[8], level_count;
static char last_image[1 << 16];
/* What runs in the place of the function that was asked for last, and how many buffers its text declares. */
typedef void kernel(void *const *, const void *, const uint32_t[3], const uint32_t[3], uint64_t, uint64_t);
static kernel *stand_in;
static int stand_in_buffers;
static size_t stand_in_block;
static uintptr_t last_stream;

long fake_live(void) { return live_memory + live_modules + live_contexts + live_graphs + live_streams + live_events; }
int fake_depth(void) { return depth; }
uintptr_t fake_last_stream(void) { return last_stream; }
const char *fake_last_image(void) { return last_image; }

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text && *text ? atoi(text) : otherwise;
}

CUresult cuInit(unsigned int flags) {
  const char *text = getenv("FAKE_CUDA_LEVELS");
  int failed = number("FAKE_CUDA_INIT", 0);
  (void)flags;
  if (failed) return failed;
  started = 1;
  level_count = 0;
  for (text = text ? text : "90"; *text && level_count < 8; text += *text == ',') {
    char *end;
    levels[level_count++] = (int)strtol(text, &end, 10);
    if (end == text) {
      level_count--;
      break;
    }
    text = end;
  }
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version) {
  *version = number("FAKE_CUDA_VERSION", 13000);
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult error, const char **text) {
  *text = error == NOT_INITIALIZED ? "CUDA_ERROR_NOT_INITIALIZED" : error == INVALID_PTX ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_FAKE";
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  (void)error;
  *text = "a fake failure";
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count) {
  *count = level_count;
  return started ? CUDA_SUCCESS : NOT_INITIALIZED;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal + 100;
  return ordinal >= 0 && ordinal < level_count ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device) {
  (void)snprintf(name, (size_t)length, "Fake %d", levels[device - 100]);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) {
  int level = levels[device - 100];
  *value = 1024;
  if (attribute == CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + 2) *value = 64;
  if (attribute == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) *value = 2147483647;
  if (attribute == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + 1 || attribute == CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + 2) *value = 65535;
  if (attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) *value = 49152;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) *value = level / 10;
  if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) *value = level % 10;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
  (void)device;
  *bytes = (size_t)1 << 37;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  live_contexts++;
  *context = (CUcontext)(uintptr_t)device;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  (void)device;
  live_contexts--;
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  (void)context;
  depth++;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  *context = NULL;
  if (depth-- > 0) return CUDA_SUCCESS;
  depth = 0;
  return INVALID_CONTEXT;
}

#define CURRENT if (depth < 1) return INVALID_CONTEXT

CUresult cuStreamSynchronize(CUstream stream) {
  CURRENT;
  (void)stream;
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
                            void **values) {
  const char *version = strstr(image, ".version ");
  CURRENT;
  (void)snprintf(last_image, sizeof last_image, "%s", (const char *)image);
  if (version == NULL) {
    for (unsigned int k = 0; k < count; k++)
      if (options[k] == CU_JIT_ERROR_LOG_BUFFER) strcpy(values[k], "ptxas application ptx input, line 1; fatal : no .version");
    return INVALID_PTX;
  }
  *module = (CUmodule)strdup(image);
  live_modules++;
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule module) {
  CURRENT;
  free((void *)module);
  live_modules--;
  return CUDA_SUCCESS;
}

/* Bytes of the parameter block that a function's text declares; 8 where it declares none. */
static size_t block_bytes(const char *text, const char *name) {
  const char *at = strstr(text, name), *end = at ? strchr(at, ')') : NULL, *block = at ? strstr(at, ".param .align") : NULL;
  const char *open = block && end && block < end ? strchr(block, '[') : NULL;
  return open && open < end ? (size_t)atoi(open + 1) : 8;
}

static int find_stand_in(const char *text, const char *name) {
  const char *path = getenv("FAKE_CUDA_KERNELS"), *at = strstr(text, name), *end = at ? strchr(at, ')') : NULL;
  void *library = path ? dlopen(path, RTLD_NOW) : NULL;
  stand_in = library ? (kernel *)dlsym(library, name) : NULL;
  stand_in_buffers = 0;
  while (end && (at = strstr(at, ".param .u64")) && at < end) at++, stand_in_buffers++;
  return stand_in != NULL && end != NULL;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  CURRENT;
  *function = (CUfunction)(uintptr_t)module;
  stand_in_block = block_bytes((const char *)module, name);
  if (find_stand_in((const char *)module, name)) return CUDA_SUCCESS;
  if (strcmp(name, "saxpy") != 0 || strstr((const char *)module, name) == NULL) return NOT_FOUND;
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  CURRENT;
  if (bytes == 0) return INVALID_VALUE;
  *pointer = (CUdeviceptr)(uintptr_t)malloc(bytes);
  if (*pointer == 0) return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
  live_memory++;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  CURRENT;
  free((void *)(uintptr_t)pointer);
  live_memory--;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  CURRENT;
  memcpy((void *)(uintptr_t)to, from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  CURRENT;
  memcpy(to, (void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}

/* A launch: now, or one of a graph. */
typedef struct node {
  struct node *next;
  kernel *runs;
  int count;
  size_t bytes;
  uint32_t groups[3], group[3];
  void *buffers[16];
  char block[];
} node;

/* A graph, or what a stream captures. */
typedef struct graph {
  node *first, **last;
} graph;

static struct CUstream_st { graph *capturing; } *capturing_stream;

static CUresult run(const node *it) {
  const float *x = it->buffers[0], *y = it->buffers[1];
  float *out = it->buffers[2], a;
  uint32_t n;
  if (it->runs != NULL) {
    it->runs(it->buffers, it->block, it->groups, it->group, 0, (uint64_t)it->groups[0] * it->groups[1] * it->groups[2]);
    return CUDA_SUCCESS;
  }
  memcpy(&a, it->block, 4);
  memcpy(&n, it->block + 4, 4);
  for (uint64_t i = 0; i < (uint64_t)it->groups[0] * it->group[0] && i < n; i++) out[i] = a * x[i] + y[i];
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void **parameters, void **extra) {
  int count = stand_in != NULL ? stand_in_buffers : 3;
  node *it;
  CUresult result;
  CURRENT;
  (void)function, (void)shared, (void)extra;
  last_stream = (uintptr_t)stream;
  if (stand_in == NULL && (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_y != 1 || block_z != 1))
    return INVALID_VALUE;
  it = calloc(1, sizeof *it + stand_in_block);
  *it = (node){NULL, stand_in, count, stand_in_block, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, {NULL}};
  for (int k = 0; k < count; k++) it->buffers[k] = *(void **)parameters[k];
  memcpy(it->block, parameters[count], stand_in_block);
  if (stream != NULL && stream == capturing_stream) {
    *stream->capturing->last = it;
    stream->capturing->last = &it->next;
    return CUDA_SUCCESS;
  }
  result = run(it);
  free(it);
  return result;
}

CUresult cuCtxSynchronize(void) {
  CURRENT;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *left, size_t *total) {
  CURRENT;
  *left = (size_t)1 << 36, *total = (size_t)1 << 37;
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  CURRENT;
  (void)stream;
  memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream) {
  if (to_context == from_context) return INVALID_VALUE;
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  *can = device != peer;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  CURRENT;
  (void)peer;
  return flags == 0 ? CUDA_SUCCESS : INVALID_VALUE;
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags) {
  CURRENT;
  (void)flags;
  *stream = calloc(1, sizeof **stream);
  live_streams++;
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  CURRENT;
  if (stream == capturing_stream) capturing_stream = NULL;
  free(stream);
  live_streams--;
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  CURRENT;
  if (stream == NULL || mode != CU_STREAM_CAPTURE_MODE_RELAXED) return INVALID_VALUE;
  capturing_stream = stream;
  stream->capturing = calloc(1, sizeof *stream->capturing);
  stream->capturing->last = &stream->capturing->first;
  live_graphs++;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *made) {
  CURRENT;
  if (stream != capturing_stream) return INVALID_VALUE;
  *made = (CUgraph)stream->capturing;
  capturing_stream = NULL;
  return CUDA_SUCCESS;
}

static void free_graph(graph *it) {
  for (node *at = it->first, *next; at; at = next) next = at->next, free(at);
  free(it);
  live_graphs--;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph made, unsigned long long flags) {
  graph *copy = calloc(1, sizeof *copy);
  CURRENT;
  (void)flags;
  copy->last = &copy->first;
  for (node *at = ((graph *)made)->first; at; at = at->next) {
    node *it = *copy->last = malloc(sizeof *it + at->bytes);
    memcpy(it, at, sizeof *it + at->bytes);
    it->next = NULL, copy->last = &it->next;
  }
  *executable = (CUgraphExec)copy;
  live_graphs++;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  CURRENT;
  last_stream = (uintptr_t)stream;
  for (const node *at = ((graph *)executable)->first; at; at = at->next) (void)run(at);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec executable) {
  free_graph((graph *)executable);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph made) {
  free_graph((graph *)made);
  return CUDA_SUCCESS;
}

/* Events tell a clock that runs a microsecond a call. */
struct CUevent_st { long at; };

CUresult cuEventCreate(CUevent *event, unsigned int flags) {
  CURRENT;
  (void)flags;
  *event = calloc(1, sizeof **event);
  live_events++;
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  static long now;
  CURRENT;
  (void)stream;
  event->at = ++now;
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) { return event->at ? CUDA_SUCCESS : INVALID_VALUE; }

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  *milliseconds = (float)(end->at - start->at) / 1000;
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  free(event);
  live_events--;
  return CUDA_SUCCESS;
}
