"""How do the operations of a sub-group look in LLVM IR for AMD's GPUs?

A sub-group is a wavefront: 32 or 64 work-items, by the architecture, that follow one another in the group.
Every operation is made of one exchange of words (`llvm.amdgcn.ds.bpermute`); its steps are written out up to
64 lanes, and one beyond the size changes nothing.
"""

from __future__ import annotations

from atoll.ir import BOOL, I32, U32, U64, Scalar, nodes, ops
from atoll.ir.ops import Cast, Compare, SubGroup
from atoll.ir.subgroups import combine
from atoll_plugins.formats.core import Core
from atoll_plugins.llvm.function import LlvmFunction

MOST_LANES = 64


def builtin(out: LlvmFunction, op: ops.Id) -> str:
    """Return an id of the wavefront."""
    if op is ops.Id.LANE_ID:
        return _lane(out)
    size = _size(out)
    if op is ops.Id.SUBGROUP_SIZE:
        return size
    item = out.builtin(ops.Id.LOCAL_ID, 2)
    for axis in (1, 0):
        rows = out.core(Core.MUL, I32, item, out.builtin(ops.Id.GROUP_SIZE, axis))
        item = out.core(Core.ADD, I32, rows, out.builtin(ops.Id.LOCAL_ID, axis))
    return out.core(Core.DIV, U32, item, size)


def _size(out: LlvmFunction) -> str:
    return out.call("i32", "llvm.amdgcn.wavefrontsize", [])


def _lane(out: LlvmFunction) -> str:
    low = out.call("i32", "llvm.amdgcn.mbcnt.lo", [("i32", "-1"), ("i32", "0")])
    return out.call("i32", "llvm.amdgcn.mbcnt.hi", [("i32", "-1"), ("i32", low)])


def operation(out: LlvmFunction, stmt: nodes.SubGroup) -> str:
    """Write an operation; return its result."""
    scalar, value = stmt.value.type, out.expression(stmt.value)
    if stmt.lane is not None:
        return _exchange(out, scalar, value, out.expression(stmt.lane))
    lane, size, scan = _lane(out), _size(out), stmt.op in ops.SCANS
    step = 1
    while step < MOST_LANES:
        if scan:
            there = out.core(Core.SUB, I32, lane, str(step))
            used = out.compare(Compare.GE, I32, there, "0")
            there = out.select(I32, used, there, lane)
        else:
            there = out.core(Core.XOR, I32, lane, str(step))
            used = out.compare(Compare.GT, I32, size, str(step))
        other = _exchange(out, scalar, value, out.select(I32, used, there, lane))
        both = out.combined(combine(stmt.op, scalar), scalar, value, other)
        value = out.select(scalar, used, both, value)
        step *= 2
    if stmt.op is not SubGroup.EXCLUSIVE_ADD:
        return value
    first = out.compare(Compare.EQ, I32, lane, "0")
    before = out.select(I32, first, lane, out.core(Core.SUB, I32, lane, "1"))
    return out.select(scalar, first, out.number(scalar, 0), _exchange(out, scalar, value, before))


def _exchange(out: LlvmFunction, scalar: Scalar, value: str, lane: str) -> str:
    """Take a value from another lane."""
    if scalar == BOOL:
        word = out.select(U32, value, "1", "0")
        return out.compare(Compare.NE, U32, _word(out, word, lane), "0")
    if scalar.is_float:
        held = U32 if scalar.bits == 32 else U64
        bits = out.convert(Cast.BITS, scalar, held, value)
        return out.convert(Cast.BITS, held, scalar, _exchange(out, held, bits, lane))
    if scalar.bits == 32:
        return _word(out, value, lane)
    low, high = (out.put(f"trunc i64 {part} to i32") for part in (value, out.put(f"lshr i64 {value}, 32")))
    words = [out.put(f"zext i32 {_word(out, part, lane)} to i64") for part in (low, high)]
    return out.put(f"or i64 {words[0]}, {out.put(f'shl i64 {words[1]}, 32')}")


def _word(out: LlvmFunction, value: str, lane: str) -> str:
    place = out.put(f"shl i32 {lane}, 2")
    return out.call("i32", "llvm.amdgcn.ds.bpermute", [("i32", place), ("i32", value)])
