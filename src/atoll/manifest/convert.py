"""Does a tree of nodes fit the model? Every fault is found in one walk and reported together."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, assert_never

from atoll._util.near import nearest
from atoll._util.values import fields
from atoll.diagnostics import Diagnostic, Span
from atoll.manifest.document import Node
from atoll.manifest.shape import Choice, Key, Many, Named, Scalar, Shape, Table, is_open, keys


class Converter:
    """Turns nodes into values of the model and keeps the faults.

    Attributes:
        faults: What was found, in file order of the walk.
        partial: True for an overlay, where a required key may stand in the base.
    """

    def __init__(self, *, partial: bool = False) -> None:
        self.faults: list[Diagnostic] = []
        self.partial = partial

    def table(self, table: type[Any], node: Node, where: str, extra: dict[str, Any] | None = None) -> Any:
        """Return a value of `table`, or None where a fault was found in it."""
        if not isinstance(node.value, dict):
            return self._wrong(node, where, f"a table with some of the keys {', '.join(keys(table))}")  # type: ignore[arg-type]
        before = len(self.faults)
        known = keys(table)  # type: ignore[arg-type] # mypy: a type is hashable
        values: dict[str, Any] = {}
        for name, item in node.value.items():
            if name in known:
                values[known[name].field] = self.value(known[name].shape, item, _join(where, name))
            elif not is_open(table):
                self.faults.append(unknown_key(item.span, name, where, known))
        self._missing(known.values(), node, where)
        if len(self.faults) > before:
            return None
        if is_open(table):
            values["extra"] = {k: v.plain() for k, v in node.value.items() if k not in known}
        if self.partial:
            return True
        return table(**values, **self._place(table, node), **(extra or {}))

    def value(self, shape: Shape, node: Node, where: str) -> Any:
        """Return a value of `shape`; None where it does not fit (the fault is kept)."""
        match shape:
            case Scalar():
                return self._scalar(shape, node, where)
            case Choice():
                return self._choice(shape, node, where)
            case Many():
                if not isinstance(node.value, list):
                    return self._wrong(node, where, "a list")
                return self._list(shape, node.value, where)
            case Named():
                if not isinstance(node.value, dict):
                    return self._wrong(node, where, "a table")
                return {k: self.value(shape.item, item, _join(where, k)) for k, item in node.value.items()}
            case Table():
                if shape.word and isinstance(node.value, str):
                    node = Node({shape.word: node}, node.span, node.at)
                return self.table(shape.type, node, where)
        assert_never(shape)

    def _list(self, shape: Many, items: list[Node], where: str) -> tuple[Any, ...]:
        # An item of a list is whole even in an overlay: lists append, they do not merge.
        partial, self.partial = self.partial, False
        found = tuple(self.value(shape.item, item, f"{where}[{index}]") for index, item in enumerate(items))
        self.partial = partial
        return found

    def _scalar(self, shape: Scalar, node: Node, where: str) -> Any:
        if shape.type is float and type(node.value) in {int, float}:
            if node.value != node.value or node.value < 0 or node.value > 1e9:
                return self._wrong(node, where, "a number from 0 to 1e9")
            return float(node.value)
        if type(node.value) is not shape.type:
            return self._wrong(node, where, _SCALARS[shape.type])
        if isinstance(node.value, str) and "\0" in node.value:
            return self._wrong(node, where, "a string without a NUL: no command and no path can hold one")
        return node.value

    def _choice(self, shape: Choice, node: Node, where: str) -> Any:
        words = [str(item) for item in shape.type]
        if not isinstance(node.value, str):
            return self._wrong(node, where, "one of " + ", ".join(words))
        if node.value in words:
            return shape.type(node.value)
        near = nearest(node.value, words)
        self.faults.append(
            Diagnostic(
                code="ATL0203",
                message=f"`{_short(node.value)}` is no value of `{where}`",
                span=node.at,
                notes=("known: " + ", ".join(words),),
                hint=f"write `{near}`" if near else None,
            )
        )
        return None

    def _wrong(self, node: Node, where: str, wanted: str) -> None:
        self.faults.append(
            Diagnostic(
                code="ATL0202",
                message=f"`{where or 'the manifest'}` has the wrong type",
                span=node.at,
                notes=(f"expected: {wanted}", f"found: {_kind(node.value)}"),
            )
        )

    def _missing(self, known: Iterable[Key], node: Node, where: str) -> None:
        if self.partial:
            return
        for item in known:
            if item.required and item.name not in node.value:
                self.faults.append(
                    Diagnostic(
                        code="ATL0206",
                        message=f"`{_join(where, item.name)}` is missing",
                        span=node.span,
                        notes=(f"what it says: {item.doc}",),
                        hint=f"add `{item.name} = …`",
                    )
                )

    def _place(self, table: type[Any], node: Node) -> dict[str, Any]:
        names = {item.name for item in fields(table)}
        places = {"span": node.span} if "span" in names else {}
        if "accel_span" in names and "accel" in node.value:
            places["accel_span"] = node.value["accel"].at
        return places


_SCALARS: dict[type, str] = {str: "a string", bool: "true or false", float: "a number"}


def _kind(value: Any) -> str:
    kinds: tuple[tuple[Any, str], ...] = (
        (dict, "a table"),
        (list, "a list"),
        (bool, "a boolean"),
        (str, "a string"),
        (int, "an integer"),
        (float, "a float"),
        ((datetime.date, datetime.time), "a date or time"),
    )
    name = next(word for kind, word in kinds if isinstance(value, kind))
    shown = str(value).lower() if isinstance(value, bool) else str(value)
    return name if isinstance(value, dict | list) else f"{name}, {_short(shown)}"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def _join(where: str, name: str) -> str:
    bare = name.replace("-", "").replace("_", "").isalnum() and name.isascii()
    spelled = _short(name) if bare else f"'{_short(name)}'"
    return f"{where}.{spelled}" if where else spelled


def unknown_key(span: Span, name: str, where: str, known: Iterable[str]) -> Diagnostic:
    """Return the refusal of a key that the model does not have."""
    words = list(known)
    near = nearest(name, words)
    place = f"`[{where}]`" if where else "the manifest"
    return Diagnostic(
        code="ATL0201",
        message=f"unknown key `{_short(name)}` in {place}",
        span=span,
        notes=("known keys: " + ", ".join(words),),
        hint=f"write `{near}`" if near else None,
    )
