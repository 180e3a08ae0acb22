"""A work-item of the oracle: its ids, its group's memory, where it waits."""

from __future__ import annotations

import sys
import types
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atoll.ir import I32, Scalar, ops
from atoll.kernels.oracle.memory import Log, OracleArray, OracleShared, Site, Touch
from atoll.kernels.pointers import OraclePointer
from atoll.kernels.scalars import Fault, Typed, make

if TYPE_CHECKING:
    from atoll.kernels.definition import DeviceFunction
    from atoll.kernels.front.state import Instance
    from atoll.kernels.oracle.rewrite import Body

Triple = tuple[int, int, int]


@dataclass(slots=True)
class Group:
    """One work-group: its memory, and how many barriers it passed."""

    number: int
    ids: Triple
    size: Triple
    count: Triple
    subgroup: int = 1
    shared: dict[tuple[tuple[Site, ...], int], OracleShared] = field(default_factory=dict)
    epoch: int = 0


@dataclass(slots=True)
class Exchange:
    """What a work-item asks of its sub-group, and the answer once every other one asked too."""

    op: ops.SubGroup
    value: Any
    lane: int
    answer: Any = None


@dataclass(slots=True)
class Item:
    """One work-item.

    Attributes:
        names: What the shared arrays made at a place are called.
        made: How many this work-item made there.
        wait: Called at a barrier: gives control back until the whole group is there.
        waiting: Where it waits, while it does.
    """

    group: Group
    local_ids: Triple
    bodies: Mapping[Instance, Body]
    log: Log | None
    names: Mapping[Site, tuple[str, ...]] = field(default_factory=dict)
    made: Counter[tuple[Site, ...]] = field(default_factory=Counter)
    wait: Callable[[], None] | None = None
    waiting: Site | None = None
    asked: Exchange | None = None
    global_ids: Triple = (0, 0, 0)

    def __post_init__(self) -> None:
        group = self.group
        first, second, third = (
            group.ids[axis] * group.size[axis] + self.local_ids[axis] for axis in range(3)
        )
        self.global_ids = (first, second, third)

    @staticmethod
    def shown(ids: Triple) -> str:
        """Return ids for a sentence."""
        return f"({', '.join(map(str, ids))})"

    def id(self, op: ops.Id, dimension: int) -> Typed:
        """Return an id or a size (i32)."""
        values = {
            ops.Id.GLOBAL_ID: self.global_ids,
            ops.Id.LOCAL_ID: self.local_ids,
            ops.Id.GROUP_ID: self.group.ids,
            ops.Id.GROUP_SIZE: self.group.size,
            ops.Id.NUM_GROUPS: self.group.count,
        }[op]
        return make(I32, values[dimension])

    @property
    def number(self) -> int:
        """The work-item's number in its group, dimension 0 fastest."""
        x, y, z = self.local_ids
        return x + self.group.size[0] * (y + self.group.size[1] * z)

    def subgroup_id(self, op: ops.Id) -> Typed:
        """Return an id of the sub-group (i32)."""
        width = self.group.subgroup
        number = {
            ops.Id.LANE_ID: self.number % width,
            ops.Id.SUBGROUP_ID: self.number // width,
            ops.Id.SUBGROUP_SIZE: width,
        }[op]
        return make(I32, number)

    def exchange(self, op: ops.SubGroup, value: Any, lane: Callable[[int], int] | None = None) -> Any:
        """Wait for the sub-group, and return what the operation gives here."""
        assert self.wait is not None
        width = self.group.subgroup
        own = self.number % width
        wanted = own if lane is None else lane(own)
        if op is ops.SubGroup.BROADCAST and not 0 <= wanted < width:
            raise Fault("ATL0750", f"lane {wanted} of a broadcast is no lane of {width}")
        self.asked = Exchange(op, value, wanted if 0 <= wanted < width else own)
        self.waiting = self._site()
        self.wait()
        self.waiting = None
        answer, self.asked = self.asked.answer, None
        return answer

    def barrier(self) -> None:
        """Wait for the group."""
        assert self.wait is not None
        self.waiting = self._site()
        self.wait()
        self.waiting = None

    def shared(self, element: Scalar, sizes: tuple[int, ...]) -> OracleShared:
        """Return the group's array of this place in the source, the first work-item there makes it."""
        sites = tuple(self._sites())
        number = self.made[sites]
        self.made[sites] += 1
        found = self.group.shared.get((sites, number))
        if found is None:
            names = self.names.get(sites[0] if sites else ("", 0), ())
            name = names[number % len(names)] if names else "shared array"
            found = self.group.shared[sites, number] = OracleShared(name, element, sizes)
            found.made = sites[0] if sites else None
        return found

    def atomic(self, op: ops.AtomicOp, array: Any, index: Any, value: Any, expected: Any = None) -> Typed:
        """Change an element indivisibly; return its old value."""
        if isinstance(array, OraclePointer):
            array, index = array.array, array.at(index)
        place = array.place(index)
        self.touch(array, place, write=True, atomic=True)
        old: Typed = array.read(place)
        given = make(array.element, array.element_value(value))
        wanted = None if expected is None else make(array.element, array.element_value(expected))
        array.write(place, _changed(op, old, given, wanted).value)
        return old

    def touch(self, array: OracleArray, place: tuple[int, ...], *, write: bool, atomic: bool = False) -> None:
        """Note an access where races are looked for."""
        if self.log is not None:
            now = Touch(self.group.number, self.group.epoch, self.global_ids, self._site(), write, atomic)
            self.log.touch(array.key(place), array.name, place, now)

    def call(self, device: DeviceFunction, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Run a device function."""
        found = [body for key, body in self.bodies.items() if key[0] is device.function]
        body = next((item for item in found if item.fits(arguments, named)), found[0] if found else None)
        if body is None:
            raise Fault("ATL0720", f"`{device.__name__}` was not there when the kernel was compiled")
        return body.call(arguments, named)

    def _site(self) -> Site:
        return next(self._sites(), ("", 0))

    def _sites(self) -> Any:
        """Give the places of the kernel's own code on the stack, innermost first."""
        codes = {body.code for body in self.bodies.values()}
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame.f_code in codes:
                yield frame.f_code.co_filename, frame.f_lineno
            frame = frame.f_back


def _changed(op: ops.AtomicOp, old: Typed, value: Typed, expected: Typed | None) -> Typed:
    match op:
        case ops.AtomicOp.ADD:
            result = old + value
        case ops.AtomicOp.MIN:
            result = value if value < old else old
        case ops.AtomicOp.MAX:
            result = value if value > old else old
        case ops.AtomicOp.AND:
            result = old & value
        case ops.AtomicOp.OR:
            result = old | value
        case ops.AtomicOp.XOR:
            result = old ^ value
        case ops.AtomicOp.EXCHANGE:
            result = value
        case ops.AtomicOp.COMPARE_EXCHANGE:
            result = value if old == expected else old
    assert isinstance(result, Typed)
    return result
