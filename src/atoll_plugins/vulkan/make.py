"""Makes Vulkan objects: the device with every feature it has, layouts, pipelines.

Each function makes one thing and frees what it made where it fails half way. What a result means is decided
here alone: a lost device stays lost, no room is an error of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from atoll.accel import Version
from atoll.errors import DeviceError
from atoll.plugin import DeviceInfo
from atoll.plugin.values import dataclass
from atoll.runtime import faults
from atoll.runtime.native import Table
from atoll_plugins.vulkan.results import result_text

PUSH_BYTES = 128
#: The newest version that this package was written for; what a newer device offers beside it is not used.
NEWEST = Version((1, 3))


@dataclass(frozen=True, slots=True)
class Physical:
    """A device of the loader's list and its family of queues that compute.

    Attributes:
        handle: The interface's.
        info: What is said of it.
        family: The number of the family.
        clock_bits: Of its timestamps; 0 where it has none.
    """

    handle: Any
    info: DeviceInfo
    family: int
    clock_bits: int = 0


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A pipeline with the layouts it was made for."""

    set_layout: int
    layout: int
    pipeline: int


def failure(vk: Table, function: str, result: int, name: str) -> DeviceError:
    """Return the error of a function that did not succeed."""
    if result == vk.VK_ERROR_DEVICE_LOST:
        return faults.lost(name, function, result_text(result))
    if result in (vk.VK_ERROR_OUT_OF_HOST_MEMORY, vk.VK_ERROR_OUT_OF_DEVICE_MEMORY):
        return faults.no_memory(function, result_text(result), name)
    return faults.call_failed(function, result_text(result), name)


