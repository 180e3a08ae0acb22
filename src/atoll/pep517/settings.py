"""What does a frontend ask for? ``--config-settings`` as values, and the session they open.

=========== ======================================================================
``accel``    the accel set, instead of the manifest's; empty for none
``profile``  the profile; ``release`` by default
``features`` features that are on beside the default ones, separated by commas
``jobs``     how many actions run at once
``offline``  ``1`` to fetch nothing
=========== ======================================================================
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError

if TYPE_CHECKING:
    from atoll.graph import Event
    from atoll.session import Built, Session

NAMES = ("accel", "features", "jobs", "offline", "profile")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one call.

    Attributes:
        accel: The text of the set, or None for the manifest's; empty for none.
        profile / features: As on the command line.
        jobs: How many actions run at once; None for as many as fit.
        offline: Whether nothing may be fetched.
    """

    accel: str | None = None
    profile: str = "release"
    features: tuple[str, ...] = ()
    jobs: int | None = None
    offline: bool = False

    def as_data(self) -> dict[str, Any]:
        """Return them as JSON takes them."""
        return asdict(self)


def from_data(data: Mapping[str, Any]) -> Settings:
    """Return the settings that :meth:`Settings.as_data` gave."""
    return Settings(**{**data, "features": tuple(data.get("features", ()))})


def read_settings(given: Mapping[str, Any]) -> Settings:
    """Return the settings of a frontend's mapping; a setting given twice has its last value.

    Raises:
        UsageError: With every setting that is not known, or cannot be read.
    """
    values = {name: _last(value) for name, value in given.items()}
    faults = [_unknown(name) for name in values if name not in NAMES]
    jobs = values.get("jobs", "")
    if jobs and not (jobs.isascii() and jobs.isdigit() and int(jobs) > 0):
        faults.append(_unread("jobs", jobs, "a positive number"))
    if values.get("offline", "0") not in ("0", "1", "true", "false"):
        faults.append(_unread("offline", values["offline"], "`0` or `1`"))
    if faults:
        raise UsageError(*faults)
    return Settings(
        accel=values.get("accel"),
        profile=values.get("profile") or "release",
        features=tuple(sorted(filter(None, values.get("features", "").split(",")))),
        jobs=int(jobs) if jobs else None,
        offline=values.get("offline") in ("1", "true"),
    )


def _last(value: Any) -> str:
    chosen = value[-1] if isinstance(value, list) and value else value
    return {True: "1", False: "0"}[chosen] if isinstance(chosen, bool) else str(chosen)


def _unknown(name: str) -> Diagnostic:
    from atoll._util.near import nearest

    close = nearest(name, NAMES)
    return Diagnostic(
        code="ATL0480",
        message=f"there is no config setting `{name}`",
        notes=(f"given: {name}", f"known: {', '.join(NAMES)}"),
        hint=f"did you mean `{close}`?" if close else "leave it out",
    )


def _unread(name: str, value: str, wanted: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0480",
        message=f"the config setting `{name}` cannot be read",
        notes=(f"given: {value}", f"it is: {wanted}"),
    )


def opened(root: Path, settings: Settings) -> Session:
    """Return the session of a project with these settings."""
    from atoll.session import open_session

    none = settings.accel is not None and not settings.accel.strip()
    return open_session(
        root,
        accel=None if none else settings.accel,
        no_accel=none,
        profile=settings.profile,
        features=settings.features,
        offline=settings.offline,
        say=_say,
    )


def built(session: Session, settings: Settings) -> Built:
    """Build the project as it is shipped: the machine that builds need not have the devices.

    Raises:
        AtollError: Where something refuses or fails.
    """
    from atoll.diagnostics import render

    made = session.build(elsewhere=True, jobs=settings.jobs, on_event=_event)
    for item in made.diagnostics:
        _say(render(item))
    return made


def _event(event: Event) -> None:
    if event.kind in ("finish", "fail"):
        _say(f"[{event.done}/{event.total}] {event.name}")


def _say(text: str) -> None:
    from atoll.diagnostics.render import printable

    sys.stderr.write(f"{printable(text)}\n")
