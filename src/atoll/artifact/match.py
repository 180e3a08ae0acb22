"""Which artifact does a build or a device get, and why not the others?

First every candidate is compared (:func:`fit`), then the accepted ones are ordered (:func:`choose`): those
that carry every backend asked for, then, with a note for each device variant passed over, those without
device code. Among equals the publisher's order decides. Sets and relations live in :mod:`atoll.accel`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from atoll._util.values import dataclass, field
from atoll.accel import AccelSet, BackendRules, DeviceFacts, Difference, Relation, links, runs
from atoll.accel.relations import device_text
from atoll.artifact.abi import Abi
from atoll.artifact.descriptor import Descriptor, accel_text
from atoll.artifact.unfit import Subject, compose, side
from atoll.artifact.values import Fact
from atoll.diagnostics import Diagnostic, Severity

MAX_NOTES = 8

Rules = Mapping[str, BackendRules]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """What a build asks, in one of three ways.

    Attributes:
        accel: A set; the empty set for an explicit none (``--no-accel``); None where nothing was said.
        abi: The ABI of the build; an empty one is no constraint.
    """

    accel: AccelSet | None = None
    abi: Abi = field(default_factory=Abi)

    @property
    def side(self) -> str:
        """Its side of a refusal."""
        return side(str(self.abi), None if self.accel is None else accel_text(self.accel))


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceRequest:
    """What is asked at load: to run on a device."""

    device: DeviceFacts
    abi: Abi = field(default_factory=Abi)

    @property
    def side(self) -> str:
        """Its side of a refusal."""
        return side(self.device.name, device_text(self.device))


Request = BuildRequest | DeviceRequest


@dataclass(frozen=True, slots=True)
class Verdict:
    """One candidate with the answer it got."""

    descriptor: Descriptor
    relation: Relation

    def as_json(self) -> dict[str, Any]:
        """Return it as a value that `json` can write."""
        differences = [
            {"dimension": each.dimension, "asked": each.asked, "carried": each.carried}
            for each in self.relation.differences
        ]
        return {**self.descriptor.as_json(), "accepted": bool(self.relation), "differences": differences}


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a request gets.

    Attributes:
        accepted: The artifacts that fit, the one to take first.
        candidates: All of them, in the publisher's order.
        relations: The answer of each candidate.
        notes: Why a device variant was passed over for one without device code.
    """

    accepted: tuple[Descriptor, ...]
    candidates: tuple[Descriptor, ...]
    relations: tuple[Relation, ...]
    notes: tuple[Diagnostic, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.accepted)

    def verdicts(self) -> Iterator[Verdict]:
        """Give each candidate with its answer, in the publisher's order."""
        return map(Verdict, self.candidates, self.relations)


def fit(descriptor: Descriptor, request: Request, rules: Rules | None = None) -> Relation:
    """Tell whether an artifact fits a request: ABI, device code, required facts."""
    found = list(descriptor.abi.differences(request.abi))
    moot: tuple[str, ...] = ()
    match request:
        case BuildRequest(accel=None):
            pass
        case BuildRequest(accel=AccelSet() as asked):
            found += _fits_build(descriptor, asked, rules)
        case DeviceRequest(device=device):
            answer = _fits_device(descriptor, device, rules)
            moot = answer.moot
            found += (*answer.differences, *unmet(descriptor.requires, device, moot))
    return Relation(tuple(found), moot)


def _fits_build(descriptor: Descriptor, asked: AccelSet, rules: Rules | None) -> tuple[Difference, ...]:
    carried = descriptor.carried
    if carried is None or (carried and not asked):
        return (Difference("accel", accel_text(asked), _all_text(descriptor)),)
    if not carried:
        return ()
    found = []
    for entry in asked:
        answer = links(carried, AccelSet((entry,)), rules)
        found += [_told(each, descriptor, entry.backend) for each in answer.differences]
    return tuple(found)


def _all_text(descriptor: Descriptor) -> str:
    """Return everything it carries; what is declared is said to be."""
    if not descriptor.declared:
        return accel_text(descriptor.accel)
    said = f"declared {', '.join(descriptor.declared)}"
    return f"{descriptor.accel}, {said}" if descriptor.accel else said


def _told(difference: Difference, descriptor: Descriptor, backend: str) -> Difference:
    """Return a difference that says where its carried side is only declared."""
    if not descriptor.stated:
        return difference
    carried = descriptor.carried or AccelSet()
    if backend in descriptor.stated:
        text = f"{difference.carried} (declared)"
    elif carried.get(backend) is None:
        measured = [entry.backend for entry in descriptor.accel or ()]
        text = ", ".join([*measured, *(f"{name} (declared)" for name in sorted(descriptor.stated))])
    else:
        return difference
    return Difference(difference.dimension, difference.asked, text)