class Maker:
    """The calls that make and destroy, on one device."""

    def __init__(self, vk: Table, name: str, device: Any) -> None:
        self.vk = vk
        self.name = name
        self.device = device
        #: Why the device takes no more work; empty while it does.
        self.lost = ""
        #: Whether what was submitted may still run although the device is lost.
        self.runs_on = False
        #: How many objects were destroyed: the handle of one may be another's from then on.
        self.destroyed = 0

    def make(self, function: str, kind: str, struct: str, values: Mapping[str, Any]) -> Any:
        """Return the object that a ``vkCreate…`` or ``vkAllocate…`` function makes."""
        vk, new = self.vk, self.vk.ffi.new
        out = new(f"{kind} *")
        create = new(f"{struct} *", dict(values))
        takes_allocator = function not in ("vkAllocateCommandBuffers", "vkAllocateDescriptorSets")
        extra = (vk.ffi.NULL,) if takes_allocator else ()
        self.check(function, vk.functions[function](self.device, create, *extra, out))
        return out[0]

    def destroy(self, function: str, handle: int) -> None:
        """Destroy an object, unless there is none."""
        if handle:
            self.destroyed += 1
            self.vk.functions[function](self.device, handle, self.vk.ffi.NULL)

    def check(self, function: str, result: int) -> None:
        """Raise where a function did not succeed.

        Raises:
            DeviceLostError: Where it said that the device is lost, which it stays.
            OutOfMemoryError: Where it had no memory.
            DeviceError: Where it failed otherwise.
        """
        if result == self.vk.VK_ERROR_DEVICE_LOST:
            self.lost = f"`{function}` said that the device is lost"
        if result:
            raise failure(self.vk, function, result, self.name)

    def pipeline(self, code: bytes, entry: str, bindings: int, push: int, cache: int = 0) -> Pipeline:
        """Return the pipeline of SPIR-V that binds storage buffers 0 to `bindings` - 1."""
        set_layout = layout = 0
        try:
            set_layout = self._set_layout(bindings)
            layout = self._layout(set_layout, push)
            return Pipeline(set_layout, layout, self._compute(code, entry, layout, cache))
        except BaseException:
            self.destroy("vkDestroyPipelineLayout", layout)
            self.destroy("vkDestroyDescriptorSetLayout", set_layout)
            raise

    def destroy_pipeline(self, made: Pipeline) -> None:
        """Destroy a pipeline and its layouts."""
        self.destroy("vkDestroyPipeline", made.pipeline)
        self.destroy("vkDestroyPipelineLayout", made.layout)
        self.destroy("vkDestroyDescriptorSetLayout", made.set_layout)

    def _set_layout(self, bindings: int) -> Any:
        vk = self.vk
        rows = vk.ffi.new("VkDescriptorSetLayoutBinding[]", max(1, bindings))
        for index in range(bindings):
            rows[index].binding = index
            rows[index].descriptorType = vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            rows[index].descriptorCount = 1
            rows[index].stageFlags = vk.VK_SHADER_STAGE_COMPUTE_BIT
        values = {
            "sType": vk.VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            "bindingCount": bindings,
            "pBindings": rows,
        }
        kind = "VkDescriptorSetLayout"
        return self.make("vkCreateDescriptorSetLayout", kind, f"{kind}CreateInfo", values)

    def _layout(self, set_layout: int, push: int) -> Any:
        vk = self.vk
        sets = vk.ffi.new("VkDescriptorSetLayout[]", [set_layout])
        ranges = vk.ffi.new(
            "VkPushConstantRange[]", [{"stageFlags": vk.VK_SHADER_STAGE_COMPUTE_BIT, "size": push}]
        )
        values = {
            "sType": vk.VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
            "setLayoutCount": 1,
            "pSetLayouts": sets,
            "pushConstantRangeCount": 1 if push else 0,
            "pPushConstantRanges": ranges,
        }
        return self.make("vkCreatePipelineLayout", "VkPipelineLayout", "VkPipelineLayoutCreateInfo", values)

    def _compute(self, code: bytes, entry: str, layout: int, cache: int) -> Any:
        vk, new = self.vk, self.vk.ffi.new
        words, name = new("uint32_t[]", len(code) // 4), new("char[]", entry.encode())
        vk.ffi.memmove(words, code, len(code))
        values = {
            "sType": vk.VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
            "codeSize": len(code),
            "pCode": words,
        }
        module = self.make("vkCreateShaderModule", "VkShaderModule", "VkShaderModuleCreateInfo", values)
        create = new("VkComputePipelineCreateInfo *")
        create.sType = vk.VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO
        create.layout = layout
        create.stage.sType = vk.VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO
        create.stage.stage = vk.VK_SHADER_STAGE_COMPUTE_BIT
        create.stage.module = module
        create.stage.pName = name
        out, null = new("VkPipeline *"), vk.ffi.NULL
        result = vk.vkCreateComputePipelines(self.device, cache, 1, create, null, out)
        self.destroy("vkDestroyShaderModule", module)
        self.check("vkCreateComputePipelines", result)
        return out[0]


def create_device(vk: Table, physical: Physical) -> Any:
    """Return a logical device with every core feature but robust buffer access, and one queue."""
    new = vk.ffi.new
    second = new("VkPhysicalDeviceVulkan12Features *")
    second.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES
    first = new("VkPhysicalDeviceVulkan11Features *")
    first.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES
    first.pNext = second
    features = new("VkPhysicalDeviceFeatures2 *")
    features.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
    features.pNext = first
    vk.vkGetPhysicalDeviceFeatures2(physical.handle, features)
    features.features.robustBufferAccess = 0  # robustBufferAccess costs time and hides faults
    priority = new("float *", 1.0)
    queue = new("VkDeviceQueueCreateInfo *")
    queue.sType = vk.VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO
    queue.queueFamilyIndex = physical.family
    queue.queueCount = 1
    queue.pQueuePriorities = priority
    create = new("VkDeviceCreateInfo *")
    create.sType = vk.VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO
    create.pNext = features
    create.queueCreateInfoCount = 1
    create.pQueueCreateInfos = queue
    device = new("VkDevice *")
    result = vk.vkCreateDevice(physical.handle, create, vk.ffi.NULL, device)
    if result:
        raise failure(vk, "vkCreateDevice", result, physical.info.name)
    return device[0]
