"""Does what was measured satisfy what is required, and does it run on a device? Both sides in the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from atoll.accel import AccelSet, BackendRules, DeviceFacts, Difference, Version, links, runs
from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.packaging.values import Report
from atoll.plugin import Registry

Rules = Mapping[str, BackendRules]
_VERSION = re.compile(r"\d+(\.\d+)+")


@dataclass(frozen=True, slots=True)
class Lack:
    """One file that falls short, and in what."""

    member: str
    carried: AccelSet | None
    differences: tuple[Difference, ...]


def lacking(report: Report, required: AccelSet, rules: Rules) -> tuple[Lack, ...]:
    """Return the files that do not carry what is required; empty where all is there.

    The whole must carry every backend. Each file inside that carries one of them must cover what is asked
    of that backend: an architecture that another file has does not help the kernels of this one.
    """
    measured = report.measured
    if measured.accel is None:
        return tuple(Lack(name, None, ()) for name, accel in report.members().items() if accel is None)
    whole = links(measured.accel, required, rules)
    found = [] if whole else [Lack(measured.path, measured.accel, whole.differences)]
    inner = []
    for member, accel in report.members().items():
        asked = AccelSet(tuple(entry for entry in required if accel and accel.get(entry.backend)))
        answer = links(accel or AccelSet(), asked, rules)
        if not answer and member != measured.path:
            inner.append(Lack(member, accel, answer.differences))
    return tuple(inner or found) if _same(inner, found) else (*found, *inner)


def _same(inner: list[Lack], whole: list[Lack]) -> bool:
    """Tell whether the files inside say all that the whole says, so that it need not be said twice."""
    said = {(item.dimension, item.asked) for lack in inner for item in lack.differences}
    return all((item.dimension, item.asked) in said for lack in whole for item in lack.differences)


def refusal(report: Report, required: AccelSet, lacks: tuple[Lack, ...]) -> Diagnostic:
    """Return the one refusal text, its subject a measured file."""
    notes = [f"required    {required}", f"measured    {shown(report.measured.accel)}"]
    for lack in lacks:
        notes.append(f"in          {lack.member}")
        if lack.carried is None:
            notes.append("  accel     unknown, which is never taken for what is required")
        notes += [
            f"  {item.dimension:<10}asked {item.asked}, carried {item.carried}" for item in lack.differences
        ]
    return Diagnostic(
        code="ATL0458",
        message=f"`{report.measured.path}` does not carry what was required",
        notes=tuple(notes),
        hint="build the missing ones in (`--accel`), or require what it carries",
    )


def shown(accel: AccelSet | None) -> str:
    """Return a measured set as a person reads it."""
    return "unknown" if accel is None else str(accel) or "none"


def runs_on(report: Report, device: DeviceFacts, rules: Rules) -> tuple[Difference, ...]:
    """Return why a measured file does not run on a device; empty where it does.

    Required facts are compared where the device states a value of that name; the others stand in the
    measured `requires` for whoever knows more.
    """
    accel = report.measured.accel
    if accel is None:
        return (Difference("accel", device_text(device), "unknown"),)
    answer = runs(accel, device, rules)
    if not answer:
        return answer.differences
    unmet = [
        Difference(fact.name, device.facts[fact.name], f"{fact.relation} {fact.value}")
        for fact in _floors(report, device)
        if fact.name not in answer.moot and not _meets(device.facts[fact.name], fact.value)
    ]
    return tuple(unmet)


def _floors(report: Report, device: DeviceFacts) -> list[Fact]:
    found = {
        fact
        for finding in report.measured.findings
        if finding.backend == device.backend and not finding.declared
        for fact in finding.requires
        if fact.relation == ">=" and fact.name in device.facts
    }
    return sorted(found)


def _meets(have: str, floor: str) -> bool:
    try:
        return Version.parse(have).at_least(Version.parse(floor))
    except ValueError:
        return have == floor


def device_text(device: DeviceFacts) -> str:
    """Return a device as a person reads it."""
    return device.name or f"{device.backend}:{device.arch or device.version or ''}".rstrip(":")


def device_facts(text: str, installed: Registry) -> DeviceFacts:
    """Return the device that a text names: one that a driver reaches, or a spelled one.

    Args:
        text: ``cuda:0``, a part of a device's own name, or spelled ``cuda:sm_86``, ``vulkan:1.3``.
        installed: The plugins.

    Raises:
        UsageError: Where no device is meant.
    """
    backend, _, rest = text.partition(":")
    if rest and not rest.isdigit() and re.fullmatch(r"[a-z][a-z_-]*", backend):
        if _VERSION.fullmatch(rest):
            return DeviceFacts(backend=backend, name=text, version=Version.parse(rest))
        return DeviceFacts(backend=backend, name=text, arch=rest)
    found, names = _reached(text, installed)
    if found is not None:
        return found
    raise UsageError(
        Diagnostic(
            code="ATL0466",
            message=f"no device `{text}`",
            notes=(f"reached here: {', '.join(names) or 'none'}",),
            hint="name one of them, or spell it as `BACKEND:ARCH` or `BACKEND:VERSION`",
        )
    )


def _reached(text: str, installed: Registry) -> tuple[DeviceFacts | None, list[str]]:
    names = []
    for driver in installed.drivers.values():
        for info in driver.devices():
            names.append(f"{info} ({info.name})")
            plain = driver.name == text and info.index == 0
            if plain or str(info) == text or text.lower() in info.name.lower():
                return info.facts, names
    return None, names
