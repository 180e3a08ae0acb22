"""Does this machine meet what the build's result needs? Facts against floors, whoever stated them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic, Severity

if TYPE_CHECKING:
    from atoll.plugin import Registry


def gather(floors: Iterable[Fact], registry: Registry, environment: Mapping[str, str]) -> tuple[Fact, ...]:
    """Return what the probes say about the names of `floors`; no other probe is loaded or asked."""
    wanted = {floor.name.partition(".")[0] for floor in floors}
    facts = [
        fact for name in sorted(wanted & set(registry.probes)) for fact in _ask(registry, name, environment)
    ]
    return tuple(facts)


def _ask(registry: Registry, name: str, environment: Mapping[str, str]) -> tuple[Fact, ...]:
    return registry.probes[name].facts(environment)


def missed(floors: Iterable[Fact], facts: Iterable[Fact]) -> tuple[tuple[Fact, Fact], ...]:
    """Return each floor that a stated fact misses, with the fact. An absent fact concludes nothing."""
    known = {fact.name: fact for fact in facts if fact.relation == "="}
    pairs = [(floor, known[floor.name]) for floor in dict.fromkeys(floors) if floor.name in known]
    return tuple((floor, fact) for floor, fact in pairs if not meets(fact.value, floor))


def meets(value: str, floor: Fact) -> bool:
    """Tell whether a value meets a floor. Numbers compare by number, part by part."""
    have, least = _parts(value), _parts(floor.value)
    length = max(len(have), len(least))
    have, least = have + (0,) * (length - len(have)), least + (0,) * (length - len(least))
    match floor.relation:
        case ">=":
            return have >= least
        case ">":
            return have > least
        case "=":
            return have == least
        case "<":
            return have < least
        case "<=":
            return have <= least
        case _:
            raise ValueError(f"no relation {floor.relation!r} in {floor}")


def _parts(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def diagnostics(misses: Iterable[tuple[Fact, Fact]], *, elsewhere: bool) -> tuple[Diagnostic, ...]:
    """Return one finding a missed floor: an error, or a warning where the result runs elsewhere."""
    severity = Severity.WARNING if elsewhere else Severity.ERROR
    return tuple(
        Diagnostic(
            code="ATL0550",
            severity=severity,
            message=f"this machine does not meet a floor of the build: `{floor.name}`",
            notes=(f"the build needs: {floor}", f"this machine has: {fact.value}"),
            hint="update it, or build for another machine with `atoll build --elsewhere`",
        )
        for floor, fact in misses
    )
