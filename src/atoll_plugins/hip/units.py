"""For which platform is one HIP unit compiled, and which entries are refused before any tool is sought?

A set says the platform: `hip` with architectures is AMD; `hip` without any, beside an entry `cuda`, is HIP's
layer of headers over CUDA.
"""

from __future__ import annotations

from atoll.accel import Entry
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.formats.lane_refusals import check_host, foreign
from atoll_plugins.hip.rules import HipRules

AMD, NVIDIA = "amd", "nvidia"


def platform_of(request: LaneRequest) -> str:
    """Return ``amd`` or ``nvidia``; empty where the set says neither."""
    entry = request.accel.get("hip")
    if entry is not None and entry.archs:
        return AMD
    cuda = request.accel.get("cuda")
    return NVIDIA if cuda is not None and (cuda.archs or cuda.floor) else ""


def archs_of(unit: Unit) -> tuple[str, ...]:
    """Return the AMD targets a unit gets code for."""
    assert unit.entry is not None
    return unit.archs if unit.archs is not None else unit.entry.archs


def check_entries(request: LaneRequest) -> None:
    """Refuse a host without the toolchain, units of another backend, and entries without a decision.

    Raises:
        LaneError: With each of them once.
    """
    fact = "AMD publishes HIP's runtime and device libraries, as this lane links them, for Linux alone"
    check_host("hip", request, ("linux",), fact, "build on Linux, or leave `hip` out of the set")
    faults: dict[Diagnostic, None] = {}
    for unit in request.units:
        entry = unit.entry
        if entry is None or entry.backend != "hip":
            faults[foreign("hip", unit, ("hip",))] = None
            continue
        refused = HipRules().check(entry)
        if refused is not None:
            reason, hint = refused
            notes = (f"the entry: {entry}",)
            faults[Diagnostic(code="ATL0508", message=reason, notes=notes, hint=hint)] = None
        elif not platform_of(request):
            faults[_undecided(entry)] = None
    if faults:
        raise LaneError(*faults)


def _undecided(entry: Entry) -> Diagnostic:
    return Diagnostic(
        code="ATL0503",
        message="the entry `hip` names no architecture, and no entry `cuda` stands beside it",
        notes=(f"the build's entry: {entry}", "clang compiles ahead of time and must be told for what"),
        hint="write `hip+{gfx942}` for AMD, or `hip, cuda11.8+{sm_90}` for NVIDIA",
    )
