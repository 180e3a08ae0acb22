"""Which device code is linked together before the host links? Once for each image, over its static libraries.

A device linker joins functions across units, and registers what it made with the image that holds it. So
there is one such link for each program and shared library, over its own units and those of the static
libraries that enter it; and one for a static library that no target here links, so that any host linker can
use it.
Words: an *image* is what a loader maps; a *group* is what one device link takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.options import list_option

OPTION = "device-link"
STATIC = "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What one device link takes.

    Attributes:
        target: The target whose link gets what it makes.
        units: The units, in the order of the request.
        owner: A unit of that target, which decides into which file of it the object goes.
    """

    target: str
    units: tuple[Unit, ...]
    owner: Unit


def wanted(lane: str, request: LaneRequest) -> bool:
    """Tell whether the project asks for a device link.

    Raises:
        LaneError: Where the option is neither true nor false.
    """
    value = request.options.get(OPTION, False)
    if isinstance(value, bool):
        return value
    raise LaneError(
        Diagnostic(
            code="ATL0512",
            message=f"the option `{OPTION}` of `[lane.{lane}]` is of the wrong kind",
            notes=("it must be true or false", f"the manifest has: {value!r}"),
        )
    )


def refuse_forgotten(lane: str, request: LaneRequest, flags: tuple[str, ...], symbol: str) -> None:
    """Refuse a flag that makes device code to be linked, where nothing links it.

    Args:
        lane: Who refuses.
        request: Where flags and option stand.
        flags: The flags that make such code.
        symbol: What a host linker would miss.

    Raises:
        LaneError: With each flag and its place.
    """
    if wanted(lane, request):
        return
    given = [(f"[lane.{lane}] flags", flag) for flag in list_option(lane, request, "flags")]
    given += [(unit.path, flag) for unit in request.units for flag in unit.flags]
    faults = [
        Diagnostic(
            code="ATL0535",
            message=f"the flag `{flag}` makes device code that nothing links",
            notes=(f"it stands in: {place}", f"what a host linker would miss: {symbol}"),
            hint=f"write `{OPTION} = true` below `[lane.{lane}]`, which compiles and links such code",
        )
        for place, flag in dict.fromkeys(given)
        if flag in flags
    ]
    if faults:
        raise LaneError(*faults)


def groups(request: LaneRequest, *, every_archive: bool = False) -> tuple[Group, ...]:
    """Return what is linked together.

    Args:
        request: Where units and links stand.
        every_archive: Whether a static library that a target here links gets a link of its own as well: where
            what is made holds the host halves, its archive would be empty without.
    """
    return tuple(_groups(request, every_archive))


def _groups(request: LaneRequest, every_archive: bool) -> Iterator[Group]:
    named = dict.fromkeys((*(unit.target for unit in request.units), *request.links))
    images = [name for name in named if request.kinds.get(name) != STATIC]
    entering = {name: _entering(request, name) for name in images}
    inside = {name for names in entering.values() for name in names}
    static = [name for name in named if request.kinds.get(name) == STATIC]
    alone = [name for name in static if every_archive or name not in inside]
    for name in (*images, *alone):
        lent = tuple(unit for unit in request.units if unit.target in entering.get(name, ()))
        own = [unit for unit in request.units if unit.target == name]
        for root in dict.fromkeys(unit.root for unit in own):
            mine = tuple(unit for unit in own if unit.root == root)
            yield Group(target=name, units=(*mine, *lent), owner=mine[0])
        if lent and not own:
            yield Group(target=name, units=lent, owner=replace(lent[0], target=name, root=""))


def _entering(request: LaneRequest, name: str) -> tuple[str, ...]:
    """Return the static libraries that enter an image; what a shared library links stays in it."""
    found: dict[str, None] = {}
    waiting = list(request.links.get(name, ()))
    while waiting:
        other = waiting.pop(0)
        if other not in found and request.kinds.get(other) == STATIC:
            found[other] = None
            waiting += request.links.get(other, ())
    return tuple(found)
