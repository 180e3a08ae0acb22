"""What is the standard set on AMD's GPUs? AMDGCN in HIP C++. Source: "RDNA3 ISA", "CDNA3 ISA"."""

# ruff: noqa: D102 - what each does stands in the interface
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from atoll.kernels.intrinsics.interface import implements
from atoll.kernels.intrinsics.standard import Target
from atoll.kernels.scalars import f32, u32, u64
from atoll.kernels.surface import asm, fma


@implements(Target, platform="hip")
class Arithmetic:
    """Vector instructions that every architecture since GFX9 has."""

    @staticmethod
    def popcount(x: u32) -> u32:
        return asm("v_bcnt_u32_b32 $0, $1, 0", "=v,v", x)

    @staticmethod
    def brev(x: u32) -> u32:
        return asm("v_bfrev_b32 $0, $1", "=v,v", x)

    @staticmethod
    def fast_rsqrt(x: f32) -> f32:
        return asm("v_rsq_f32 $0, $1", "=v,v", x)

    @staticmethod
    def fast_exp2(x: f32) -> f32:
        return asm("v_exp_f32 $0, $1", "=v,v", x)

    @staticmethod
    def muladd(a: f32, b: f32, c: f32) -> f32:
        return fma(a, b, c)

    @staticmethod
    def clock() -> u64:
        return asm("s_memtime $0\ns_waitcnt lgkmcnt(0)", "=s")
