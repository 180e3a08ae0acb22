"""Globs name what a plain definition of them names, over random trees and patterns."""

from __future__ import annotations

import fnmatch
import tempfile
from itertools import product
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.manifest import glob

PARTS = ["a", "b", ".h", "ab"]
PATHS = sorted({"/".join(parts) for depth in (1, 2, 3) for parts in product(PARTS, repeat=depth)})
FILES = [f"{path}.c" for path in PATHS]
PATTERNS = st.lists(
    st.sampled_from(["**", "*", "a", "a*", "*b", "[ab]", ".h", ".*", "?", "*.c", "a.c", "**"]),
    min_size=1,
    max_size=5,
).map("/".join)


def matches(pattern: list[str], path: list[str]) -> bool:
    """Say by the plain definition whether a path fits."""
    if not pattern:
        return not path
    if pattern[0] == "**":
        rest = bool(path) and not path[0].startswith(".") and matches(pattern, path[1:])
        return matches(pattern[1:], path) or rest
    if not path or (path[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    return fnmatch.fnmatchcase(path[0], pattern[0]) and matches(pattern[1:], path[1:])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(FILES), max_size=12, unique=True), st.lists(PATTERNS, min_size=1, max_size=6))
def test_a_glob_names_what_its_definition_names(files: list[str], patterns: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for file in files:
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text("")
        for text in patterns:
            pattern = glob.parse(text)
            assert isinstance(pattern, glob.Pattern)
            wanted = sorted(file for file in files if matches(text.split("/"), file.split("/")))
            assert glob.expand(root, pattern) == wanted, text


def test_a_pattern_made_to_backtrack_ends(tmp_path: Path) -> None:
    (tmp_path / ("a" * 200)).write_text("")
    for text in ("**/" * 40 + "b", "*a" * 100 + "b", "*" * 400):
        pattern = glob.parse(text)
        assert isinstance(pattern, glob.Pattern) == ("**" not in text.replace("**/", ""))
        if isinstance(pattern, glob.Pattern):
            assert glob.expand(tmp_path, pattern) == []
