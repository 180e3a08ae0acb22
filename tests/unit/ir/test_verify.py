"""Each rule of the verifier, broken once."""

from __future__ import annotations

from typing import Any

import pytest

from atoll.errors import CompileError
from atoll.ir import (
    BOOL,
    F32,
    F64,
    I32,
    I64,
    U8,
    U32,
    Kernel,
    LocalVariable,
    Module,
    Parameter,
    SharedArray,
    View,
    ops,
)  # fmt: skip
from atoll.ir import nodes as n
from atoll.ir.module import Extern
from atoll.ir.verify import MAX_DEPTH, verify

ZERO, ONE = n.const(I32, 0), n.const(I32, 1)
WIDE = n.const(I64, 0)
TRUE = n.const(BOOL, True)
X = n.Load("x", (WIDE,), F32)


def kernel(*body: n.Stmt, **changed: Any) -> Module:
    given: dict[str, Any] = {
        "name": "k",
        "params": (Parameter("a", F32), Parameter("x", View(F32)), Parameter("m", View(I32, 2))),
        "locals": (
            LocalVariable("i", I32),
            LocalVariable("b", BOOL),
            LocalVariable("f", F32),
            LocalVariable("u", U8),
        ),
        "externs": (Extern("near", (F32, I32), F32, "near.cu"),),
        "shared": (SharedArray("s", F32, 4), SharedArray("bytes", U8, 4)),
        "body": body,
    }
    return Module(kernels=(Kernel(**{**given, **changed}),))


def assign(value: n.Expr, local: str = "i") -> n.Assign:
    return n.Assign(local, value)


def test_what_is_right_is_let_through() -> None:
    module = kernel(
        assign(n.Builtin(ops.Id.LOCAL_ID, 0)),
        n.Loop(
            n.Compare(ops.Compare.LT, n.Local("i", I32), ONE),
            (n.If(TRUE, (n.Break(),), (n.Continue(),)),),
            (assign(ONE),),
        ),
        n.Store("s", (n.Local("i", I32),), n.Binary(ops.Binary.FADD, n.Param("a", F32), X)),
        n.Barrier(),
        n.Return(),
    )
    assert verify(module) is module


WRONG: dict[str, tuple[n.Stmt, ...]] = {
    "local `i` may be read before": (n.Store("x", (WIDE,), X), assign(n.Local("i", I32))),
    "local `q` is not declared": (assign(ZERO, "q"),),
    "no local `i` of type f32": (assign(ZERO), n.Assign("f", n.Local("i", F32))),
    "local `i` is i32, the value is f32": (assign(n.const(F32, 1)),),
    "no parameter `z`": (n.Assign("f", n.Param("z", F32)),),
    "`z` is no view": (n.Store("z", (WIDE,), X),),
    "`m` takes 2 indices, not 1": (n.Store("m", (WIDE,), ZERO),),
    "an index of `x` is i64, the value is i32": (n.Store("x", (ZERO,), X),),
    "an index of `s` is i32, the value is i64": (n.Store("s", (WIDE,), X),),
    "an element of `x` is f32, the value is i32": (n.Store("x", (WIDE,), ZERO),),
    "an element of `x` is no i32": (assign(n.Load("x", (WIDE,), I32)),),
    "`fadd` does not take i32": (assign(n.Binary(ops.Binary.FADD, ZERO, ONE)),),
    "`add_wrap` does not take f32": (n.Assign("f", n.Binary(ops.Binary.ADD_WRAP, X, X)),),
    "`add_wrap` does not take bool": (n.Assign("b", n.Binary(ops.Binary.ADD_WRAP, TRUE, TRUE)),),
    "two operands of one type, not i32 and i64": (assign(n.Binary(ops.Binary.ADD_WRAP, ZERO, WIDE)),),
    "`lt` does not take bool": (n.Assign("b", n.Compare(ops.Compare.LT, TRUE, TRUE)),),
    "`land` does not take i32": (n.Assign("b", n.Logical(ops.Logical.LAND, TRUE, ZERO)),),
    "`fneg` does not take i32": (assign(n.Unary(ops.Unary.FNEG, ZERO)),),
    "`neg_wrap` does not take bool": (n.Assign("b", n.Unary(ops.Unary.NEG_WRAP, TRUE)),),
    "`sext` does not convert i64 to i32": (assign(n.Cast(ops.Cast.SEXT, I32, WIDE)),),
    "`bits` does not convert f64 to i32": (assign(n.Cast(ops.Cast.BITS, I32, n.const(F64, 0))),),
    "neither may load": (n.Assign("f", n.Select(TRUE, X, n.const(F32, 0))),),
    "`select` does not take i32": (assign(n.Select(ZERO, ZERO, ONE)),),
    "`sqrt` does not take i32": (assign(n.MathCall(ops.Math.SQRT, (ZERO,))),),
    "`pow` takes 2 operands, not 1": (n.Assign("f", n.MathCall(ops.Math.POW, (X,))),),
    "no dimension 3": (assign(n.Builtin(ops.Id.LOCAL_ID, 3)),),
    "no size.1 of `x`": (assign(n.Cast(ops.Cast.TRUNC, I32, n.ViewInfo(ops.Extent.SIZE, "x", 1))),),
    "no size.0 of `s`": (assign(n.Cast(ops.Cast.TRUNC, I32, n.ViewInfo(ops.Extent.SIZE, "s", 0))),),
    "a condition is bool, the value is i32": (n.If(ZERO, ()),),
    "`break` stands outside": (n.Break(),),
    "`continue` stands outside": (n.If(TRUE, (n.Continue(),)),),
    "outside a loop's body": (n.Loop(TRUE, (), (n.Break(),)),),
    "`return` stands in a loop's step": (n.Loop(TRUE, (), (n.Return(),)),),
    "a barrier of this kind": (n.Loop(TRUE, (), (n.Barrier(),)),),
    "a loop stands in a loop's step": (n.Loop(TRUE, (), (n.Loop(TRUE, ()),)),),
    "never reached": (n.Return(), n.Return()),
    "a constant's bits are no i32": (assign(n.Const(I32, 1 << 32)),),
    "no atomic min on f32": (n.Atomic(ops.AtomicOp.MIN, "x", (WIDE,), X),),
    "narrower than 32 bits": (n.Atomic(ops.AtomicOp.ADD, "bytes", (ZERO,), n.const(U8, 1)),),
    "only compare_exchange has": (n.Atomic(ops.AtomicOp.ADD, "x", (WIDE,), X, expected=X),),
    "no sub-group operation add on u8": (n.SubGroup(ops.SubGroup.ADD, n.Load("bytes", (ZERO,), U8), "u"),),
    "no sub-group operation xor on f32": (n.SubGroup(ops.SubGroup.XOR, X, "f"),),
    "no sub-group operation any on i32": (n.SubGroup(ops.SubGroup.ANY, ZERO, "i"),),
    "no sub-group operation shuffle on bool": (n.SubGroup(ops.SubGroup.SHUFFLE, TRUE, "b", ZERO),),
    "only broadcast and shuffle name a lane": (n.SubGroup(ops.SubGroup.ADD, ZERO, "i", ZERO),),
    "a sub-group operation stands in": (n.Loop(TRUE, (), (n.SubGroup(ops.SubGroup.ADD, ZERO, "i"),)),),
    "local `f` is f32, the value is i32": (n.SubGroup(ops.SubGroup.ADD, ZERO, "f"),),
    "a lane is i32": (n.SubGroup(ops.SubGroup.SHUFFLE, ZERO, "i", X),),
    "no dimension 1 of lane_id": (assign(n.Builtin(ops.Id.LANE_ID, 1)),),
    "no call of `far` can stand here": (n.ExternCall("far", ()),),
    "no call of `near` can stand": (n.ExternCall("near", (ZERO,)),),
    "an argument of `near` is f32": (n.ExternCall("near", (ZERO, ZERO)),),
    "local `i` is no f32": (n.Atomic(ops.AtomicOp.ADD, "x", (WIDE,), X, result="i"),),
}


