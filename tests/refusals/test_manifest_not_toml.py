"""A text that is not TOML is refused at the place where it stops being that."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import ManifestError
from atoll.manifest import read
from unit.manifest.manifests import HEAD, refused, write


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("x", 3, 2), ("x = ", 3, 5), ("[a\n", 3, 3), ("x = 1\nx = 2\n", 4, 6), ('x = "a', 3, 7)],
)
def test_the_place_is_named(tmp_path: Path, text: str, line: int, column: int) -> None:
    found = refused(write(tmp_path, HEAD + text), "ATL0205", "is not TOML", "reason: ")
    assert found.span is not None
    assert (found.span.line, found.span.column) == (line, column)


def test_a_predicate_that_cannot_be_read_is_refused_at_its_place(tmp_path: Path) -> None:
    text = "[target.'cfg(acelerator = \"x\")'.build]\n"
    with pytest.raises(ManifestError) as caught:
        read(write(tmp_path, HEAD + text))
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.text[span.column - 1 :].startswith("acelerator")
