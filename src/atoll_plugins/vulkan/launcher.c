/* The Vulkan launcher: a launch of atoll_launch.h as Vulkan calls. driver.py makes the same calls in the
 * same order; tests/conformance compares the two logs. Buffers are host-visible, coherent memory. */
#ifndef ATOLL_VULKAN_LIBRARY
#define ATOLL_VULKAN_LIBRARY "libvulkan.so.1"
#endif

#define ATOLL_VK_FUNCTIONS(X)                                                                                \
  X(vkEnumerateInstanceVersion) X(vkCreateInstance) X(vkDestroyInstance) X(vkEnumeratePhysicalDevices)       \
  X(vkGetPhysicalDeviceProperties) X(vkGetPhysicalDeviceProperties2) X(vkGetPhysicalDeviceFeatures2)         \
  X(vkGetPhysicalDeviceQueueFamilyProperties) X(vkGetPhysicalDeviceMemoryProperties) X(vkCreateDevice)       \
  X(vkDestroyDevice) X(vkGetDeviceQueue) X(vkCreateBuffer) X(vkDestroyBuffer)                                \
  X(vkGetBufferMemoryRequirements) X(vkAllocateMemory) X(vkFreeMemory) X(vkBindBufferMemory) X(vkMapMemory)  \
  X(vkUnmapMemory) X(vkCreateShaderModule) X(vkDestroyShaderModule) X(vkCreateDescriptorSetLayout)           \
  X(vkDestroyDescriptorSetLayout) X(vkCreatePipelineLayout) X(vkDestroyPipelineLayout)                       \
  X(vkCreateComputePipelines) X(vkDestroyPipeline) X(vkCreateDescriptorPool) X(vkDestroyDescriptorPool)      \
  X(vkAllocateDescriptorSets) X(vkUpdateDescriptorSets) X(vkCreateCommandPool) X(vkDestroyCommandPool)       \
  X(vkAllocateCommandBuffers) X(vkBeginCommandBuffer) X(vkEndCommandBuffer) X(vkCmdBindPipeline)             \
  X(vkCmdBindDescriptorSets) X(vkCmdPushConstants) X(vkCmdDispatch) X(vkCmdPipelineBarrier) X(vkQueueSubmit) \
  X(vkCreateFence) X(vkDestroyFence) X(vkWaitForFences) X(vkResetFences)

enum { VK_MOST_DEVICES = 32, VK_MOST_FAMILIES = 64, VK_PUSH_BYTES = 128, VK_WAIT_SECONDS = 600 };
#define VK_OLDEST ((1u << 22) | (2u << 12))           /* 1.2 */
#define VK_NEWEST ((1u << 22) | (3u << 12))           /* 1.3, the newest this file was written for */

static const char *const vk_names[] = {
#define X(name) #name,
    ATOLL_VK_FUNCTIONS(X)
#undef X
};

static struct {
#define X(name) __typeof__(&name) name;
  ATOLL_VK_FUNCTIONS(X)
#undef X
} vk;

/* What SPIR-V may require, in the order of the names, and where a device says that it has it: 0 core features,
 * 1 and 2 those of Vulkan 1.1 and 1.2, 3 float controls, 4 a bit of the sub-group's operations.
 * capabilities.py is the same. */
#define VK_CORE(name) 0, offsetof(VkPhysicalDeviceFeatures, name)
#define VK_FIRST(name) 1, offsetof(VkPhysicalDeviceVulkan11Features, name)
#define VK_SECOND(name) 2, offsetof(VkPhysicalDeviceVulkan12Features, name)
#define VK_CONTROLS(name) 3, offsetof(VkPhysicalDeviceFloatControlsProperties, name)
static const struct {
  const char *name;
  uint32_t number, where, at;
} vk_capabilities[] = {
    {"Float16", 9, VK_SECOND(shaderFloat16)},
    {"Float64", 10, VK_CORE(shaderFloat64)},
    {"GroupNonUniform", 61, 4, 1},
    {"GroupNonUniformArithmetic", 63, 4, 4},
    {"GroupNonUniformShuffle", 65, 4, 16},
    {"GroupNonUniformVote", 62, 4, 2},
    {"Int16", 22, VK_CORE(shaderInt16)},
    {"Int64", 11, VK_CORE(shaderInt64)},
    {"Int64Atomics", 12, VK_SECOND(shaderBufferInt64Atomics)},
    {"Int8", 39, VK_SECOND(shaderInt8)},
    {"SignedZeroInfNanPreserve", 4466, VK_CONTROLS(shaderSignedZeroInfNanPreserveFloat32)},
    {"StorageBuffer16BitAccess", 4433, VK_FIRST(storageBuffer16BitAccess)},
    {"StorageBuffer8BitAccess", 4448, VK_SECOND(storageBuffer8BitAccess)},
};
enum { VK_CAPABILITIES = sizeof vk_capabilities / sizeof vk_capabilities[0] };

