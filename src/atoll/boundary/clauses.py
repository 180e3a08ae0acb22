"""What does the author say beside a declaration? ``x[n]``, ``w[rows][cols]``, ``out=x``, ``status``.

Grammar, items separated by commas::

    item      extent | "out" "=" NAME | "space" "=" NAME | "stream" "=" NAME | "status"
    extent    NAME ( "[" NAME or positive integer "]" )+

``status`` says that a nonzero ``int`` result is a failure. ``out=x`` says that Python allocates ``x`` and
returns it. A parameter may be named ``out`` or ``status``: what follows the name decides.
"""

from __future__ import annotations

import re

from atoll._util.values import dataclass, field

_EXTENT = re.compile(r"([A-Za-z_]\w*)\s*((?:\[\s*\w+\s*\]\s*)+)", re.ASCII)
_BRACKET = re.compile(r"\[\s*(\w+)\s*\]", re.ASCII)
_SETTING = re.compile(r"(out|space|stream)\s*=\s*([A-Za-z_]\w*)", re.ASCII)
_DIMENSION = re.compile(r"[A-Za-z_]\w*|[1-9][0-9]{0,9}", re.ASCII)
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LIMIT = 65536
"""Characters that one clause may have."""


class ClauseFault(ValueError):  # noqa: N818 - becomes a diagnostic where the place is known
    """A clause that cannot be understood: the item and why."""

    def __init__(self, item: str, reason: str) -> None:
        super().__init__(reason)
        self.item = item
        self.reason = reason


@dataclass(slots=True)
class Clause:
    """A clause as read, before it is held against the declaration."""

    extents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    returned: list[str] = field(default_factory=list)
    status: bool = False
    space: str = ""
    stream: str = ""


def read_clause(text: str) -> Clause:
    """Return the clause that `text` spells.

    Raises:
        ClauseFault: With the first item that cannot be understood.
    """
    if len(text) > LIMIT:
        raise ClauseFault(text[:20] + "…", f"a clause has at most {LIMIT} characters")
    clause = Clause()
    plain = _COMMENT.sub(" ", text).strip()
    for item in plain.split(",") if plain else ():
        _add(clause, item.strip())
    return clause


def _add(clause: Clause, item: str) -> None:
    if item == "status":
        clause.status = True
    elif extent := _EXTENT.fullmatch(item):
        _add_extent(clause, item, extent[1], tuple(_BRACKET.findall(extent[2])))
    elif setting := _SETTING.fullmatch(item):
        _add_setting(clause, item, setting[1], setting[2])
    else:
        raise ClauseFault(item, "it is none of `x[n]`, `out=x`, `space=…`, `stream=s`, `status`")


def _add_extent(clause: Clause, item: str, name: str, dimensions: tuple[str, ...]) -> None:
    bad = next((size for size in dimensions if not _DIMENSION.fullmatch(size)), None)
    if bad is not None:
        raise ClauseFault(item, f"`{bad}` is neither a parameter's name nor a positive integer")
    if name in clause.extents:
        raise ClauseFault(item, f"`{name}` has two extents")
    clause.extents[name] = dimensions


def _add_setting(clause: Clause, item: str, key: str, value: str) -> None:
    if key == "out":
        if value in clause.returned:
            raise ClauseFault(item, f"`{value}` is returned twice")
        clause.returned.append(value)
    elif getattr(clause, key):
        raise ClauseFault(item, f"`{key}` is stated twice")
    elif key == "space" and value not in ("host", "device"):
        raise ClauseFault(item, "the spaces are `host` and `device`")
    else:
        setattr(clause, key, value)
