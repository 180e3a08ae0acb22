"""What does ``[lane.NAME]`` of a manifest say, checked against what the lane knows?"""

from __future__ import annotations

from atoll._util.near import nearest
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin.lane import LaneRequest

#: Keys of `[lane.NAME]` that the engine reads itself, for every lane.
EVERY_LANE = ("time-limit",)


def check_options(lane: str, request: LaneRequest, known: tuple[str, ...]) -> None:
    """Refuse keys of ``[lane.NAME]`` that the lane does not know.

    Raises:
        LaneError: With every such key and the nearest known one.
    """
    wrong = [key for key in request.options if key not in known]
    if wrong:
        raise LaneError(*(_unknown(lane, request, key, known) for key in sorted(wrong)))


def text_option(lane: str, request: LaneRequest, key: str) -> str | None:
    """Return a text of ``[lane.NAME]``, or None where it is not set."""
    value = request.options.get(key)
    if value is None:
        return None
    if isinstance(value, str) and value:
        return value
    raise LaneError(_wrong(lane, request, key, "a text that is not empty", value))


def list_option(lane: str, request: LaneRequest, key: str) -> tuple[str, ...]:
    """Return a list of texts of ``[lane.NAME]``; empty where it is not set."""
    value = request.options.get(key, ())
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise LaneError(_wrong(lane, request, key, "a list of texts", value))


def _unknown(lane: str, request: LaneRequest, key: str, known: tuple[str, ...]) -> Diagnostic:
    every = (*known, *EVERY_LANE)
    near = nearest(key, every)
    return Diagnostic(
        code="ATL0512",
        message=f"the lane `{lane}` has no option `{key}`",
        span=request.places.get(key),
        notes=(f"`[lane.{lane}]` may hold: {', '.join(every)}",),
        hint=f"write `{near}`" if near else "remove it",
    )


def _wrong(lane: str, request: LaneRequest, key: str, wanted: str, value: object) -> Diagnostic:
    return Diagnostic(
        code="ATL0512",
        message=f"the option `{key}` of `[lane.{lane}]` is of the wrong kind",
        span=request.places.get(key),
        notes=(f"it must be {wanted}", f"the manifest has: {value!r}"),
    )