typedef struct vk_loaded {
  VkDescriptorSetLayout set_layout;
  VkPipelineLayout layout;
  VkPipeline pipeline;
} vk_loaded;

typedef struct vk_buffer {
  VkBuffer buffer;
  VkDeviceMemory memory;
} vk_buffer;

static struct {
  pthread_mutex_t lock;
  int chosen, open, lost;
  pid_t process;
  uint32_t lacking; /* bit k: it says that it lacks vk_capabilities[k] */
  VkInstance instance;
  VkPhysicalDevice physical;
  VkPhysicalDeviceProperties properties;
  VkPhysicalDeviceMemoryProperties memory;
  atoll_device_facts facts;
  VkDevice device;
  VkQueue queue;
  VkCommandPool pool;
  VkCommandBuffer commands;
  VkFence fence;
  atoll_cache kept;
} vk_state = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The results that a launch may meet, by name; results.py has the same table for the driver. */
static const char *vk_result_name(VkResult code) {
  switch (code) {
    case 2: return "VK_TIMEOUT";
    case -1: return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case -2: return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case -3: return "VK_ERROR_INITIALIZATION_FAILED";
    case -4: return "VK_ERROR_DEVICE_LOST";
    case -5: return "VK_ERROR_MEMORY_MAP_FAILED";
    case -6: return "VK_ERROR_LAYER_NOT_PRESENT";
    case -7: return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case -8: return "VK_ERROR_FEATURE_NOT_PRESENT";
    case -9: return "VK_ERROR_INCOMPATIBLE_DRIVER: the loader finds no driver";
    case -10: return "VK_ERROR_TOO_MANY_OBJECTS";
    default: return "another result";
  }
}

static int vk_failed(atoll_text *reason, const char *function, VkResult code) {
  if (code == VK_ERROR_DEVICE_LOST) vk_state.lost = 1;
  return atoll_say(reason, "%s failed with %d (%s) on %s", function, (int)code, vk_result_name(code),
                   vk_state.facts.name[0] ? vk_state.facts.name : "vulkan");
}

#define VK_TRY(call, function)                                        \
  do {                                                                \
    VkResult vk_code = (call);                                        \
    if (vk_code != VK_SUCCESS) return vk_failed(reason, function, vk_code); \
  } while (0)

static int vk_library(atoll_text *reason) {
  static int opened;
  void *table[sizeof vk_names / sizeof *vk_names];
  if (opened) return 0;
  if (atoll_open_library(ATOLL_VULKAN_LIBRARY, vk_names, table, sizeof vk_names / sizeof *vk_names, reason))
    return 1;
  memcpy(&vk, table, sizeof vk);
  opened = 1;
  return 0;
}

/* ---- the choice of a device ---- */

static int vk_instance(atoll_text *reason) {
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "atoll"};
  VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
  uint32_t version = 0;
  if (vk_state.instance != NULL) return 0;
  VK_TRY(vk.vkEnumerateInstanceVersion(&version), "vkEnumerateInstanceVersion");
  application.apiVersion = version < VK_NEWEST ? version : VK_NEWEST;
  VK_TRY(vk.vkCreateInstance(&create, NULL, &vk_state.instance), "vkCreateInstance");
  return 0;
}

static int vk_compute_family(VkPhysicalDevice physical, uint32_t *family) {
  VkQueueFamilyProperties families[VK_MOST_FAMILIES];
  uint32_t count = VK_MOST_FAMILIES;
  vk.vkGetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
  for (uint32_t k = 0; k < count; k++)
    if (families[k].queueFlags & VK_QUEUE_COMPUTE_BIT) {
      *family = k;
      return 1;
    }
  return 0;
}

static void vk_facts(VkPhysicalDevice physical, const VkPhysicalDeviceProperties *properties,
                     atoll_device_facts *facts) {
  VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
  VkPhysicalDeviceProperties2 more = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
  memset(facts, 0, sizeof *facts);
  atoll_copy(facts->name, sizeof facts->name, properties->deviceName);
  facts->version[0] = properties->apiVersion >> 22;
  facts->version[1] = (properties->apiVersion >> 12) & 0x3ff;
  facts->software = properties->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  if (properties->apiVersion >= ((1u << 22) | (2u << 12))) vk.vkGetPhysicalDeviceProperties2(physical, &more);
  atoll_copy(facts->driver, sizeof facts->driver, driver.driverInfo);
  if (facts->driver[0] == 0)
    (void)snprintf(facts->driver, sizeof facts->driver, "%u", (unsigned)properties->driverVersion);
}

static uint32_t vk_list(const VkPhysicalDevice *all, uint32_t count, VkPhysicalDevice *devices,
                        atoll_device_facts *facts) {
  uint32_t found = 0, family;
  for (uint32_t k = 0; k < count; k++) {
    VkPhysicalDeviceProperties properties;
    vk.vkGetPhysicalDeviceProperties(all[k], &properties);
    if (properties.apiVersion < VK_OLDEST || !vk_compute_family(all[k], &family)) continue;
    vk_facts(all[k], &properties, &facts[found]);
    facts[found].index = found;
    devices[found++] = all[k];
  }
  return found;
}

