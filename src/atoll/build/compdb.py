"""What does an editor read? ``compile_commands.json``, valid for clang-based tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll.graph import Action
from atoll.plugin import ObjectProduct


def compile_commands(root: Path, products: Iterable[ObjectProduct], actions: Mapping[str, Action]) -> str:
    """Return the text of the database: one row an object, sorted by file."""
    rows = [
        {
            "directory": str(root),
            "file": product.unit.path,
            "arguments": list(product.clang_argv or actions[product.path].argv),
            "output": product.path,
        }
        for product in products
    ]
    rows.sort(key=lambda row: (str(row["file"]), str(row["output"])))
    return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
