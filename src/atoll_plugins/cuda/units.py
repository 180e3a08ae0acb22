"""What is one CUDA unit compiled for, and which entries does the lane refuse before it looks for any tool?"""

from __future__ import annotations

from atoll.accel import Entry
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.cuda.probe import devices_present
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.formats.hosts import LINUX, WINDOWS
from atoll_plugins.formats.lane_refusals import check_host

_NO_TOOLKIT = "NVIDIA has published no toolkit for macOS since CUDA 10.2"
_ELSEWHERE = "build on Linux or Windows, or leave `cuda` out of the set"
_CLANG_ALONE = "on Windows nvcc drives Microsoft's compiler alone, to which no plan of Atoll speaks"


def archs_of(unit: Unit) -> tuple[str, ...]:
    """Return the architectures a unit gets machine code for."""
    assert unit.entry is not None
    return unit.archs if unit.archs is not None else unit.entry.archs


def spelled(entry: Entry) -> str:
    """Return an entry as the manifest spells it."""
    text = entry.backend + (str(entry.version) if entry.version else "")
    text += f"+{{{', '.join(entry.archs)}}}" if entry.archs else ""
    return text + (f" {entry.floor.word}>={entry.floor.value}" if entry.floor else "")


def check_entries(request: LaneRequest) -> None:
    """Refuse units of another backend, entries without a decision, and architectures that are none.

    Raises:
        LaneError: With each of them once, or for the host alone.
    """
    check_host("cuda", request, (LINUX, WINDOWS), _NO_TOOLKIT, _ELSEWHERE)
    faults: dict[Diagnostic, None] = {}
    for unit in request.units:
        entry = unit.entry
        if entry is None or entry.backend != "cuda":
            faults[_foreign(unit)] = None
            continue
        if not archs_of(unit) and entry.floor is None:
            faults[_undecided(request, entry)] = None
        refused = CudaRules().check(entry)
        if refused is not None:
            reason, hint = refused
            note = f"the entry: {spelled(entry)}"
            faults[Diagnostic(code="ATL0508", message=reason, notes=(note,), hint=hint)] = None
    if faults:
        raise LaneError(*faults)


def refuse_nvcc(request: LaneRequest, what: str) -> None:
    """Refuse on Windows what only nvcc compiles.

    Args:
        request: Where the host stands.
        what: What asks for nvcc.

    Raises:
        LaneError: With the fact that decides it.
    """
    if request.host != WINDOWS:
        return
    raise LaneError(
        Diagnostic(
            code="ATL0513",
            message="the lane `cuda` compiles with clang alone on windows",
            notes=(f"what asks for nvcc: {what}", f"what decides it: {_CLANG_ALONE}"),
            hint='install clang, name it with `[lane.cuda] compiler = "clang++"`, or build on Linux',
        )
    )


def _foreign(unit: Unit) -> Diagnostic:
    return Diagnostic(
        code="ATL0514",
        message=f"`{unit.path}` is sent to the lane `cuda` for another backend",
        notes=("the lane compiles for: cuda", f"asked: {unit.entry.backend if unit.entry else 'no entry'}"),
        hint='write `accel = "cuda"` at its source entry',
    )


def _undecided(request: LaneRequest, entry: Entry) -> Diagnostic:
    present = devices_present(request.environment)
    example = present[0].rsplit("(", 1)[1].rstrip(")") if present else "sm_90"
    here = f"; here is {', '.join(present)}" if present else ""
    return Diagnostic(
        code="ATL0503",
        message="the entry `cuda` names neither an architecture nor a floor",
        notes=(
            f"the build's entry: {spelled(entry)}",
            "nvcc compiles ahead of time and must be told for what",
        ),
        hint=f"write `cuda+{{{example}}}`, or a floor such as `cuda ptx>=80`{here}",
    )