static int vk_choose(atoll_text *reason) {
  static VkPhysicalDevice all[VK_MOST_DEVICES], devices[VK_MOST_DEVICES];
  static atoll_device_facts facts[VK_MOST_DEVICES];
  uint32_t count = VK_MOST_DEVICES;
  VkResult code;
  int index;
  if (vk_state.chosen) return 0;
  if (vk_library(reason) || vk_instance(reason)) return 1;
  code = vk.vkEnumeratePhysicalDevices(vk_state.instance, &count, all);
  if (code < 0) return vk_failed(reason, "vkEnumeratePhysicalDevices", code);
  count = vk_list(all, count, devices, facts);
  if (count == 0)
    return atoll_say(reason, "%s finds no device of Vulkan 1.2 or newer that computes", ATOLL_VULKAN_LIBRARY);
  index = atoll_choose_device("vulkan", facts, count, reason);
  if (index < 0) return 1;
  vk_state.physical = devices[index];
  vk_state.facts = facts[index];
  vk_state.process = getpid();
  vk_state.chosen = 1;
  return 0;
}

/* ---- opening it ---- */

/* Note what the device says that it lacks; a device of before Vulkan 1.2 is asked nothing and says nothing. */
static void vk_note_lacking(const VkPhysicalDeviceFeatures2 *features, const VkPhysicalDeviceVulkan11Features *first,
                            const VkPhysicalDeviceVulkan12Features *second) {
  VkPhysicalDeviceSubgroupProperties groups = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceFloatControlsProperties controls = {
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES, .pNext = &groups};
  VkPhysicalDeviceProperties2 more = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &controls};
  const void *tables[] = {&features->features, first, second, &controls};
  vk_state.lacking = 0;
  vk.vkGetPhysicalDeviceProperties2(vk_state.physical, &more);
  if (!(groups.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT)) groups.supportedOperations = 0;
  for (uint32_t k = 0; k < VK_CAPABILITIES; k++) {
    uint32_t where = vk_capabilities[k].where, at = vk_capabilities[k].at;
    VkBool32 has = where == 4 ? groups.supportedOperations & at : 0;
    if (where < 4) memcpy(&has, (const char *)tables[where] + at, sizeof has);
    vk_state.lacking |= (uint32_t)!has << k;
  }
}

static int vk_device(uint32_t family, atoll_text *reason) {
  float priority = 1.0f;
  VkPhysicalDeviceVulkan12Features features12 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features features11 = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                                 .pNext = &features12};
  VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                   .queueFamilyIndex = family,
                                   .queueCount = 1,
                                   .pQueuePriorities = &priority};
  VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                               .pNext = &features,
                               .queueCreateInfoCount = 1,
                               .pQueueCreateInfos = &queue};
  const int tells = vk_state.properties.apiVersion >= ((1u << 22) | (2u << 12));
  if (tells) features.pNext = &features11;
  vk.vkGetPhysicalDeviceFeatures2(vk_state.physical, &features);
  if (tells) vk_note_lacking(&features, &features11, &features12);
  features.features.robustBufferAccess = 0; /* robustBufferAccess costs time and hides faults */
  VK_TRY(vk.vkCreateDevice(vk_state.physical, &create, NULL, &vk_state.device), "vkCreateDevice");
  vk.vkGetDeviceQueue(vk_state.device, family, 0, &vk_state.queue);
  return 0;
}

static int vk_objects(uint32_t family, atoll_text *reason) {
  VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                  .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                  .queueFamilyIndex = family};
  VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                          .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                          .commandBufferCount = 1};
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VK_TRY(vk.vkCreateCommandPool(vk_state.device, &pool, NULL, &vk_state.pool), "vkCreateCommandPool");
  allocate.commandPool = vk_state.pool;
  VK_TRY(vk.vkAllocateCommandBuffers(vk_state.device, &allocate, &vk_state.commands), "vkAllocateCommandBuffers");
  VK_TRY(vk.vkCreateFence(vk_state.device, &fence, NULL, &vk_state.fence), "vkCreateFence");
  return 0;
}

static void vk_close(void) {
  if (vk_state.device == NULL) return;
  if (vk_state.fence) vk.vkDestroyFence(vk_state.device, vk_state.fence, NULL);
  if (vk_state.pool) vk.vkDestroyCommandPool(vk_state.device, vk_state.pool, NULL);
  vk.vkDestroyDevice(vk_state.device, NULL);
  vk_state.fence = 0;
  vk_state.pool = 0;
  vk_state.device = NULL;
}

