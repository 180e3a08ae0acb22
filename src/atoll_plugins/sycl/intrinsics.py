"""What is the standard set in SYCL? Functions of namespace `sycl`. Source: SYCL 2020, section 4.17."""

# ruff: noqa: D102 - what each does stands in the interface
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from atoll.kernels.intrinsics.interface import absent, implements
from atoll.kernels.intrinsics.standard import Target
from atoll.kernels.scalars import f32, u32
from atoll.kernels.surface import fma, snippet


@implements(Target, platform="sycl")
class BuiltIns:
    """Functions that every SYCL 2020 has."""

    @staticmethod
    def popcount(x: u32) -> u32:
        return snippet("$0 = sycl::popcount($1);", "=u32,u32", x)

    @staticmethod
    def clz(x: u32) -> u32:
        return snippet("$0 = sycl::clz($1);", "=u32,u32", x)

    @staticmethod
    def fast_rsqrt(x: f32) -> f32:
        return snippet("$0 = sycl::native::rsqrt($1);", "=f32,f32", x)

    @staticmethod
    def fast_exp2(x: f32) -> f32:
        return snippet("$0 = sycl::native::exp2($1);", "=f32,f32", x)

    @staticmethod
    def fast_sin(x: f32) -> f32:
        return snippet("$0 = sycl::native::sin($1);", "=f32,f32", x)

    @staticmethod
    def fast_cos(x: f32) -> f32:
        return snippet("$0 = sycl::native::cos($1);", "=f32,f32", x)

    @staticmethod
    def muladd(a: f32, b: f32, c: f32) -> f32:
        return fma(a, b, c)


absent(Target, "sycl", clock="SYCL 2020 has no clock in device code")
