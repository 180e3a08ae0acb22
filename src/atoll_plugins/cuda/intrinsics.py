"""What is the standard set on NVIDIA's GPUs? PTX, which both stages take. Source: PTX ISA 9.0, section 9."""

# ruff: noqa: D102 - what each does stands in the interface
# mypy: disable-error-code="no-any-return"
from __future__ import annotations

from atoll.kernels.intrinsics.interface import implements
from atoll.kernels.intrinsics.standard import Target
from atoll.kernels.pointers import ptr
from atoll.kernels.scalars import f32, i32, u32, u64
from atoll.kernels.surface import asm, fma


@implements(Target, platform="cuda", arch="sm_35")
class Memory:
    """Cache operators of loads and stores (section 9.7.9.1)."""

    @staticmethod
    def ldcs(ptr: ptr[f32]) -> f32:
        return asm("ld.global.cs.f32 $0, [$1];", "=f,l", ptr)

    @staticmethod
    def ldcg(ptr: ptr[f32]) -> f32:
        return asm("ld.global.cg.f32 $0, [$1];", "=f,l", ptr)

    @staticmethod
    def stcs(ptr: ptr[f32], value: f32) -> None:
        asm("st.global.cs.f32 [$0], $1;", "l,f,~{memory}", ptr, value)

    @staticmethod
    def stcg(ptr: ptr[f32], value: f32) -> None:
        asm("st.global.cg.f32 [$0], $1;", "l,f,~{memory}", ptr, value)

    @staticmethod
    def prefetch(ptr: ptr[f32]) -> None:
        asm("prefetch.global.L2 [$0];", "l,~{memory}", ptr)


@implements(Target, platform="cuda")
class Arithmetic:
    """Bits and approximations (sections 9.7.1, 9.7.3)."""

    @staticmethod
    def popcount(x: u32) -> u32:
        return asm("popc.b32 $0, $1;", "=r,r", x)

    @staticmethod
    def clz(x: u32) -> u32:
        return asm("clz.b32 $0, $1;", "=r,r", x)

    @staticmethod
    def brev(x: u32) -> u32:
        return asm("brev.b32 $0, $1;", "=r,r", x)

    @staticmethod
    def fast_rsqrt(x: f32) -> f32:
        return asm("rsqrt.approx.f32 $0, $1;", "=f,f", x)

    @staticmethod
    def fast_exp2(x: f32) -> f32:
        return asm("ex2.approx.f32 $0, $1;", "=f,f", x)

    @staticmethod
    def fast_sin(x: f32) -> f32:
        return asm("sin.approx.f32 $0, $1;", "=f,f", x)

    @staticmethod
    def fast_cos(x: f32) -> f32:
        return asm("cos.approx.f32 $0, $1;", "=f,f", x)

    @staticmethod
    def muladd(a: f32, b: f32, c: f32) -> f32:
        return fma(a, b, c)

    @staticmethod
    def clock() -> u64:
        return asm("mov.u64 $0, %clock64;", "=l")


@implements(Target, platform="cuda", arch="sm_61")
class Dot:
    """Dot products of bytes (section 9.7.1.23)."""

    @staticmethod
    def dot4(a: u32, b: u32, c: i32) -> i32:
        return asm("dp4a.s32.s32 $0, $1, $2, $3;", "=r,r,r,r", a, b, c)


@implements(Target, platform="cuda", arch="sm_80")
class Copies:
    """Asynchronous copies (section 9.7.9.25)."""

    @staticmethod
    def copy_async(to: ptr[f32], source: ptr[f32]) -> None:
        asm("cp.async.ca.shared.global [$0], [$1], 4;", "r,l,~{memory}", to, source)

    @staticmethod
    def copy_wait() -> None:
        asm("cp.async.wait_all;", "~{memory}")