static int vk_open(atoll_text *reason) {
  uint32_t family = 0;
  if (vk_choose(reason)) return 1;
  if (vk_state.lost) return atoll_say(reason, "%s was lost by an earlier launch", vk_state.facts.name);
  /* Not only an open device: what a vendor's library started when it was asked for devices stays behind too. */
  if (vk_state.process != getpid())
    return atoll_say(reason, "this process was forked after %s had been found", vk_state.facts.name);
  if (vk_state.open) return 0;
  vk.vkGetPhysicalDeviceProperties(vk_state.physical, &vk_state.properties);
  vk.vkGetPhysicalDeviceMemoryProperties(vk_state.physical, &vk_state.memory);
  if (!vk_compute_family(vk_state.physical, &family))
    return atoll_say(reason, "%s has no queue that computes", vk_state.facts.name);
  if (vk_device(family, reason)) return 1;
  if (vk_objects(family, reason)) {
    vk_close();
    return 1;
  }
  vk_state.open = 1;
  return 0;
}

/* ---- code ---- */

/* Find the work-group size that SPIR-V fixes for an entry; 0 where it fixes none, -1 without the entry. */
static int vk_local_size(const atoll_code *code, const char *entry, uint32_t size[3]) {
  const uint32_t *words = code->data;
  uint64_t count = code->bytes / 4, length;
  uint32_t entry_id = 0;
  for (uint64_t at = 5; at < count; at += length) {
    uint32_t opcode = words[at] & 0xffff;
    length = words[at] >> 16;
    if (length == 0 || at + length > count) break;
    if (opcode == 15 && length > 3 && strncmp((const char *)&words[at + 3], entry, (length - 3) * 4) == 0)
      entry_id = words[at + 2];
    if (opcode == 16 && length == 6 && words[at + 1] == entry_id && entry_id != 0 && words[at + 2] == 17) {
      memcpy(size, &words[at + 3], 3 * sizeof *size);
      return 1;
    }
  }
  return entry_id != 0 ? 0 : -1;
}

/* The capabilities that the code requires and the device says that it lacks: how many, and a sentence. */
static uint32_t vk_lacked(const atoll_code *code, char *out, size_t capacity) {
  const uint32_t *words = code->data;
  uint32_t asked = 0, count = 0;
  size_t used = 0;
  for (uint64_t at = 5; at + 1 < code->bytes / 4 && (words[at] & 0xffff) == 17 && words[at] >> 16 == 2; at += 2)
    for (uint32_t k = 0; k < VK_CAPABILITIES; k++)
      if (vk_capabilities[k].number == words[at + 1]) asked |= 1u << k;
  for (uint32_t k = 0; k < VK_CAPABILITIES; k++)
    if ((asked & vk_state.lacking) >> k & 1) {
      int more = snprintf(out + used, capacity - used, "%sit requires spirv.capability = %s", count++ ? ", " : "",
                          vk_capabilities[k].name);
      if (more < 0 || used + (size_t)more >= capacity) break;
      used += (size_t)more;
    }
  return count;
}

/* Bytes of the work-group's memory that SPIR-V declares; 0 where that cannot be read. Sizes by id. */
static uint64_t vk_shared_bytes(const atoll_code *code) {
  const uint32_t *words = code->data, bound = words[3];
  uint64_t count = code->bytes / 4, total = 0, length;
  uint64_t *sizes = bound < (1u << 22) ? calloc(bound + 1, sizeof *sizes) : NULL;
  for (uint64_t at = 5; sizes != NULL && at < count; at += length) {
    const uint32_t *operands = &words[at + 1], opcode = words[at] & 0xffff;
    uint32_t most = 0, given;
    length = words[at] >> 16;
    if (length == 0 || at + length > count) break;
    given = (uint32_t)length - 1;
    if (opcode == 54) break; /* OpFunction: declarations are over */
    for (uint32_t k = 0; k < given && k < 2; k++) most = operands[k] > most ? operands[k] : most;
    if (opcode == 20 && given >= 1 && operands[0] < bound) sizes[operands[0]] = 4;                     /* bool */
    if ((opcode == 21 || opcode == 22) && given >= 2 && operands[0] < bound) sizes[operands[0]] = operands[1] / 8;
    if ((opcode == 23 || opcode == 24) && given >= 3 && most < bound)                            /* vector, matrix */
      sizes[operands[0]] = (sizes[operands[1]] & UINT32_MAX) * operands[2];
    if (opcode == 43 && given >= 3 && most < bound) sizes[operands[1]] = operands[2]; /* a constant's value */
    if (opcode == 28 && given >= 3 && most < bound && operands[2] < bound)
      sizes[operands[0]] = (sizes[operands[1]] & UINT32_MAX) * (sizes[operands[2]] & UINT32_MAX); /* array */
    if (opcode == 30 && given >= 1 && operands[0] < bound)                                           /* struct */
      for (uint32_t k = 1; k < given; k++) sizes[operands[0]] += operands[k] < bound ? sizes[operands[k]] : 0;
    if (opcode == 32 && given >= 3 && operands[0] < bound && operands[2] < bound)
      sizes[operands[0]] = sizes[operands[2]]; /* a pointer: what it points to */
    if (opcode == 59 && given >= 3 && operands[0] < bound && operands[2] == 4) total += sizes[operands[0]];
  }
  free(sizes);
  return total;
}

