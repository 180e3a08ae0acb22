"""How the oracle runs a launch: groups in a seeded order, work-items until they wait or end."""

from __future__ import annotations

import platform
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from types import SimpleNamespace
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import Kernel, View, has_barrier
from atoll.ir.subgroups import width_of
from atoll.kernels.arguments import check
from atoll.kernels.contract import hold
from atoll.kernels.definition import KernelFunction, Sizes
from atoll.kernels.front.signature import SignedParameter
from atoll.kernels.front.state import Instance
from atoll.kernels.intrinsics.lookup import HOST
from atoll.kernels.launch import Done
from atoll.kernels.oracle.exchange import answered, whole
from atoll.kernels.oracle.item import Group, Item
from atoll.kernels.oracle.memory import Log, OracleView, Race, Site, line_span
from atoll.kernels.oracle.rewrite import Body, bodies
from atoll.kernels.oracle.structures import OracleStructs
from atoll.kernels.pointers import PointerType, pointer
from atoll.kernels.scalars import Fault, checking, make
from atoll.kernels.shapes import Shape, over_shape
from atoll.kernels.structs import StructType, StructView, spread
from atoll.kernels.surface import running
from atoll.kernels.vectors import VecType, VecView


@dataclass(frozen=True, slots=True)
class OracleLaunch:
    """A kernel with a domain, run in CPython when called.

    Attributes:
        seed: Orders the groups and the work-items between barriers.
        races: Whether races are looked for, which takes longer.
        subgroup: The work-items of a sub-group; 0 for what executors without sub-groups emulate.
        checked: Whether a signed integer that wraps is a fault too, and `print` prints.
    """

    kernel: KernelFunction
    shape: Shape
    seed: int = 0
    races: bool = False
    subgroup: int = 0
    checked: bool = False

    @classmethod
    def over(
        cls,
        kernel: KernelFunction,
        shape: Sizes,
        *,
        block: Sizes | None = None,
        seed: int = 0,
        races: bool = False,
        subgroup: int = 0,
    ) -> OracleLaunch:
        """Return a launch over a domain, with the groups that a device would have."""
        found = over_shape(kernel.compiled().kernel, shape, block)
        if subgroup:
            whole(kernel.__name__, found.block, subgroup)
        return cls(kernel, found, seed, races, subgroup)

    def __call__(self, *arguments: Any, **named: Any) -> Done:
        """Run every work-item; what is written stands in the arguments.

        Raises:
            LaunchError: For an argument that does not fit, and for what the run found, with its line.
        """
        compiled = self.kernel.compiled_for(HOST)
        kernel = compiled.kernel
        if named:
            arguments = self.kernel.ordered(arguments, named)
        checked = check(kernel, spread(compiled.params, arguments))
        hold(self.kernel.requires, kernel.name, checked)
        arrays = {item.name: item.array for item in checked.arrays}
        given: list[Any] = []
        for param in kernel.params:
            if isinstance(param.type, View):
                given.append(OracleView(param.name, param.type, arrays[param.name]))
            else:
                value = checked.scalars[param.name]
                given.append(value if isinstance(value, bool) else make(param.type, value))
        run = _Run(
            self,
            bodies(compiled),
            tuple(_grouped(compiled.params, given)),
            Log() if self.races else None,
            _names(kernel),
        )
        outer = checking.on
        checking.on = self.checked
        try:
            run.all(whole=has_barrier(kernel))
        finally:
            checking.on = outer
        if run.log is not None and run.log.races:
            raise LaunchError(*(_race(race) for race in run.log.races.values()))
        return Done(f"CPython {platform.python_version()} (oracle)")


def _grouped(params: tuple[SignedParameter, ...], given: list[Any]) -> Iterator[Any]:
    """Give the arguments of the source: a struct for its fields, an array of structs for theirs."""
    left = iter(given)
    for item in params:
        if isinstance(item.type, StructView):
            arrays = tuple(next(left) for _ in item.type.struct.fields)
            yield OracleStructs(item.type.struct, arrays)
        elif isinstance(item.type, PointerType):
            yield pointer(next(left))
        elif isinstance(item.type, VecView):
            yield OracleStructs(item.type.vec, next(left).components(item.type.vec))
        elif isinstance(item.type, VecType):
            yield item.type(*(next(left) for _ in item.type.names))
        elif isinstance(item.type, StructType):
            parts = [next(left) for _ in item.type.fields]
            yield SimpleNamespace(**item.type.gathered(parts, lambda kind, own: kind(*own)))
        else:
            yield next(left)


def _names(kernel: Kernel) -> dict[Site, tuple[str, ...]]:
    found: dict[Site, tuple[str, ...]] = {}
    for item in kernel.shared:
        if item.span is not None:
            site = (item.span.file, item.span.line)
            found[site] = (*found.get(site, ()), item.name)
    return found


