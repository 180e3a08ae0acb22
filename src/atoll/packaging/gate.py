"""Does what was measured satisfy what is required, and does it run on a device? Both sides in the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from atoll._util.values import dataclass, replace
from atoll.accel import PROCESSOR, AccelSet, BackendRules, DeviceFacts, Difference, Relation, Version, links
from atoll.artifact import (
    BuildRequest,
    Descriptor,
    DeviceRequest,
    Subject,
    choose,
    compose,
    fit,
    side,
)
from atoll.artifact import refusal as artifact_refusal
from atoll.artifact.descriptor import accel_text
from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError, UsageError
from atoll.packaging.values import Report
from atoll.plugin import Registry
from atoll.runtime.choosing import chooser

Rules = Mapping[str, BackendRules]
NAMED = 4
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
    whole = fit(described(report), BuildRequest(accel=required), rules)
    found = [] if whole else [Lack(measured.path, measured.accel, whole.differences)]
    members = report.members()
    inner = [
        Lack(member, accel, answer.differences)
        for member, accel in members.items()
        if member != measured.path and not (answer := _member(accel, required, rules))
    ]
    return tuple(inner) if _same(inner, found) else (*found, *inner)


def _member(accel: AccelSet | None, required: AccelSet, rules: Rules) -> Relation:
    """Tell whether one file covers what is asked of the backends that it carries."""
    if accel is None:
        return Relation((Difference("accel", str(required), "unknown"),))
    asked = tuple(entry for entry in required if accel.get(entry.backend))
    return links(accel, AccelSet(asked), rules)


def _same(inner: list[Lack], whole: list[Lack]) -> bool:
    """Tell whether the files inside say all that the whole says, so that it need not be said twice."""
    said = {(item.dimension, item.asked) for lack in inner for item in lack.differences}
    return all((item.dimension, item.asked) in said for lack in whole for item in lack.differences)


def described(report: Report) -> Descriptor:
    """Return a measured file as matching sees it."""
    measured = report.measured
    return Descriptor(
        role="file",
        path=measured.path,
        accel=measured.accel,
        requires=measured.requires,
        declared=measured.declared,
    )


def refusal(report: Report, required: AccelSet, lacks: Sequence[Lack]) -> Diagnostic:
    """Return the one refusal text, its subject what is required of a file; the first lack is told in full."""
    path = report.measured.path

    def short(name: str) -> str:
        return name.removeprefix(f"{path}!").removeprefix(f"{path}/")

    published = [side(short(name), accel_text(accel)) for name, accel in report.members().items()]
    alike = [short(lack.member) for lack in lacks if lack.differences == lacks[0].differences]
    more = f" and {len(alike) - NAMED} more" if len(alike) > NAMED else ""
    return compose(
        Subject.GATE,
        path,
        "",
        side("", accel_text(required)),
        published or [side(path, accel_text(report.measured.accel), report.measured.declared)],
        (", ".join(alike[:NAMED]) + more, lacks[0].differences),
    )


def runs_on(report: Report, device: DeviceFacts, rules: Rules) -> tuple[Diagnostic | None, Relation]:
    """Tell whether a measured file runs on a device, with the one refusal text where it does not."""
    request = DeviceRequest(device=device)
    choice = choose((described(report),), request, rules)
    if device.backend == PROCESSOR:
        choice = replace(choice, relations=(_on_processor(report, device),))
    answer = choice.relations[0]
    said = None if answer else artifact_refusal(Subject.LOAD, report.measured.path, "", request, choice)
    return said, answer


def _on_processor(report: Report, device: DeviceFacts) -> Relation:
    """Tell whether a file has code for the processor itself, or needs none: device code is beside it."""
    machines = sorted({fact.value for _, fact in report.facts if fact.name == "abi.machine"})
    if device.arch in machines or (not machines and report.measured.accel == AccelSet()):
        return Relation()
    return Relation((Difference("machine", device.arch, ", ".join(machines) or "device code alone"),))


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
    try:
        return chooser(installed.drivers, {}).choose(text).facts
    except DeviceError as error:
        raise UsageError(
            Diagnostic(
                code="ATL0466",
                message=f"no device `{text}`",
                notes=error.diagnostics[0].notes,
                hint="name one that is present, or spell it as `BACKEND:ARCH` or `BACKEND:VERSION`",
            )
        ) from error
