"""Which SPIR-V capabilities does a device have, as far as features that are asked for say it?

A device is opened with every core feature (:func:`atoll_plugins.vulkan.make.create_device`), so what it has
is what it can run. Only what emitters write is decided; of the rest nothing is concluded (``…``).
"""

from __future__ import annotations

from typing import Any

from atoll.runtime.native import Table

# A capability's feature, by the struct it stands in: core, 1.1, 1.2.
_CORE = {"Float64": "shaderFloat64", "Int64": "shaderInt64", "Int16": "shaderInt16"}
_FIRST = {"StorageBuffer16BitAccess": "storageBuffer16BitAccess"}
_SECOND = {
    "StorageBuffer8BitAccess": "storageBuffer8BitAccess",
    "Int64Atomics": "shaderBufferInt64Atomics",
    "Float16": "shaderFloat16",
    "Int8": "shaderInt8",
}
# VkSubgroupFeatureFlagBits.
_SUBGROUPS = {
    "GroupNonUniform": 1,
    "GroupNonUniformVote": 2,
    "GroupNonUniformArithmetic": 4,
    "GroupNonUniformShuffle": 16,
}


def capabilities(vk: Table, handle: Any) -> str:
    """Return the capabilities as words of one fact: those it has, ``!NAME`` for those it lacks, and ``…``."""
    has = {"Shader": True, **_features(vk, handle), **_properties(vk, handle)}
    return " ".join([*(name if present else f"!{name}" for name, present in has.items()), "…"])


def _features(vk: Table, handle: Any) -> dict[str, bool]:
    new = vk.ffi.new
    second = new("VkPhysicalDeviceVulkan12Features *")
    second.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES
    first = new("VkPhysicalDeviceVulkan11Features *")
    first.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES
    first.pNext = second
    features = new("VkPhysicalDeviceFeatures2 *")
    features.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2
    features.pNext = first
    vk.vkGetPhysicalDeviceFeatures2(handle, features)
    rows = ((_CORE, features.features), (_FIRST, first), (_SECOND, second))
    return {name: bool(getattr(struct, field)) for table, struct in rows for name, field in table.items()}


def _properties(vk: Table, handle: Any) -> dict[str, bool]:
    groups = vk.ffi.new("VkPhysicalDeviceSubgroupProperties *")
    groups.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES
    controls = vk.ffi.new("VkPhysicalDeviceFloatControlsProperties *")
    controls.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES
    controls.pNext = groups
    more = vk.ffi.new("VkPhysicalDeviceProperties2 *")
    more.sType = vk.VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2
    more.pNext = controls
    vk.vkGetPhysicalDeviceProperties2(handle, more)
    at_once = groups.supportedOperations if groups.supportedStages & vk.VK_SHADER_STAGE_COMPUTE_BIT else 0
    has = {name: bool(at_once & bit) for name, bit in _SUBGROUPS.items()}
    return {**has, "SignedZeroInfNanPreserve": bool(controls.shaderSignedZeroInfNanPreserveFloat32)}
