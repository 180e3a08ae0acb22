"""Which structs do the headers define that a file includes by quotes? Only what lies beside it is looked at.

`#include "types.h"` is looked up from the folder of the file that says so, as compilers do first; include
paths are a lane's business. Headers of headers are followed. Bounded: in files, in their size, and in time.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.values import replace
from atoll.boundary import grammar
from atoll.boundary.structs import INSIDE, found_structs
from atoll.boundary.values import Struct

if TYPE_CHECKING:
    from tree_sitter import Node

FILES = 32
"""Headers that are looked at for one file."""
SECONDS = 2.0
"""What parsing them may take together."""


def included_structs(tree: Node, path: Path, limit: int) -> dict[str, Struct | str]:
    """Return the structs of the headers that a file includes by quotes; one that cannot cross as the reason.

    Args:
        tree: The file's own tree.
        path: The file.
        limit: Bytes that a header may have; a larger one is passed over.
    """
    found: dict[str, Struct | str] = {}
    waiting = deque(_quoted(tree, path))
    seen: set[Path] = {path.resolve()}
    until = time.monotonic() + SECONDS
    while waiting and len(seen) <= FILES and time.monotonic() < until:
        header = waiting.popleft()
        if header in seen:
            continue
        seen.add(header)
        inner = _parsed(header, limit, until - time.monotonic())
        if inner is None:
            continue
        waiting += _quoted(inner, header)
        for name, made in found_structs(inner).items():
            told = (
                f"{made}, in `{header.name}`" if isinstance(made, str) else replace(made, place=str(header))
            )
            if found.setdefault(name, told) != told:
                found[name] = "headers define it twice, and differently"
    return found


def _quoted(node: Node, path: Path) -> Iterator[Path]:
    """Give each file that is included by quotes, where it is one."""
    for child in node.named_children:
        if child.type in INSIDE:
            yield from _quoted(child, path)
        written = child.child_by_field_name("path") if child.type == "preproc_include" else None
        if written is None or written.type != "string_literal":
            continue
        name = (written.text or b"").decode("utf-8", "replace").strip('"')
        try:
            place = (path.parent / name).resolve()
            if place.is_file():
                yield place
        except (OSError, ValueError):
            continue  # a name that no file can have


def _parsed(header: Path, limit: int, seconds: float) -> Node | None:
    try:
        with header.open("rb") as file:
            text = file.read(limit + 1)
    except OSError:
        return None
    if len(text) > limit:
        return None
    tree = grammar.parse(text, grammar.FALLBACK, seconds)
    return None if tree is None else tree.root_node
