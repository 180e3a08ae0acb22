"""What shape has a key of the model? The types of the dataclasses as values that reader and schema walk.

Words: a *shape* is one of the classes below. Only what the model uses is understood; anything else is
a fault of the model and raises at once.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any

from atoll._util.values import MISSING, Field, dataclass, fields, is_dataclass
from atoll.manifest import model


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, a boolean or a number."""

    type: type[str] | type[bool] | type[float]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a closed list of words."""

    type: type[StrEnum]


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    item: Shape


@dataclass(frozen=True, slots=True)
class Named:
    """A table whose keys are names that the author chooses."""

    item: Shape


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the model.

    Attributes:
        type: Its dataclass.
        word: The key that a plain string stands for, where one may; else empty.
    """

    type: type[Any]
    word: str = ""


Shape = Scalar | Choice | Many | Named | Table


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a table.

    Attributes:
        name: As TOML spells it.
        field: The dataclass field it becomes.
        shape: What it takes.
        required: Whether the table is refused without it.
        default: Its default; ``MISSING`` where it is required.
        doc: What it means.
    """

    name: str
    field: str
    shape: Shape
    required: bool
    default: Any
    doc: str


# Tables that may be written as a plain string, and the key it stands for.
_WORDS: Mapping[type[Any], str] = {model.Source: "glob", model.Link: "name"}


@cache
def keys(table: type[Any]) -> Mapping[str, Key]:
    """Return the keys of a table by their spelling in TOML, in the order of the model."""
    found = (_key(item, _hint(str(item.type))) for item in fields(table) if "doc" in item.metadata)
    return {item.name: item for item in found}


@cache
def _hint(text: str) -> Any:
    """Return the type that an annotation of the model says; each text is compiled once."""
    return eval(text, vars(model) | _lazy())  # noqa: S307 - texts of the model alone


def is_open(table: type[Any]) -> bool:
    """Tell whether keys beyond the model's own are kept for someone else to check."""
    return any("open" in item.metadata for item in fields(table))


def _lazy() -> dict[str, Any]:
    # Names of hidden fields that the model imports only for the type checker.
    return {"Node": object, "Overlay": object, "AccelSet": object}


def _key(item: Field[Any], hint: Any) -> Key:
    default = item.default if item.default_factory is MISSING else item.default_factory()
    return Key(
        name=item.metadata["key"] or item.name.replace("_", "-"),
        field=item.name,
        shape=shape_of(hint),
        required=default is MISSING,
        default=default,
        doc=item.metadata["doc"],
    )


def shape_of(hint: Any) -> Shape:
    """Return the shape of a type annotation of the model."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        (only,) = (item for item in arguments if item is not type(None))
        return shape_of(only)
    if origin is tuple:
        return Many(shape_of(arguments[0]))
    if origin is Mapping:
        return Named(shape_of(arguments[1]))
    if is_dataclass(hint) and isinstance(hint, type):
        return Table(hint, _WORDS.get(hint, ""))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return Choice(hint)
    if hint in {str, bool, float}:
        return Scalar(hint)
    raise TypeError(f"the manifest model has no shape for {hint!r}")
