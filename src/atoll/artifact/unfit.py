"""How is "none of them fits" said? One text at build, link, pack, load and wheel; only the subject changes.

The bytes are specified in ``docs/reference/accel.md`` ("The refusal"), because the C that refuses at load
prints the same ones. :func:`compose` takes plain text and is the twin of that C.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from atoll.accel import Difference
from atoll.diagnostics import Diagnostic

CODE = "ATL0412"
COLUMN = 22  # where values start, in notes; `render` indents them by two more
MAX_PUBLISHED = 8
HINT = (
    "name an architecture it carries (--accel), take a variant without device code (--no-accel), "
    "or ask the publisher for one that covers yours"
)


class Subject(Enum):
    """What it does not fit: the noun of the first line, and the label of the asking side."""

    BUILD = ("this build", "this build asks for")
    LINK = ("this link", "this link asks for")
    PACK = ("this pack", "this pack asks for")
    LOAD = ("this device", "this device is")
    WHEEL = ("this wheel", "this wheel asks for")
    GATE = ("what is required", "required")

    @property
    def noun(self) -> str:
        """What stands after *fits* in the first line."""
        return self.value[0]

    @property
    def label(self) -> str:
        """What stands before the asking side."""
        return self.value[1]


def side(left: str, accel: str | None, declared: Sequence[str] = ()) -> str:
    """Return one side as text: an ABI tag or a name, two spaces, ``accel …``, and ``declared …``.

    Args:
        left: An ABI tag, a device's name or a path; may be empty.
        accel: The set, ``none`` or ``unknown``; None where the side says nothing of devices.
        declared: What is stated beside the measured set, as accel entries.
    """
    parts = [left] if left else []
    if accel is not None:
        parts.append(f"accel {accel}")
    if declared:
        parts.append(f"declared {', '.join(declared)}")
    return "  ".join(parts) or "any"


def compose(
    subject: Subject,
    package: str,
    version: str,
    asked: str,
    published: Iterable[str],
    closest: tuple[str, Sequence[Difference]] | None,
) -> Diagnostic:
    """Return the refusal from its texts.

    Args:
        subject: What nothing fits.
        package: The package; printed with its version, where there is one.
        version: Its version, or empty.
        asked: The asking side, made by :func:`side`.
        published: The carried sides in the publisher's order; equal ones are printed once.
        closest: The left part of the closest one and its differences; None where nothing is published.
    """
    name = f"`{package}` {version}".rstrip()
    notes = [_row(subject.label, asked), *_published(list(dict.fromkeys(published)))]
    if closest is not None:
        left, differences = closest
        notes.append(_row("closest", f"{left or 'the first'}, which differs on"))
        notes += [
            _row(f"  {each.dimension}", f"asked {each.asked}, carried {each.carried}") for each in differences
        ]
    return Diagnostic(
        code=CODE,
        message=f"no prebuilt artifact of {name} fits {subject.noun}",
        notes=tuple(notes),
        hint=HINT,
    )


def _published(sides: Sequence[str]) -> list[str]:
    shown = list(sides[:MAX_PUBLISHED]) or ["nothing"]
    if len(sides) > MAX_PUBLISHED:
        shown.append(f"and {len(sides) - MAX_PUBLISHED} more")
    return [_row("" if place else "published", text) for place, text in enumerate(shown)]


def _row(label: str, text: str) -> str:
    """Return a label padded to the column, at least one space before the text."""
    return f"{label:<{COLUMN - 1}} {text}"
