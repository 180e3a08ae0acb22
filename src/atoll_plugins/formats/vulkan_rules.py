"""What does Vulkan know about its versions? Each serves every earlier one, SPIR-V included."""

from __future__ import annotations

from atoll.accel.atleast import AtLeastRules

# The SPIR-V version that every device of a Vulkan version takes: Vulkan 1.3 specification, appendix A,
# "Versions and Formats".
SPIRV_OF_VULKAN = {"1.0": "1.0", "1.1": "1.3", "1.2": "1.5", "1.3": "1.6"}


class VulkanRules(AtLeastRules):
    """The rules of the backend `vulkan`."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(format="spirv", formats=SPIRV_OF_VULKAN)