static int vk_check(const atoll_launch *launch, const atoll_code *code, atoll_text *reason) {
  const VkPhysicalDeviceLimits *limits = &vk_state.properties.limits;
  const char *name = vk_state.facts.name;
  atoll_limits sizes = {.together = limits->maxComputeWorkGroupInvocations};
  uint32_t size[3], bindings = atoll_count(launch, ATOLL_BUFFER) + (atoll_pack(launch, NULL) > VK_PUSH_BYTES);
  uint64_t shared;
  char lacked[512];
  int found;
  if (code->bytes < 20 || code->bytes % 4 || ((const uint32_t *)code->data)[0] != 0x07230203)
    return atoll_say(reason, "the code of %s is not SPIR-V", launch->entry);
  found = vk_local_size(code, launch->entry, size);
  if (found < 0) return atoll_say(reason, "the code has no entry point %s", launch->entry);
  if (found && memcmp(size, launch->group, sizeof size) != 0)
    return atoll_say(reason, "the code of %s fixes groups of %u x %u x %u, the launch says %u x %u x %u",
                     launch->entry, size[0], size[1], size[2], launch->group[0], launch->group[1],
                     launch->group[2]);
  if (vk_lacked(code, lacked, sizeof lacked))
    return atoll_say(reason, "%s refuses the code of `%s`: %s", name, launch->entry, lacked);
  shared = vk_shared_bytes(code);
  if (shared > limits->maxComputeSharedMemorySize)
    return atoll_say(reason, "%s refuses the code of `%s`: it takes %llu bytes of shared memory, the device has %u",
                     name, launch->entry, (unsigned long long)shared, limits->maxComputeSharedMemorySize);
  if (bindings > limits->maxPerStageDescriptorStorageBuffers)
    return atoll_say(reason, "%s refuses the code of `%s`: it takes %u buffers, the device binds %u", name,
                     launch->entry, bindings, limits->maxPerStageDescriptorStorageBuffers);
  for (int d = 0; d < 3; d++) {
    sizes.groups[d] = limits->maxComputeWorkGroupCount[d];
    sizes.items[d] = limits->maxComputeWorkGroupSize[d];
  }
  if (atoll_too_large(launch, &sizes, 0, name, reason)) return 1;
  for (uint32_t k = 0; k < launch->arg_count; k++)
    if (launch->args[k].kind == ATOLL_BUFFER && launch->args[k].bytes > limits->maxStorageBufferRange)
      return atoll_say(reason, "argument %u has %llu bytes, a storage buffer on %s holds %u", (unsigned)k,
                       (unsigned long long)launch->args[k].bytes, name, limits->maxStorageBufferRange);
  return 0;
}

static void vk_unload(void *pointer) {
  vk_loaded *loaded = pointer;
  if (loaded->pipeline) vk.vkDestroyPipeline(vk_state.device, loaded->pipeline, NULL);
  if (loaded->layout) vk.vkDestroyPipelineLayout(vk_state.device, loaded->layout, NULL);
  if (loaded->set_layout) vk.vkDestroyDescriptorSetLayout(vk_state.device, loaded->set_layout, NULL);
  free(loaded);
}

static int vk_layouts(vk_loaded *out, uint32_t bindings, uint32_t push, atoll_text *reason) {
  VkDescriptorSetLayoutCreateInfo set = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                         .bindingCount = bindings};
  VkPushConstantRange range = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = push};
  VkPipelineLayoutCreateInfo layout = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                       .setLayoutCount = 1,
                                       .pSetLayouts = &out->set_layout,
                                       .pushConstantRangeCount = push ? 1 : 0,
                                       .pPushConstantRanges = &range};
  VkDescriptorSetLayoutBinding *rows = calloc(bindings + 1, sizeof *rows);
  VkResult code;
  if (rows == NULL) return atoll_say(reason, "out of host memory");
  for (uint32_t k = 0; k < bindings; k++)
    rows[k] = (VkDescriptorSetLayoutBinding){.binding = k,
                                             .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                             .descriptorCount = 1,
                                             .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  set.pBindings = rows;
  code = vk.vkCreateDescriptorSetLayout(vk_state.device, &set, NULL, &out->set_layout);
  free(rows);
  if (code != VK_SUCCESS) return vk_failed(reason, "vkCreateDescriptorSetLayout", code);
  VK_TRY(vk.vkCreatePipelineLayout(vk_state.device, &layout, NULL, &out->layout), "vkCreatePipelineLayout");
  return 0;
}

