from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from atoll.manifest import describe, model, shape
from unit.manifest.test_read import WHOLE

ROOT = Path(__file__).resolve().parents[3]


def _generated() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("manifest_reference", ROOT / "tools/manifest_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = module.generated()
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", sorted(_generated()))
def test_regenerating_leaves_no_difference(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == _generated()[name]


def test_every_key_of_the_model_stands_on_the_page() -> None:
    page = describe.reference_page()
    found = [item for item in vars(model).values() if isinstance(item, type)]
    tables: list[type[Any]] = [item for item in found if dataclasses.is_dataclass(item)]
    names = {name for table in tables for name in shape.keys(table)}  # type: ignore[arg-type] # mypy: a type is hashable
    missing = [name for name in names if f"`{name}`" not in page and f"[{name}]" not in page]
    # Tables of tables stand as headings.
    assert [name for name in missing if not re.search(rf"\[+{name}[.\]]", page)] == []


def test_the_schema_and_the_reader_agree_about_a_manifest_with_every_key() -> None:
    _valid(tomllib.loads(WHOLE), describe.json_schema())
    with pytest.raises(AssertionError):
        _valid(tomllib.loads(WHOLE.replace("kind =", "kinds =", 1)), describe.json_schema())


def _valid(value: object, schema: dict[str, object], root: dict[str, object] | None = None) -> None:
    """Check the few words of JSON schema that the generator writes."""
    root = schema if root is None else root
    if "$ref" in schema:
        definitions = json.loads(json.dumps(root["$defs"]))
        _valid(value, definitions[str(schema["$ref"]).rpartition("/")[2]], root)
    if "anyOf" in schema:
        options = json.loads(json.dumps(schema["anyOf"]))
        assert any(_is_valid(value, option, root) for option in options), value
    if "enum" in schema:
        assert value in json.loads(json.dumps(schema["enum"])), value
    kinds = {"string": str, "boolean": bool, "number": (int, float), "array": list, "object": dict}
    if "type" in schema:
        assert isinstance(value, kinds[str(schema["type"])]), (value, schema)  # type: ignore[arg-type]
    if isinstance(value, list) and "items" in schema:
        for item in value:
            _valid(item, json.loads(json.dumps(schema["items"])), root)
    if isinstance(value, dict):
        known = json.loads(json.dumps(schema.get("properties", {})))
        more = json.loads(json.dumps(schema.get("additionalProperties", True)))
        assert set(json.loads(json.dumps(schema.get("required", [])))) <= set(value)
        for name, item in value.items():
            if name in known:
                _valid(item, known[name], root)
            elif isinstance(more, dict):
                _valid(item, more, root)
            else:
                assert more, name


def _is_valid(value: object, schema: dict[str, object], root: dict[str, object]) -> bool:
    try:
        _valid(value, schema, root)
    except AssertionError:
        return False
    return True
