"""What does an editor read? ``compile_commands.json``, valid for clang-based tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll._util.jsontext import listed, quoted
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
        (product.unit.path, product.path, product.clang_argv or actions[product.path].argv)
        for product in objects
    ]
    rows += [(product.unit.path, product.path, product.clang_argv) for product in data if product.clang_argv]
    folder = quoted(str(root), wide=True)
    lines = ",\n".join([_row(folder, *row) for row in sorted(rows)])
    return f"[\n{lines}\n]\n" if rows else "[]\n"


def _row(folder: str, file: str, output: str, argv: tuple[str, ...]) -> str:
    """Return a row on a line of its own: indenting takes the slow half of `json`."""
    return (
        f'{{"directory": {folder}, "file": {quoted(file, wide=True)}'
        f', "arguments": {listed(argv, wide=True)}, "output": {quoted(output, wide=True)}}}'
    )
