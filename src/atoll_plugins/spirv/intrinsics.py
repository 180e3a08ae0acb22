"""What is the standard set in SPIR-V for Vulkan? Source: SPIR-V 1.6, section 3.49."""

# ruff: noqa: D102 - what each does stands in the interface
from __future__ import annotations

from atoll.kernels.intrinsics.interface import absent, implements
from atoll.kernels.intrinsics.standard import Target
from atoll.kernels.scalars import f32, u32
from atoll.kernels.surface import operations


@implements(Target, platform="vulkan")
class Instructions:
    """Instructions that every Vulkan device has."""

    @staticmethod
    def popcount(x: u32) -> u32:
        return operations("$0 = OpBitCount $1", "=u32,u32", x)

    @staticmethod
    def brev(x: u32) -> u32:
        return operations("$0 = OpBitReverse $1", "=u32,u32", x)

    @staticmethod
    def muladd(a: f32, b: f32, c: f32) -> f32:
        return operations("$0 = OpExtInst glsl 50 $1 $2 $3", "=f32,f32,f32,f32", a, b, c)


absent(
    Target,
    "vulkan",
    clock="core Vulkan has no clock; VK_KHR_shader_clock is an extension that is not asked for",
)
