"""What is the standard set in OpenCL C? Built-in functions. Source: "The OpenCL C Specification", 6.15."""

# ruff: noqa: D102 - what each does stands in the interface
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from atoll.kernels.intrinsics.interface import absent, implements
from atoll.kernels.intrinsics.standard import Target
from atoll.kernels.scalars import f32, u32
from atoll.kernels.surface import fma, snippet


@implements(Target, platform="opencl")
class BuiltIns:
    """Functions that every OpenCL C 1.2 has."""

    @staticmethod
    def popcount(x: u32) -> u32:
        return snippet("$0 = popcount((uint)$1);", "=u32,u32", x)

    @staticmethod
    def clz(x: u32) -> u32:
        return snippet("$0 = clz((uint)$1);", "=u32,u32", x)

    @staticmethod
    def fast_rsqrt(x: f32) -> f32:
        return snippet("$0 = native_rsqrt($1);", "=f32,f32", x)

    @staticmethod
    def fast_exp2(x: f32) -> f32:
        return snippet("$0 = native_exp2($1);", "=f32,f32", x)

    @staticmethod
    def fast_sin(x: f32) -> f32:
        return snippet("$0 = native_sin($1);", "=f32,f32", x)

    @staticmethod
    def fast_cos(x: f32) -> f32:
        return snippet("$0 = native_cos($1);", "=f32,f32", x)

    @staticmethod
    def muladd(a: f32, b: f32, c: f32) -> f32:
        return fma(a, b, c)


absent(
    Target,
    "opencl",
    clock="OpenCL C 1.2 has no clock; cl_khr_kernel_clock is an extension that few devices have",
)
