"""How do the operations of a sub-group look in PTX?

A sub-group is a warp: 32 work-items that follow one another in the group, dimension 0 fastest. Values of 64
bits travel as two words. Source: PTX ISA 9.0, sections 9.7.9.6 (shfl.sync), 9.7.13 (vote, redux).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atoll.ir import BOOL, I32, U32, U64, Scalar, nodes, ops
from atoll.ir.ops import Cast, Compare, SubGroup
from atoll.ir.subgroups import combine
from atoll_plugins.cuda.ptxtext import WARP, arch_level

if TYPE_CHECKING:
    from atoll_plugins.cuda.ptxfunction import Function

_ALL = "0xffffffff"
#: The first architecture with `redux.sync`, which takes integers of 32 bits.
REDUX_ARCH = 80
_REDUX = {
    SubGroup.ADD: "add", SubGroup.MIN: "min", SubGroup.MAX: "max",
    SubGroup.AND: "and", SubGroup.OR: "or", SubGroup.XOR: "xor",
}  # fmt: skip


def builtin(out: Function, op: ops.Id) -> str:
    """Return an id of the warp."""
    if op is ops.Id.SUBGROUP_SIZE:
        return str(WARP)
    if op is ops.Id.LANE_ID:
        return out.put("b32", "mov.u32", "%laneid")
    item = out.builtin(ops.Id.LOCAL_ID, 2)
    for axis in (1, 0):
        size, place = out.builtin(ops.Id.GROUP_SIZE, axis), out.builtin(ops.Id.LOCAL_ID, axis)
        item = out.put("b32", "mad.lo.s32", item, size, place)
    return out.put("b32", "shr.u32", item, str(WARP.bit_length() - 1))


def operation(out: Function, stmt: nodes.SubGroup) -> str:
    """Write an operation; return its result."""
    scalar = stmt.value.type
    value = out.held(scalar, out.expression(stmt.value))
    if stmt.lane is not None:
        return _shuffle(out, "idx", scalar, value, out.held(I32, out.expression(stmt.lane)))
    if stmt.op in ops.VOTES:
        return out.put("pred", f"vote.sync.{stmt.op}.pred", value, _ALL)
    if stmt.op in ops.SCANS:
        return _scan(out, stmt.op, scalar, value)
    if scalar.is_integer and scalar.bits == 32 and (arch_level(out.job.target.arch) or 0) >= REDUX_ARCH:
        sign = "b32" if stmt.op in (SubGroup.AND, SubGroup.OR, SubGroup.XOR) else f"{scalar.name[0]}32"
        sign = sign.replace("i", "s")
        return out.put("b32", f"redux.sync.{_REDUX[stmt.op]}.{sign}", value, _ALL)
    step = WARP // 2
    while step:
        value = _both(out, stmt.op, scalar, value, _shuffle(out, "bfly", scalar, value, str(step)))
        step //= 2
    return value


def _scan(out: Function, op: SubGroup, scalar: Scalar, value: str) -> str:
    lane = builtin(out, ops.Id.LANE_ID)
    step = 1
    while step < WARP:
        other = _shuffle(out, "up", scalar, value, str(step))
        inside = out.compare(Compare.GE, U32, lane, str(step))
        value = out.select(scalar, inside, _both(out, op, scalar, value, other), value)
        step *= 2
    if op is SubGroup.INCLUSIVE_ADD:
        return value
    before = _shuffle(out, "up", scalar, value, "1")
    return out.select(scalar, out.compare(Compare.NE, U32, lane, "0"), before, out.number(scalar, 0))


def _both(out: Function, op: SubGroup, scalar: Scalar, left: str, right: str) -> str:
    """Combine two values as KIR's own operation does."""
    return out.combined(combine(op, scalar), scalar, left, right)


def _shuffle(out: Function, mode: str, scalar: Scalar, value: str, lane: str) -> str:
    """Take a value from another lane; out of range never comes here, or is not used."""
    if scalar == BOOL:
        word = out.select(U32, value, "1", "0")
        return out.compare(Compare.NE, U32, _word(out, mode, word, lane), "0")
    if scalar.is_float:
        held = U32 if scalar.bits == 32 else U64
        bits = out.convert(Cast.BITS, scalar, held, value)
        return out.convert(Cast.BITS, held, scalar, _shuffle(out, mode, held, bits, lane))
    if scalar.bits == 32:
        return _word(out, mode, value, lane)
    low, high = out.out.register("b32"), out.out.register("b32")
    out.out.line(f"mov.b64 {{{low}, {high}}}, {value}")
    return out.put("b64", "mov.b64", f"{{{_word(out, mode, low, lane)}, {_word(out, mode, high, lane)}}}")


def _word(out: Function, mode: str, value: str, lane: str) -> str:
    clamp = "0" if mode == "up" else str(WARP - 1)
    return out.put("b32", f"shfl.sync.{mode}.b32", value, lane, clamp, _ALL)
