"""Which implementation serves a target?

The exact one, else the highest floor it meets, else the platform's general one, else the portable body where
one is declared, else none, with every candidate and why.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from atoll.accel import Entry, Version, provides
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError
from atoll.kernels.definition import DeviceFunction
from atoll.kernels.intrinsics.interface import HOST_PLATFORM, Implementation, Intrinsic
from atoll.plugin import Target, registry
from atoll.plugin.rules import backend_rules

#: What CPython and the oracle run for.
HOST = Target(backend=HOST_PLATFORM)


@dataclass(frozen=True, slots=True)
class Found:
    """The body that serves a target, and how it was found."""

    device: DeviceFunction
    how: str


def look_up(wanted: Intrinsic, target: Target) -> Found | None:
    """Return what an intrinsic is for a target, or None."""
    load(target.backend)
    own = [item for item in wanted.implementations.values() if item.platform == target.backend]
    exact = next((item for item in own if item.arch and item.arch == target.arch), None)
    floors = [item for item in own if item.arch and _meets(target, item.arch)]
    general = next((item for item in own if not item.arch), None)
    chosen = exact or _highest(floors, target.backend) or general
    if chosen is not None:
        return Found(chosen.device, f"implemented for {chosen.target}")
    return Found(wanted.device, "portable") if wanted.portable else None


def on_host(wanted: Intrinsic) -> DeviceFunction:
    """Return the body that CPython runs.

    Raises:
        CompileError: Where there is none.
    """
    found = look_up(wanted, HOST)
    if found is None:
        raise CompileError(missing(wanted, HOST, None))
    return found.device


def missing(wanted: Intrinsic, target: Target, span: Span | None, *more: str) -> Diagnostic:
    """Return the refusal of an intrinsic: every implementation, and why it does not serve."""
    for platform in registry().emitters:
        load(platform)
    listed = sorted(wanted.implementations.values(), key=lambda item: (item.platform, item.arch))
    notes = [f"{item.target} ({item}): {_why_not(item, target)}" for item in listed]
    if target.backend in wanted.absent:
        notes.append(f"{target.backend} has none: {wanted.absent[target.backend]}")
    if not listed:
        notes.append("it has no implementation")
    notes.append("its author declared no portable body")
    return Diagnostic(
        code="ATL0770",
        message=f"`{wanted.name}` has no implementation for {target}",
        span=span,
        notes=(*notes, *more),
        hint=f'write one: `@atoll.implements({wanted.owner}, platform="{target.backend}")`',
    )


def load(platform: str) -> None:
    """Import the implementations that an emitter of a platform brings; once is enough."""
    emitters = registry().emitters
    module = getattr(emitters[platform], "intrinsics", None) if platform in emitters else None
    if module is not None:
        import_module(module)


def _why_not(item: Implementation, target: Target) -> str:
    if item.platform != target.backend:
        return "another platform"
    return f"{target} does not provide {item.arch}"


def _entry(platform: str, arch: str, version: str = "") -> Entry:
    return Entry(
        backend=platform,
        version=Version.parse(version) if version else None,
        archs=(arch,) if arch else (),
    )


def _meets(target: Target, arch: str) -> bool:
    return bool(provides(_entry(target.backend, target.arch, target.version), arch, _rules()))


def _highest(floors: list[Implementation], platform: str) -> Implementation | None:
    """Return the implementation whose floor provides the most of the others."""

    def below(item: Implementation) -> tuple[int, str]:
        own = _entry(platform, item.arch)
        return sum(bool(provides(own, other.arch, _rules())) for other in floors), item.arch

    return max(floors, key=below, default=None)


def _rules() -> Any:
    return backend_rules()