static int vk_pipeline(vk_loaded *out, const atoll_code *code, const char *entry, atoll_text *reason) {
  VkShaderModuleCreateInfo shader = {.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                     .codeSize = code->bytes,
                                     .pCode = code->data};
  VkComputePipelineCreateInfo create = {
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .pName = entry},
      .layout = out->layout};
  VkResult result;
  VK_TRY(vk.vkCreateShaderModule(vk_state.device, &shader, NULL, &create.stage.module), "vkCreateShaderModule");
  result = vk.vkCreateComputePipelines(vk_state.device, 0, 1, &create, NULL, &out->pipeline);
  vk.vkDestroyShaderModule(vk_state.device, create.stage.module, NULL);
  return result == VK_SUCCESS ? 0 : vk_failed(reason, "vkCreateComputePipelines", result);
}

static vk_loaded *vk_load(const atoll_launch *launch, const atoll_code *code, uint32_t bindings, uint32_t push,
                          atoll_text *reason) {
  uint64_t shape = (uint64_t)bindings << 32 | push;
  vk_loaded *loaded = atoll_find(&vk_state.kept, code, launch->entry, shape);
  if (loaded != NULL) return loaded;
  loaded = calloc(1, sizeof *loaded);
  if (loaded == NULL) {
    (void)atoll_say(reason, "out of host memory");
    return NULL;
  }
  if (vk_layouts(loaded, bindings, push, reason) || vk_pipeline(loaded, code, launch->entry, reason)) {
    vk_unload(loaded);
    return NULL;
  }
  if (atoll_keep_code(&vk_state.kept, code, launch->entry, shape, loaded, vk_unload)) {
    vk_unload(loaded);
    (void)atoll_say(reason, "out of host memory");
    return NULL;
  }
  return loaded;
}

/* ---- buffers ---- */

/* Cached memory first, for reading back; coherent always, so that nothing needs a flush. */
static int vk_memory_type(uint32_t allowed) {
  uint32_t need = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  uint32_t wanted[2] = {need | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, need};
  for (int pass = 0; pass < 2; pass++)
    for (uint32_t k = 0; k < vk_state.memory.memoryTypeCount; k++)
      if ((allowed >> k & 1) && (vk_state.memory.memoryTypes[k].propertyFlags & wanted[pass]) == wanted[pass])
        return (int)k;
  return -1;
}

static int vk_allocate(vk_buffer *out, uint64_t bytes, atoll_text *reason) {
  VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .size = bytes,
                               .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                               .sharingMode = VK_SHARING_MODE_EXCLUSIVE};
  VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  VkMemoryRequirements needs;
  int type;
  VK_TRY(vk.vkCreateBuffer(vk_state.device, &create, NULL, &out->buffer), "vkCreateBuffer");
  vk.vkGetBufferMemoryRequirements(vk_state.device, out->buffer, &needs);
  type = vk_memory_type(needs.memoryTypeBits);
  if (type < 0) return atoll_say(reason, "%s has no memory that the host sees", vk_state.facts.name);
  allocate.allocationSize = needs.size;
  allocate.memoryTypeIndex = (uint32_t)type;
  VK_TRY(vk.vkAllocateMemory(vk_state.device, &allocate, NULL, &out->memory), "vkAllocateMemory");
  VK_TRY(vk.vkBindBufferMemory(vk_state.device, out->buffer, out->memory, 0), "vkBindBufferMemory");
  return 0;
}

static int vk_copy(const vk_buffer *buffer, void *host, uint64_t bytes, int in, atoll_text *reason) {
  void *mapped = NULL;
  if (bytes == 0) return 0;
  VK_TRY(vk.vkMapMemory(vk_state.device, buffer->memory, 0, bytes, 0, &mapped), "vkMapMemory");
  if (in)
    memcpy(mapped, host, bytes);
  else
    memcpy(host, mapped, bytes);
  vk.vkUnmapMemory(vk_state.device, buffer->memory);
  return 0;
}

static void vk_release(const vk_buffer *buffer) {
  if (buffer->buffer) vk.vkDestroyBuffer(vk_state.device, buffer->buffer, NULL);
  if (buffer->memory) vk.vkFreeMemory(vk_state.device, buffer->memory, NULL);
}

/* Everything one launch owns. Bindings are the buffers and, for a block over 128 bytes, one for it. */
typedef struct vk_job {
  const atoll_launch *launch;
  vk_loaded *loaded;
  unsigned char *block;
  uint32_t block_bytes, push, bindings;
  vk_buffer *buffers;
  uint32_t *owners; /* the binding whose buffer each has; its own but for memory that is given twice */
  VkDescriptorPool pool;
  VkDescriptorSet set;
} vk_job;

/* The binding of a buffer argument. */
static uint32_t vk_binding(const atoll_launch *launch, uint32_t index) {
  uint32_t binding = 0;
  for (uint32_t k = 0; k < index; k++) binding += launch->args[k].kind == ATOLL_BUFFER;
  return binding;
}