@pytest.mark.parametrize("message", WRONG)
def test_each_wrong_body_is_refused_with_its_sentence(message: str) -> None:
    with pytest.raises(CompileError) as caught:
        verify(kernel(*WRONG[message]))
    assert message in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].code == "ATL0702"


@pytest.mark.parametrize(
    ("message", "changed"),
    [
        ("`atoll_v1_x` is no KIR name", {"name": "atoll_v1_x"}),
        ("`a b` is no KIR name", {"params": (Parameter("a b", F32),)}),
        ("`a` is declared twice", {"params": (Parameter("a", F32), Parameter("a", F32))}),
        ("`x` cannot be", {"params": (Parameter("x", View(F32, 9)),)}),
        ("`x` cannot be", {"params": (Parameter("x", View(BOOL)),)}),
        ("`s` cannot be", {"shared": (SharedArray("s", F32, 0),)}),
        ("no work-group has", {"group": (-1, 1, 1)}),
        ("`f` cannot be linked from 'a\"b'", {"externs": (Extern("f", (), None, 'a"b'),)}),
        (
            "a function is declared twice",
            {"externs": (Extern("f", (), None, "a"), Extern("f", (), None, "b"))},
        ),
    ],
)
def test_each_wrong_declaration_is_refused(message: str, changed: dict[str, Any]) -> None:
    with pytest.raises(CompileError) as caught:
        verify(kernel(**changed))
    assert message in caught.value.diagnostics[0].message


def test_a_local_defined_in_one_branch_only_is_not_defined_after() -> None:
    one = n.If(n.Compare(ops.Compare.LT, n.Param("a", F32), X), (assign(ZERO),))
    with pytest.raises(CompileError, match="may be read before"):
        verify(kernel(one, assign(n.Local("i", I32))))
    both = n.If(TRUE, (assign(ZERO),), (assign(ONE),))
    verify(kernel(both, assign(n.Local("i", I32))))
    leaves = n.If(TRUE, (assign(ZERO),), (n.Return(),))
    verify(kernel(leaves, assign(n.Local("i", I32))))


def test_an_endless_loop_defines_what_all_its_breaks_agree_on() -> None:
    loop = n.Loop(TRUE, (assign(ZERO), n.If(TRUE, (n.Break(),)), n.Assign("f", X), n.Break()))
    verify(kernel(loop, assign(n.Local("i", I32))))
    with pytest.raises(CompileError, match="may be read before"):
        verify(kernel(loop, n.Assign("f", n.Local("f", F32))))


def test_expressions_and_blocks_have_a_greatest_depth() -> None:
    deep: n.Expr = ZERO
    for _ in range(MAX_DEPTH + 1):
        deep = n.Unary(ops.Unary.NEG_WRAP, deep)
    with pytest.raises(CompileError, match="nested too deep"):
        verify(kernel(assign(deep)))
    block: n.Block = ()
    for _ in range(MAX_DEPTH + 2):
        block = (n.If(TRUE, block),)
    with pytest.raises(CompileError, match="nested too deep"):
        verify(kernel(*block))


def test_many_faults_are_listed_together_but_not_without_end() -> None:
    with pytest.raises(CompileError) as caught:
        verify(kernel(*(assign(n.const(F32, k)) for k in range(50))))
    assert len(caught.value.diagnostics) == 20
    assert U32.bits == 32