def _fits_device(descriptor: Descriptor, device: DeviceFacts, rules: Rules | None) -> Relation:
    if descriptor.carried is None:
        return Relation((Difference("accel", device_text(device), "unknown"),))
    answer = runs(descriptor.carried, device, rules)
    return Relation(
        tuple(_told(each, descriptor, device.backend) for each in answer.differences), answer.moot
    )


def unmet(requires: Sequence[Fact], device: DeviceFacts, moot: Sequence[str] = ()) -> tuple[Difference, ...]:
    """Return the required facts that a device states otherwise.

    A fact the device does not state concludes nothing. A device states several values of one name
    (capabilities) as words in one text; ``!WORD`` says that it lacks one, and ``…`` that there may be
    others, which conclude nothing.
    """
    stated = ((fact, device.facts.get(fact.name)) for fact in requires if fact.name not in moot)
    return tuple(
        Difference(fact.name, value, f"{fact.relation} {fact.value}")
        for fact, value in stated
        if value is not None and not _holds(fact, value)
    )


def _holds(fact: Fact, value: str) -> bool:
    if fact.relation == "=":
        words = value.split()
        return fact.value in words or ("…" in words and f"!{fact.value}" not in words)
    return _numbers(value) >= _numbers(fact.value)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a version-like text without trailing zeros, which change nothing."""
    parts = [int(part) for part in re.findall(r"[0-9]{1,9}", text[:64])]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


def choose(candidates: Sequence[Descriptor], request: Request, rules: Rules | None = None) -> Choice:
    """Return which of the candidates a request gets, and the answer of each.

    Equal parts of descriptors that are one object (as :func:`read_index` makes them) are compared once.
    """
    known: dict[object, Relation] = {}
    ranked: dict[int, list[Descriptor]] = {0: [], 1: [], 2: []}
    accepting: dict[object, list[Descriptor]] = {}
    relations: list[Relation] = []
    for each in candidates:
        key = each.kind or (id(each.abi), id(each.accel), id(each.requires), id(each.declared))
        relation = known.get(key)
        if relation is None:
            relation = known[key] = fit(each, request, rules)
            if not relation.differences:
                accepting[key] = ranked[_rank(each, request)]
        relations.append(relation)
        if key in accepting:
            accepting[key].append(each)
    accepted = tuple(each for rank in sorted(ranked) for each in ranked[rank])
    choice = Choice(accepted=accepted, candidates=tuple(candidates), relations=tuple(relations))
    return _with_notes(choice, request)


def _rank(descriptor: Descriptor, request: Request) -> int:
    """Return the order among the accepted, lowest first."""
    carried = descriptor.carried
    if carried is None:
        return 2
    has_code = bool(carried)
    prefers_code = isinstance(request, DeviceRequest) or bool(request.accel)
    return 0 if has_code == prefers_code else 1


def _with_notes(choice: Choice, request: Request) -> Choice:
    """Add a note for each device variant passed over, where what is taken has no device code."""
    asks_code = isinstance(request, DeviceRequest) or bool(request.accel)
    if not asks_code or not choice.accepted or choice.accepted[0].carried:
        return choice
    passed = [each for each in choice.verdicts() if not each.relation]
    notes = [_passed_over(each) for each in passed[:MAX_NOTES]]
    if len(passed) > MAX_NOTES:
        more = f"{len(passed) - MAX_NOTES} more variants were passed over"
        notes.append(Diagnostic(code="ATL0413", message=more, severity=Severity.NOTE))
    return Choice(
        accepted=choice.accepted,
        candidates=choice.candidates,
        relations=choice.relations,
        notes=tuple(notes),
    )


def _passed_over(verdict: Verdict) -> Diagnostic:
    descriptor = verdict.descriptor
    return Diagnostic(
        code="ATL0413",
        message=f"the variant `{descriptor.path or descriptor.side}` was passed over",
        severity=Severity.NOTE,
        notes=tuple(str(each) for each in verdict.relation.differences),
    )


def refusal(subject: Subject, package: str, version: str, request: Request, choice: Choice) -> Diagnostic:
    """Return why none of the candidates of `choice` fits `request`, in the one text."""
    different = tuple(_different(choice))
    closest = min(different, key=_distance, default=None)
    return compose(
        subject,
        package,
        version,
        request.side,
        [each.descriptor.side for each in different],
        None if closest is None else (closest.descriptor.left, closest.relation.differences),
    )


def _different(choice: Choice) -> Iterator[Verdict]:
    """Give the first verdict of each kind: an index may hold one artifact's text many times."""
    seen: set[tuple[object, ...]] = set()
    for descriptor, relation in zip(choice.candidates, choice.relations, strict=True):
        name = "" if descriptor.abi else descriptor.path
        key = (id(relation), id(descriptor.abi), id(descriptor.accel), name)
        if key not in seen:
            seen.add(key)
            yield Verdict(descriptor, relation)


def _distance(verdict: Verdict) -> tuple[int, int]:
    """Return how far a candidate is from fitting; an ABI counts more, since no flag changes it."""
    differences = verdict.relation.differences
    return sum(each.dimension != "accel" for each in differences), len(differences)