static int vk_upload(vk_job *job, atoll_text *reason) {
  uint32_t next = 0;
  for (uint32_t k = 0; k < job->launch->arg_count; k++) {
    const atoll_arg *arg = &job->launch->args[k];
    if (arg->kind != ATOLL_BUFFER) continue;
    job->owners[next] = atoll_owner(job->launch, k) == k ? next : vk_binding(job->launch, atoll_owner(job->launch, k));
    if (job->owners[next] == next && (vk_allocate(&job->buffers[next], atoll_room(arg->bytes), reason) ||
                                      vk_copy(&job->buffers[next], arg->data, arg->bytes, 1, reason)))
      return 1;
    next++;
  }
  if (next == job->bindings) return 0;
  job->owners[next] = next;
  return vk_allocate(&job->buffers[next], atoll_room(job->block_bytes), reason) ||
         vk_copy(&job->buffers[next], job->block, job->block_bytes, 1, reason);
}

static int vk_download(const vk_job *job, atoll_text *reason) {
  uint32_t next = 0;
  for (uint32_t k = 0; k < job->launch->arg_count; k++) {
    const atoll_arg *arg = &job->launch->args[k];
    if (arg->kind != ATOLL_BUFFER) continue;
    if (job->owners[next] == next && atoll_is_written(job->launch, k) &&
        vk_copy(&job->buffers[next], arg->data, arg->bytes, 0, reason))
      return 1;
    next++;
  }
  return 0;
}

static int vk_bind(vk_job *job, atoll_text *reason) {
  VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, job->bindings};
  VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
                                     .maxSets = 1,
                                     .poolSizeCount = 1,
                                     .pPoolSizes = &size};
  VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                          .descriptorSetCount = 1,
                                          .pSetLayouts = &job->loaded->set_layout};
  VkDescriptorBufferInfo *infos;
  VkWriteDescriptorSet *writes;
  if (job->bindings == 0) return 0;
  VK_TRY(vk.vkCreateDescriptorPool(vk_state.device, &pool, NULL, &job->pool), "vkCreateDescriptorPool");
  allocate.descriptorPool = job->pool;
  VK_TRY(vk.vkAllocateDescriptorSets(vk_state.device, &allocate, &job->set), "vkAllocateDescriptorSets");
  infos = calloc(job->bindings, sizeof *infos);
  writes = calloc(job->bindings, sizeof *writes);
  for (uint32_t k = 0; infos != NULL && writes != NULL && k < job->bindings; k++) {
    infos[k] = (VkDescriptorBufferInfo){job->buffers[job->owners[k]].buffer, 0, UINT64_MAX};
    writes[k] = (VkWriteDescriptorSet){.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                       .dstSet = job->set,
                                       .dstBinding = k,
                                       .descriptorCount = 1,
                                       .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                       .pBufferInfo = &infos[k]};
  }
  if (infos != NULL && writes != NULL)
    vk.vkUpdateDescriptorSets(vk_state.device, job->bindings, writes, 0, NULL);
  else
    (void)atoll_say(reason, "out of host memory");
  free(infos);
  free(writes);
  return infos == NULL || writes == NULL;
}

static int vk_record(const vk_job *job, atoll_text *reason) {
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                    .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
  VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                             .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                             .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_SHADER_READ_BIT |
                                              VK_ACCESS_SHADER_WRITE_BIT};
  VkCommandBuffer commands = vk_state.commands;
  const uint32_t *groups = job->launch->groups;
  VK_TRY(vk.vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
  vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->loaded->pipeline);
  if (job->bindings)
    vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->loaded->layout, 0, 1, &job->set, 0,
                               NULL);
  if (job->push)
    vk.vkCmdPushConstants(commands, job->loaded->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, job->push, job->block);
  vk.vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
  vk.vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0,
                          NULL, 0, NULL);
  VK_TRY(vk.vkEndCommandBuffer(commands), "vkEndCommandBuffer");
  return 0;
}

static int vk_submit(atoll_text *reason) {
  VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &vk_state.commands};
  VkResult code;
  VK_TRY(vk.vkQueueSubmit(vk_state.queue, 1, &submit, vk_state.fence), "vkQueueSubmit");
  code = vk.vkWaitForFences(vk_state.device, 1, &vk_state.fence, 1, VK_WAIT_SECONDS * 1000000000ull);
  if (code != VK_SUCCESS) { /* the work may still run: nothing of it is freed, the device is given up */
    vk_state.lost = 1;
    if (code == VK_TIMEOUT)
      return atoll_say(reason, "%s did not finish in %d seconds", vk_state.facts.name, (int)VK_WAIT_SECONDS);
    return vk_failed(reason, "vkWaitForFences", code);
  }
  code = vk.vkResetFences(vk_state.device, 1, &vk_state.fence);
  if (code == VK_SUCCESS) return 0;
  vk_state.lost = 1; /* a fence that stays signalled would let the next launch through before it ran */
  return vk_failed(reason, "vkResetFences", code);
}

