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


@implements(Target, platform="cuda", arch="sm_80")
class Matrices:
    """Matrix multiply-accumulate, m16n8k8 with tf32 (section 9.7.14.5); sums stay in registers."""

    @staticmethod
    def mma(
        out: ptr[f32],
        a: ptr[f32],
        b: ptr[f32],
        out_step: i32,
        a_step: i32,
        b_step: i32,
        steps: i32,
        lane: i32,
    ) -> None:
        asm(
            """.reg .f32 mc<4>, mf<6>;
.reg .b32 mt<6>, mr<12>;
.reg .pred mp;
shr.u32 mr0, $7, 2;
and.b32 mr1, $7, 3;
mad.lo.s32 mr2, mr0, $3, mr1;
add.s32 mr2, mr2, mr1;
mad.lo.s32 mr2, mr2, 4, $0;
mad.lo.s32 mr3, $3, 32, mr2;
ld.shared.f32 mc0, [mr2];
ld.shared.f32 mc1, [mr2+4];
ld.shared.f32 mc2, [mr3];
ld.shared.f32 mc3, [mr3+4];
mad.lo.s32 mr4, mr1, $4, mr0;
mad.lo.s32 mr4, mr4, 4, $1;
shl.b32 mr5, $4, 4;
mad.lo.s32 mr6, mr1, $5, mr0;
mad.lo.s32 mr6, mr6, 4, $2;
shl.b32 mr7, $5, 4;
mov.b32 mr8, $6;
mma_next:
setp.le.s32 mp, mr8, 0;
@mp bra mma_done;
add.s32 mr9, mr4, mr5;
add.s32 mr10, mr6, mr7;
ld.shared.f32 mf0, [mr4];
ld.shared.f32 mf1, [mr4+32];
ld.shared.f32 mf2, [mr9];
ld.shared.f32 mf3, [mr9+32];
ld.shared.f32 mf4, [mr6];
ld.shared.f32 mf5, [mr10];
cvt.rna.tf32.f32 mt0, mf0;
cvt.rna.tf32.f32 mt1, mf1;
cvt.rna.tf32.f32 mt2, mf2;
cvt.rna.tf32.f32 mt3, mf3;
cvt.rna.tf32.f32 mt4, mf4;
cvt.rna.tf32.f32 mt5, mf5;
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {mc0, mc1, mc2, mc3}, {mt0, mt1, mt2, mt3}, {mt4, mt5},
  {mc0, mc1, mc2, mc3};
add.s32 mr4, mr9, mr5;
add.s32 mr6, mr10, mr7;
sub.s32 mr8, mr8, 1;
bra mma_next;
mma_done:
st.shared.f32 [mr2], mc0;
st.shared.f32 [mr2+4], mc1;
st.shared.f32 [mr3], mc2;
st.shared.f32 [mr3+4], mc3;""",
            "r,r,r,r,r,r,r,r,~{memory}",
            out,
            a,
            b,
            out_step,
            a_step,
            b_step,
            steps,
            lane,
        )