@dataclass(slots=True)
class _Run:
    launch: OracleLaunch
    bodies: dict[Instance, Body]
    arguments: tuple[Any, ...]
    log: Log | None
    names: dict[Site, tuple[str, ...]]
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.random = random.Random(self.launch.seed)  # noqa: S311 - a schedule, no secret

    @property
    def body(self) -> Callable[..., Any]:
        return next(iter(self.bodies.values())).run

    def all(self, *, whole: bool) -> None:
        """Run every group; `whole` where its work-items wait for each other."""
        for group in self.groups():
            items = list(self.items(group))
            self.random.shuffle(items)
            outer = running.item
            try:
                if whole:
                    self.together(group, items)
                else:
                    self.one_by_one(items)
            finally:
                running.item = outer

    def groups(self) -> Iterator[Group]:
        shape = self.launch.shape
        found = [(x, y, z) for z, y, x in product(*(range(count) for count in reversed(shape.groups)))]
        numbered = list(enumerate(found))
        self.random.shuffle(numbered)
        for number, ids in numbered:
            yield Group(number, ids, shape.block, shape.groups, self.launch.subgroup or width_of(shape.block))

    def items(self, group: Group) -> Iterator[Item]:
        domain = self.launch.shape.domain
        for z, y, x in product(*(range(size) for size in reversed(group.size))):
            item = Item(group, (x, y, z), self.bodies, self.log, self.names)
            if all(at < size for at, size in zip(item.global_ids, domain, strict=True)):
                yield item

    def one_by_one(self, items: list[Item]) -> None:
        for item in items:
            running.item = item
            with_places(self.body, self.arguments, item)

    def together(self, group: Group, items: list[Item]) -> None:
        """Run until every work-item waits or ended; then all have to wait at one barrier."""
        import greenlet

        scheduler = greenlet.getcurrent()
        threads = {}
        for item in items:
            item.wait = scheduler.switch
            threads[id(item)] = greenlet.greenlet(with_places, parent=scheduler)
        live = turn = items
        while live:
            self.random.shuffle(turn)
            for item in turn:
                running.item = item
                thread = threads[id(item)]
                if thread.gr_frame is None and not thread.dead and item.waiting is None:
                    thread.switch(self.body, self.arguments, item)
                else:
                    thread.switch()
            waiting = [item for item in live if not threads[id(item)].dead]
            turn = answered(items, waiting)
            if not turn:
                _all_or_none(live, waiting)
                live = turn = waiting
                group.epoch += 1


def with_places(body: Callable[..., Any], arguments: tuple[Any, ...], item: Item) -> None:
    """Run a body for a work-item; a fault becomes an error with its line."""
    try:
        body(*arguments)
    except (Fault, AssertionError) as found:
        fault = found if isinstance(found, Fault) else _unheld(found)
        raise LaunchError(
            Diagnostic(
                code=fault.code,
                message=str(fault),
                span=line_span(_where(fault, item)),
                notes=(
                    f"work-item {item.shown(item.global_ids)}, group {item.shown(item.group.ids)}",
                    *fault.notes,
                ),
            )
        ) from found


def _unheld(error: AssertionError) -> Fault:
    text = f": {error}" if str(error) else ""
    return Fault("ATL0756", f"an assertion does not hold{text}").with_traceback(error.__traceback__)


def _where(fault: Fault, item: Item) -> Site:
    codes = {body.code for body in item.bodies.values()}
    site: Site = ("<kernel>", 1)
    trace = fault.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            site = trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next
    return site


def _all_or_none(live: list[Item], waiting: list[Item]) -> None:
    """Refuse a barrier that only some reach.

    Raises:
        LaunchError: With both places.
    """
    if not waiting:
        return
    first = waiting[0]
    assert first.waiting is not None
    other = next((item for item in waiting if item.waiting != first.waiting), None)
    ended = next((item for item in live if item not in waiting), None)
    if other is None and ended is None:
        return
    notes = [f"work-item {first.shown(first.global_ids)} waits at line {first.waiting[1]}"]
    if other is not None and other.waiting is not None:
        notes.append(f"work-item {other.shown(other.global_ids)} waits at line {other.waiting[1]}")
    if ended is not None:
        notes.append(f"work-item {ended.shown(ended.global_ids)} ended without waiting there")
    raise LaunchError(
        Diagnostic(
            code="ATL0752",
            message="work-items of one group do not wait at the same barrier",
            span=line_span(first.waiting),
            notes=tuple(notes),
        )
    )


def _race(race: Race) -> Diagnostic:
    def said(what: str, touch: Any) -> str:
        verb = "changes it atomically" if touch.atomic else "writes it" if touch.write else "reads it"
        return f"{what}: work-item {Item.shown(touch.item)} {verb} at {touch.site[0]}:{touch.site[1]}"

    index = ", ".join(map(str, race.index))
    return Diagnostic(
        code="ATL0751",
        message=f"a race on `{race.name}[{index}]`",
        span=line_span(race.second.site),
        notes=(said("first", race.first), said("second", race.second), "no barrier orders the two"),
        hint="put a barrier between them, use an atomic, or let one work-item do it",
    )
