"""What Vulkan's results are called (``VkResult`` in the Khronos headers); launcher.c has the same table."""

from __future__ import annotations

NAMES = {
    2: "VK_TIMEOUT",
    -1: "VK_ERROR_OUT_OF_HOST_MEMORY",
    -2: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
    -3: "VK_ERROR_INITIALIZATION_FAILED",
    -4: "VK_ERROR_DEVICE_LOST",
    -5: "VK_ERROR_MEMORY_MAP_FAILED",
    -6: "VK_ERROR_LAYER_NOT_PRESENT",
    -7: "VK_ERROR_EXTENSION_NOT_PRESENT",
    -8: "VK_ERROR_FEATURE_NOT_PRESENT",
    -9: "VK_ERROR_INCOMPATIBLE_DRIVER: the loader finds no driver",
    -10: "VK_ERROR_TOO_MANY_OBJECTS",
}


def result_text(result: int) -> str:
    """Return a result as a number and its name."""
    return f"{result} ({NAMES.get(result, 'another result')})"