/* Free what only the launch itself needed, once it is done: the descriptors and the block's buffer. */
static void vk_retire(vk_job *job) {
  uint32_t own = atoll_count(job->launch, ATOLL_BUFFER);
  if (job->pool) vk.vkDestroyDescriptorPool(vk_state.device, job->pool, NULL);
  job->pool = 0;
  if (job->buffers == NULL || own == job->bindings) return;
  vk_release(&job->buffers[own]);
  job->buffers[own] = (vk_buffer){0, 0};
}

static int vk_run_job(vk_job *job, const atoll_code *code, atoll_text *reason) {
  job->block_bytes = (uint32_t)atoll_pack(job->launch, NULL);
  job->push = job->block_bytes <= VK_PUSH_BYTES ? (job->block_bytes + 3) / 4 * 4 : 0;
  job->bindings = atoll_count(job->launch, ATOLL_BUFFER) + (job->block_bytes > VK_PUSH_BYTES);
  job->block = calloc(1, job->block_bytes + 4);
  job->buffers = calloc(job->bindings + 1, sizeof *job->buffers);
  job->owners = calloc(job->bindings + 1, sizeof *job->owners);
  if (job->block == NULL || job->buffers == NULL || job->owners == NULL) return atoll_say(reason, "out of host memory");
  (void)atoll_pack(job->launch, job->block);
  job->loaded = vk_load(job->launch, code, job->bindings, job->push, reason);
  if (job->loaded == NULL || vk_upload(job, reason) || vk_bind(job, reason) || vk_record(job, reason) ||
      vk_submit(reason))
    return 1;
  vk_retire(job);
  return vk_download(job, reason);
}

/* The minor SPIR-V version that each API version takes: 1.0 1.3 1.5 1.6, and 1.6 from then on. */
static uint32_t vk_spirv(const atoll_device_facts *facts) {
  static const uint32_t spirv[] = {0, 3, 5, 6};
  return spirv[facts->version[1] < 3 ? facts->version[1] : 3];
}

/* An architecture is a SPIR-V version, as a floor is: `spirv1.5` is the floor 1.5. */
static int vk_fits(const atoll_code *code, const atoll_device_facts *facts) {
  const char *arch = atoll_or_empty(code->arch);
  uint32_t have[2] = {1, vk_spirv(facts)};
  if (arch[0] != 0 && strncmp(arch, "spirv", 5) != 0) return 0;
  return atoll_at_least(facts->version, code->version) && atoll_at_least(have, code->floor) &&
         (arch[0] == 0 || (arch[5] != 0 && atoll_at_least(have, arch + 5)));
}

static uint32_t vk_score(const atoll_code *code, const atoll_device_facts *facts) {
  uint32_t version[2] = {0, 0};
  (void)facts;
  (void)atoll_read_version(atoll_or_empty(code->version), version);
  return 1 + version[0] * 100 + version[1];
}

static int vk_run(const atoll_launch *launch, atoll_text *reason) {
  static const atoll_rules rules = {"vulkan", "+{spirv", "}", vk_fits, vk_score};
  vk_job job = {.launch = launch};
  char hardware[32];
  const atoll_code *code;
  int failed;
  if (atoll_check(launch, reason) || atoll_overlaps(launch, reason) || vk_open(reason)) return 1;
  (void)snprintf(hardware, sizeof hardware, "spirv1.%u", (unsigned)vk_spirv(&vk_state.facts));
  code = atoll_choose_code(launch, &rules, &vk_state.facts, hardware, reason);
  if (code == NULL || vk_check(launch, code, reason)) return 1;
  failed = vk_run_job(&job, code, reason);
  if (!vk_state.lost) {
    vk_retire(&job);
    for (uint32_t k = 0; job.buffers != NULL && k < job.bindings; k++) vk_release(&job.buffers[k]);
  }
  free(job.buffers);
  free(job.owners);
  free(job.block);
  return failed;
}

static int vk_probe(atoll_device_facts *facts, atoll_text *reason) {
  int failed;
  (void)pthread_mutex_lock(&vk_state.lock);
  failed = vk_choose(reason);
  if (!failed) *facts = vk_state.facts;
  (void)pthread_mutex_unlock(&vk_state.lock);
  return failed;
}

static int vk_launch(const atoll_launch *launch, atoll_text *device, atoll_text *reason) {
  int failed;
  (void)pthread_mutex_lock(&vk_state.lock);
  failed = vk_run(launch, reason);
  if (!failed) (void)atoll_say(device, "%s", vk_state.facts.name);
  (void)pthread_mutex_unlock(&vk_state.lock);
  return failed;
}

ATOLL_HIDDEN const atoll_driver atoll_driver_vulkan = {"vulkan", vk_probe, vk_fits, vk_launch};
