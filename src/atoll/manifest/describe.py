"""What may a manifest say? The model as a JSON schema and as a reference page.

Both are generated, so that neither can differ from the reader (`tools/manifest_reference.py` writes them).
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, assert_never

from atoll._util.values import is_dataclass
from atoll.manifest.model import Manifest, Overlaid
from atoll.manifest.shape import Choice, Key, Many, Named, Scalar, Shape, Table, is_open, keys

_SCALARS = {str: "string", bool: "boolean", float: "number"}


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of ``atoll.toml``."""
    tables: dict[str, Any] = {}
    _define(Manifest, tables)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "atoll.toml",
        "$ref": "#/$defs/Manifest",
        "$defs": dict(sorted(tables.items())),
    }


def _define(table: type[Any], tables: dict[str, Any], partial: bool = False) -> str:
    """Define a table, once; return its reference. A partial one, in an overlay, requires no key."""
    name = f"{table.__name__}Overlay" if partial and table is not Overlaid else table.__name__
    if name not in tables:
        found: dict[str, Any] = {"type": "object", "description": _summary(table)}
        tables[name] = found
        known = _keys(table)
        found["properties"] = {key: _property(item, tables, partial) for key, item in known.items()}
        found["required"] = [key for key, item in known.items() if item.required and not partial]
        found["additionalProperties"] = is_open(table)
    return f"#/$defs/{name}"


def _property(item: Key, tables: dict[str, Any], partial: bool) -> dict[str, Any]:
    found = {"description": item.doc} | _schema(item.shape, tables, partial)
    if isinstance(item.default, str | bool | int | float | StrEnum) and not partial:
        found["default"] = item.default
    return found


def _schema(shape: Shape, tables: dict[str, Any], partial: bool) -> dict[str, Any]:
    match shape:
        case Scalar():
            return {"type": _SCALARS[shape.type]}
        case Choice():
            return {"enum": [str(word) for word in shape.type]}
        case Many():
            # An item of a list is whole even in an overlay.
            return {"type": "array", "items": _schema(shape.item, tables, partial=False)}
        case Named():
            return {"type": "object", "additionalProperties": _schema(shape.item, tables, partial)}
        case Table():
            partial = partial or shape.type is Overlaid
            table = {"$ref": _define(shape.type, tables, partial)}
            return {"anyOf": [{"type": "string"}, table]} if shape.word else table
    assert_never(shape)


def reference_page() -> str:
    """Return the reference page as Markdown."""
    return "\n".join(_page())


def _page() -> Iterator[str]:
    yield "# The manifest"
    yield ""
    yield "Generated from `atoll.manifest.model` by `tools/manifest_reference.py`; edits are lost."
    yield ""
    yield "A project is described by `atoll.toml`, or by `[tool.atoll]` in `pyproject.toml`: one schema. A"
    yield "key that is not listed here is refused with its place and the nearest one that is; only"
    yield "`[lane.NAME]` takes more, which the lane checks. In `pyproject.toml`, `name`, `version`,"
    yield "`description`, `license` and `requires-python` are taken from `[project]` where"
    yield "`[tool.atoll.package]` does not state them."
    yield ""
    yield "In overlays, `[target.'cfg(…)'.…]`, lists append and tables merge; a key that is not there changes"
    yield "nothing, and `sources = []` is a key that is there."
    yield ""
    for heading, table in _sections():
        yield from _section(heading, table)


def _sections() -> Iterator[tuple[str, type[Any]]]:
    """Yield every table once, under the heading that an author would write."""
    seen: set[type[Any]] = set()
    todo: list[tuple[str, Shape]] = [(f"[{item.name}]", item.shape) for item in _keys(Manifest).values()]
    while todo:
        heading, shape = todo.pop(0)
        match shape:
            case Many():
                todo.insert(0, (_listed(heading, shape.item), shape.item))
            case Named():
                name = "'cfg(…)'" if heading == "[target]" else "NAME"
                todo.insert(0, (f"{heading[:-1]}.{name}]" if heading.endswith("]") else heading, shape.item))
            case Table() if shape.type not in seen:
                seen.add(shape.type)
                yield heading, shape.type
                inner = [(_inner(heading, item), item.shape) for item in _keys(shape.type).values()]
                todo[:0] = [pair for pair in inner if _holds_table(pair[1])]
            case _:
                continue


def _holds_table(shape: Shape) -> bool:
    return isinstance(shape, Table) or (isinstance(shape, Many | Named) and _holds_table(shape.item))


def _inner(heading: str, item: Key) -> str:
    return f"{heading[:-1]}.{item.name}]"


def _listed(heading: str, item: Shape) -> str:
    word = item.word if isinstance(item, Table) else ""
    return f"an item of {heading[1:-1]}" if word else f"[{heading}]"


def _section(heading: str, table: type[Any]) -> Iterator[str]:
    yield f"## `{heading}`" if heading.startswith("[") else f"## {heading[0].upper()}{heading[1:]}"
    yield ""
    yield _summary(table)
    yield ""
    yield "| key | takes | default | what it says |"
    yield "|---|---|---|---|"
    for name, item in _keys(table).items():
        yield f"| `{name}` | {_takes(item.shape)} | {_default(item)} | {item.doc} |"
    if is_open(table):
        yield "| any other | anything | – | Belongs to the lane. |"
    yield ""


def _takes(shape: Shape) -> str:
    match shape:
        case Scalar():
            return {str: "string", bool: "true or false", float: "number"}[shape.type]
        case Choice():
            return ", ".join(f"`{word}`" for word in shape.type)
        case Many():
            return f"list of {_takes(shape.item)}"
        case Named():
            return f"table by name of {_takes(shape.item)}"
        case Table():
            return "string or table" if shape.word else "table"
    assert_never(shape)


def _default(item: Key) -> str:
    if item.required:
        return "required"
    if isinstance(item.default, StrEnum):
        return f"`{item.default}`"
    if isinstance(item.default, bool):
        return f"`{str(item.default).lower()}`"
    if isinstance(item.default, str) and item.default:
        return f'`"{item.default}"`'
    return "–"


def _summary(table: type[Any]) -> str:
    text = inspect.getdoc(table) or ""
    return text if "Attributes:" not in text else text.partition("Attributes:")[0].strip()


def _keys(table: type[Any]) -> Mapping[str, Key]:
    assert is_dataclass(table)
    return keys(table)
