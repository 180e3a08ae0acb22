"""Where does every key and value of a TOML text stand? `tomllib` gives the data, this the places.

Words: a *node* is a value with its span; a *path* is the keys and list positions that lead to it.
The scan walks the text once without recursion, before `tomllib` sees it, and refuses what would take
`tomllib` long: nesting, dotted keys and sizes are bounded. It reads no values; where a text is not TOML
it stops, and `tomllib` says why.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from atoll._util.values import dataclass, replace
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import ManifestError, UnreadableError
from atoll.manifest.scan import Limit, Places, scan

MAX_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its place: a dict of nodes, a list of nodes, or a scalar.

    Attributes:
        value: ``dict[str, Node]``, ``list[Node]``, or what TOML gives for a scalar.
        span: The key for a table and the value for a scalar.
        at: The value, also for a table or list, for errors inside a string.
    """

    value: Any
    span: Span
    at: Span

    def plain(self) -> Any:
        """Return the value without places."""
        if isinstance(self.value, dict):
            return {name: node.plain() for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def parse(text: str, file: str) -> Node:
    """Return the text as a tree of nodes.

    Raises:
        UnreadableError: Where it is not TOML.
        ManifestError: Where it goes beyond a bound.
    """
    lines = text.split("\n")
    try:
        places = scan(text)
        data = tomllib.loads(text)
    except Limit as limit:
        raise ManifestError(_bound(file, lines, limit)) from None
    except (ValueError, RecursionError) as error:  # ValueError: also integers of thousands of digits
        raise UnreadableError(_broken(file, lines, error)) from None
    return _nodes(data, places, file, lines)


def _bound(file: str, lines: list[str], limit: Limit) -> Diagnostic:
    return Diagnostic(
        code="ATL0204",
        message=f"the manifest is beyond a bound: {limit.what}",
        span=_span(file, lines, limit.line, limit.column),
        notes=(f"found: {limit.found}", f"bound: {limit.bound}"),
    )


def _broken(file: str, lines: list[str], error: Exception) -> Diagnostic:
    found = re.search(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error), re.DOTALL)
    reason = re.sub(r"\((?:'[^']*',? ?)+\)", _dotted, found.group(1) if found else str(error))
    line = int(found.group(2)) if found and found.group(2) else len(lines)
    column = int(found.group(3)) if found and found.group(3) else len(lines[-1]) + 1
    return Diagnostic(
        code="ATL0205",
        message="the manifest is not TOML",
        span=_span(file, lines, line, column),
        notes=(f"reason: {reason[:1].lower()}{reason[1:]}",),
    )


def _dotted(keys: re.Match[str]) -> str:
    """Return keys as a table's head spells them, which `tomllib` shows as a tuple."""
    inner = ".".join(re.findall(r"'([^']*)'", keys[0]))
    return f"`{inner}`"


def _span(file: str, lines: list[str], line: int, column: int, end: int | None = None) -> Span:
    text = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
    return Span(file=file, line=line, column=column, end_column=end, text=text if len(text) < 400 else "")


def anchored(inner: Diagnostic, outer: Span | None, length: int) -> Diagnostic:
    """Return a diagnostic about a string's text at the string's place in the manifest.

    Args:
        inner: Its span counts from the start of the string's value.
        outer: Where the string stands, quotes included.
        length: How many characters the value has.
    """
    if outer is None:
        return inner
    quoted = (outer.end_column or 0) - outer.column - 2 == length
    if inner.span is None or not quoted or inner.span.line != 1:
        return replace(inner, span=outer)
    column = outer.column + inner.span.column
    end = None if inner.span.end_column is None else outer.column + inner.span.end_column
    return replace(inner, span=replace(outer, column=column, end_column=end))


def _nodes(data: Mapping[str, Any], places: Places, file: str, lines: list[str]) -> Node:
    def build(value: Any, path: tuple[str | int, ...]) -> Node:
        place = places.get(path)
        span = _span(file, lines, *place.key) if place else Span(file=file)
        at = _span(file, lines, *place.value) if place else span
        if path and isinstance(path[-1], int):
            span = at
        if isinstance(value, dict):
            return Node({name: build(item, (*path, name)) for name, item in value.items()}, span, at)
        if isinstance(value, list):
            return Node([build(item, (*path, index)) for index, item in enumerate(value)], span, at)
        if type(value) is int and not -(1 << 63) <= value < 1 << 63:
            limit = Limit("an integer is too large", "more than 64 bits", "64 bits", at.line, at.column)
            raise ManifestError(_bound(file, lines, limit))
        return Node(value, span, at)

    return build(data, ())
