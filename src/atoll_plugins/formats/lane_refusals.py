"""What do lanes of several models refuse in the same words? A host, a backend, a missing toolchain."""

from __future__ import annotations

from collections.abc import Iterable

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit


def check_host(lane: str, request: LaneRequest, served: tuple[str, ...], fact: str, hint: str) -> None:
    """Refuse a host for which nobody publishes the toolchain.

    Args:
        lane: Who refuses.
        request: Where the host stands.
        served: The hosts that the lane plans for.
        fact: What decides it.
        hint: What to type instead.

    Raises:
        LaneError: With the fact.
    """
    if request.host not in served:
        raise LaneError(
            Diagnostic(
                code="ATL0513",
                message=f"the lane `{lane}` does not compile on {request.host}",
                notes=(f"the lane compiles on: {', '.join(served)}", f"what decides it: {fact}"),
                hint=hint,
            )
        )


def foreign(lane: str, unit: Unit, backends: Iterable[str]) -> Diagnostic:
    """Return the refusal of a unit that a constraint sends to a lane of another backend."""
    served = tuple(backends)
    return Diagnostic(
        code="ATL0514",
        message=f"`{unit.path}` is sent to the lane `{lane}` for another backend",
        notes=(
            f"the lane compiles for: {', '.join(served)}",
            f"asked: {unit.entry.backend if unit.entry else 'no entry'}",
        ),
        hint=f'write `accel = "{served[0]}"` at its source entry',
    )


def named_compiler(lane: str, named: str, what: str, request: LaneRequest) -> Diagnostic:
    """Return the refusal of a compiler that the project names and that is not there, or is none."""
    return Diagnostic(
        code="ATL0509",
        message=f"the {what} that the project names is not there or is none that the lane drives",
        notes=(
            f"`[lane.{lane}] compiler` names: {named}",
            f"PATH is: {request.environment.get('PATH') or '(empty)'}",
        ),
        hint="remove the key to let the lane choose, or name another",
    )


def no_compiler(lane: str, what: str, looked: Iterable[str], request: LaneRequest, hint: str) -> Diagnostic:
    """Return the refusal of a machine that has no compiler for a lane."""
    return Diagnostic(
        code="ATL0507",
        message=f"the lane `{lane}` finds no {what}",
        notes=(
            f"looked for: {', '.join(looked)}",
            f"PATH is: {request.environment.get('PATH') or '(empty)'}",
        ),
        hint=hint,
    )
