"""What does an editor read? ``compile_commands.json``, valid for clang-based tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll.graph import Action
from atoll.plugin import DataProduct, ObjectProduct


def compile_commands(
    root: Path,
    objects: Iterable[ObjectProduct],
    actions: Mapping[str, Action],
    data: Iterable[DataProduct] = (),
) -> str:
    """Return the text of the database: one row an object or device unit that clang knows, sorted by file."""
    rows = [
        _row(root, product.unit.path, product.path, product.clang_argv or actions[product.path].argv)
        for product in objects
    ]
    rows += [
        _row(root, product.unit.path, product.path, product.clang_argv)
        for product in data
        if product.clang_argv
    ]
    rows.sort(key=lambda row: (str(row["file"]), str(row["output"])))
    # A row a line: indenting them takes the slow half of `json`.
    encode = json.JSONEncoder(ensure_ascii=False).encode
    lines = ",\n".join(map(encode, rows))
    return f"[\n{lines}\n]\n" if rows else "[]\n"


def _row(root: Path, file: str, output: str, argv: tuple[str, ...]) -> dict[str, object]:
    return {"directory": str(root), "file": file, "arguments": list(argv), "output": output}
