"""Does a device keep KIR's memory model? Small programs whose forbidden outcomes a wrong order would show.

Words: a *test* has two threads of few accesses and an outcome that the model forbids; an *instance* is
one run of it in cells of its own. A launch runs many: each work-item plays the first thread of one
instance and the second thread of another, far away or in its group, so that both are under way at once
(the scheme of "MC Mutants", Levine et al., ASPLOS 2023).

:func:`outcomes` says what the model allows, by walking every order in which the accesses may take effect;
:func:`observed` says what a device did. Message passing, store buffering (both zero is allowed: there is
no order over all) and coherence of two reads are the shapes of Alglave, Maranget and Tautschnig's
"Herding cats" (2014).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from atoll.ir import Module
from atoll.ir.ops import Order, Scope
from atoll.ir.parse import parse
from atoll.ir.verify import verify

if TYPE_CHECKING:
    from atoll.plugin import Emitter
    from atoll.runtime import Device

#: Work-items of a group.
GROUP = 64
#: Elements between the cells of one place in shared memory, and between instances in global memory.
_PLACES = 2


@dataclass(frozen=True, slots=True)
class Access:
    """One step of a thread.

    Attributes:
        kind: ``write`` (of 1), ``read`` or ``fence``.
        place: Which of the instance's cells.
        order: Of an atomic access; None for a plain one.
        register: Where a read goes.
        after: The register without whose 1 the access does not happen; its own register then has 1.
    """

    kind: str
    place: int = 0
    order: Order | None = None
    register: int = 0
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Litmus:
    """A test: its threads, and the outcome (a value for each register) that must not be."""

    name: str
    threads: tuple[tuple[Access, ...], tuple[Access, ...]]
    forbidden: tuple[int, ...] | None

    @property
    def registers(self) -> int:
        """How many registers it has."""
        return 1 + max(access.register for thread in self.threads for access in thread)


_RELAXED, _ACQUIRE, _RELEASE, _BOTH = Order.RELAXED, Order.ACQUIRE, Order.RELEASE, Order.ACQ_REL
_FENCE = Access("fence")


def _passing(name: str, write: Order, read: Order, fence: tuple[Access, ...] = ()) -> Litmus:
    """Return message passing: who sees the flag sees the data."""
    sender = (Access("write", 0), *fence, Access("write", 1, write))
    receiver = (Access("read", 1, read, 0), *fence, Access("read", 0, None, 1, after=0))
    return Litmus(name, (sender, receiver), (1, 0))


def _buffering(name: str, order: Order) -> Litmus:
    """Return store buffering: each writes one place and reads the other."""
    one = (Access("write", 0, order), Access("read", 1, order, 0))
    other = (Access("write", 1, order), Access("read", 0, order, 1))
    return Litmus(name, (one, other), None)


#: Two reads of one place: the second is not older than the first.
_COHERENCE = Litmus(
    "coherence",
    ((Access("write", 0, _RELAXED),), (Access("read", 0, _RELAXED, 0), Access("read", 0, _RELAXED, 1))),
    (1, 0),
)
TESTS = (
    _passing("passing", _RELEASE, _ACQUIRE),
    _passing("passing_both", _BOTH, _BOTH),
    _passing("passing_fence", _RELAXED, _RELAXED, (_FENCE,)),
    _buffering("buffering", _RELAXED),
    _buffering("buffering_both", _BOTH),
    _COHERENCE,
)
#: As `passing` without an order: the outcome that it forbids is allowed here, and weak devices show it.
WEAK = Litmus("passing_relaxed", _passing("", _RELAXED, _RELAXED).threads, None)


# --- what the model allows ------------------------------------------------------------------------

Mapping = Callable[[Order], Order]


def outcomes(test: Litmus, mapped: Mapping = lambda order: order) -> frozenset[tuple[int, ...]]:
    """Return every outcome that the model allows, with each order as `mapped` makes it."""
    found: set[tuple[int, ...]] = set()
    threads = tuple(tuple(range(len(thread))) for thread in test.threads)
    before = partial(_before, test, mapped)
    _walk(test, before, threads, (0,) * _PLACES, (0,) * test.registers, found)
    return frozenset(_settled(test, values) for values in found)


Before = Callable[[int, int, int], bool]


def _walk(
    test: Litmus,
    before: Before,
    left: tuple[tuple[int, ...], ...],
    memory: tuple[int, ...],
    values: tuple[int, ...],
    found: set[tuple[int, ...]],
) -> None:
    """Let each access that nothing left has to come before take effect next."""
    if not any(left):
        found.add(values)
    for number, thread in enumerate(left):
        for index in thread:
            if any(before(number, one, index) for one in thread if one < index):
                continue
            access, seen, after = test.threads[number][index], list(values), list(memory)
            if access.kind == "read":
                seen[access.register] = memory[access.place]
            elif access.kind == "write":
                after[access.place] = 1
            rest = tuple(item for item in thread if item != index)
            remaining = (*left[:number], rest, *left[number + 1 :])
            _walk(test, before, remaining, tuple(after), tuple(seen), found)


def _before(test: Litmus, mapped: Mapping, thread: int, one: int, other: int) -> bool:
    """Tell whether an access takes effect before a later one of its thread."""
    steps = test.threads[thread]
    first, second = steps[one], steps[other]
    if "fence" in (first.kind, second.kind):
        return False
    orders = [item.order and mapped(item.order) for item in (first, second)]
    # A write acquires nothing and a read releases nothing, although a device does both in one operation.
    fenced = any(item.kind == "fence" for item in steps[one:other])
    return (
        first.place == second.place
        or (first.kind == "read" and orders[0] in (_ACQUIRE, _BOTH))
        or (second.kind == "write" and orders[1] in (_RELEASE, _BOTH))
        # A fence orders all but a write with a later read.
        or (fenced and not (first.kind == "write" and second.kind == "read"))
    )


def _settled(test: Litmus, values: tuple[int, ...]) -> tuple[int, ...]:
    """Return an outcome with the registers of what did not happen set to 1."""
    settled = list(values)
    for access in (access for thread in test.threads for access in thread if access.after is not None):
        if access.after is not None and not values[access.after]:
            settled[access.register] = 1
    return tuple(settled)


# --- what a device does -----------------------------------------------------------------------------


def module(test: Litmus, scope: Scope, *, shared: bool = False) -> Module:
    """Return the kernel of a test: cells in global memory, or in shared memory of the group."""
    taken = "cells: view<i32, 1>, out: view<i32, 1>, factor: u32, shift: u32, step: i64, gap: i64"
    lines = [f"kernel {test.name}({taken}) group({GROUP}, 1, 1) {{"]
    lines += [f"  shared local: i32[{GROUP * _PLACES}]"] if shared else []
    lines += ["  local mine: i64", "  local other: i64", "  local old: i32"]
    lines += [f"  local r{number}: i32" for number in range(test.registers)]
    lines += _setting(scope, shared=shared)
    for number, thread in enumerate(test.threads):
        where = ("%mine", "%other")[number]
        lines += [line for access in thread for line in _step(access, where, scope, shared=shared)]
    lines += _answers(test)
    return verify(parse("kir 1\n\n" + "\n".join([*lines, "}", ""])))


def _setting(scope: Scope, *, shared: bool) -> Iterator[str]:
    """Give the instances of a work-item: its own, and one of its group or of the whole grid."""
    if shared:
        for place in range(_PLACES):
            yield f"  local[add_wrap(local_id.0, i32:{GROUP * place})] = i32:0"
        yield "  barrier work_group"
    if scope is Scope.DEVICE:
        count = f"zext.i64(sign.u32(mul_wrap(num_groups.0, i32:{GROUP})))"
        yield "  %mine = sext.i64(global_id.0)"
        yield f"  %other = rem_floor({_partner('%mine')}, {count})"
        return
    base = f"mul_wrap(sext.i64(group_id.0), i64:{GROUP})"
    mine = f"rem_floor({_partner('sext.i64(local_id.0)')}, i64:{GROUP})"
    yield "  %mine = sext.i64(global_id.0)"
    yield f"  %other = add_wrap({base}, {mine})"


def _partner(number: str) -> str:
    return f"add_wrap(mul_wrap({number}, zext.i64($factor)), zext.i64($shift))"


def _step(access: Access, where: str, scope: Scope, *, shared: bool) -> Iterator[str]:
    if access.kind == "fence":
        yield f"  fence {scope}"
        return
    cell = f"cells[add_wrap(mul_wrap({where}, $step), mul_wrap(i64:{access.place}, $gap))]"
    if shared:
        inside = f"trunc.i32(rem_floor({where}, i64:{GROUP}))"
        cell = f"local[add_wrap({inside}, i32:{GROUP * access.place})]"
    register = f"%r{access.register}"
    if access.kind == "write":
        done = f"{cell} = i32:1"
        if access.order is not None:
            done = f"atomic exchange {access.order} {scope} {cell}, i32:1 -> %old"
    elif access.order is None:
        done = f"{register} = {cell}"
    else:
        done = f"atomic add {access.order} {scope} {cell}, i32:0 -> {register}"
    if access.after is None:
        yield f"  {done}"
        return
    yield f"  {register} = i32:1"
    yield f"  if eq(%r{access.after}, i32:1) {{"
    yield f"    {done}"
    yield "  }"


def _answers(test: Litmus) -> Iterator[str]:
    writer = {access.register: number for number, thread in enumerate(test.threads) for access in thread
              if access.kind == "read"}  # fmt: skip
    for register in range(test.registers):
        where = ("%mine", "%other")[writer[register]]
        place = f"add_wrap(mul_wrap({where}, i64:{test.registers}), i64:{register})"
        yield f"  out[{place}] = %r{register}"


def observed(
    emitter: Emitter,
    device: Device,
    test: Litmus,
    scope: Scope,
    *,
    shared: bool = False,
    groups: int = 64,
    launches: int = 10,
) -> Counter[tuple[int, ...]]:
    """Run a test and count the outcomes.

    Args:
        emitter: What compiles it.
        device: What runs it.
        test: The test.
        scope: Where the two threads of an instance are: in a group, or anywhere.
        shared: Whether the cells lie in shared memory; then `scope` is the group's.
        groups: Groups of 64 instances in a launch, a power of two.
        launches: How often; each with other partners and another layout of the cells.
    """
    import numpy as np

    code = emitter.emit(module(test, scope, shared=shared), test.name, device.target(), (GROUP, 1, 1))
    count, found = groups * GROUP, Counter[tuple[int, ...]]()
    for launch in range(1, launches + 1):
        step, gap = ((1, count), (_PLACES, 1), (32, 16), (16, 16 * count + 8))[launch % 4]
        cells = np.zeros(count * step + gap + 1, np.int32)
        out = np.full(count * test.registers, -1, np.int32)
        factor, shift = _partners(launch, count if scope is Scope.DEVICE else GROUP)
        values = {"cells": cells, "out": out, "factor": factor, "shift": shift, "step": step, "gap": gap}
        device.run(code, (groups,), (GROUP,), values)
        weights = 1 << np.arange(test.registers)
        seen = np.bincount(out.reshape(count, test.registers) @ weights, minlength=1 << test.registers)
        for key, times in enumerate(seen):
            if times:
                found[tuple(key >> register & 1 for register in range(test.registers))] += int(times)
    return found


def _partners(launch: int, count: int) -> tuple[int, int]:
    """Return how a launch finds partners: across one half of all and near it, or spread by an odd factor."""
    if launch % 2:
        # Devices that split the groups among a few threads run both halves at once.
        return 1, (count // 2 + (launch // 2 - 4) * 3) % count
    return 2 * launch + 1, launch


#: Where the two threads of an instance are, and its cells: far apart, in one group, in shared memory of it.
PLACES = {
    "device": (Scope.DEVICE, False),
    "work_group": (Scope.WORK_GROUP, False),
    "shared": (Scope.WORK_GROUP, True),
}


def violations(
    emitter: Emitter,
    device: Device,
    *,
    groups: int = 64,
    launches: int = 10,
    tests: tuple[Litmus, ...] = TESTS,
) -> dict[str, tuple[Counter[tuple[int, ...]], int]]:
    """Run every test in every place.

    Returns:
        By test and place the outcomes that were seen, and how many of them the model forbids.
    """
    said = {}
    for test in tests:
        for place, (scope, shared) in PLACES.items():
            seen = observed(emitter, device, test, scope, shared=shared, groups=groups, launches=launches)
            said[f"{test.name} {place}"] = seen, seen[test.forbidden] if test.forbidden else 0
    return said
