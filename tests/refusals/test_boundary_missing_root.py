"""Refused: a root or a layout root that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import scan
from atoll.errors import UnreadableError
from unit.boundary.kit import interface, one, scanned


def test_a_root_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UnreadableError) as caught:
        scan(tmp_path / "nowhere", shown=tmp_path)
    assert caught.value.diagnostics[0].message == "the root `nowhere` does not exist"


def test_a_layout_root_that_is_none_of_the_roots(tmp_path: Path) -> None:
    root = scanned(tmp_path / "cpu", "ATOLL_EXPORT_C int f() { return 0; }")
    fault = one(lambda: interface(root, layout_root="gpu"))
    assert (fault.code, fault.message) == ("ATL0314", "the layout root `gpu` is none of the roots")
    assert fault.notes == ("roots: cpu",)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").symlink_to("a.cpp")
    with pytest.raises(UnreadableError) as caught:
        scan(tmp_path, shown=tmp_path)
    assert caught.value.diagnostics[0].message == "the file `a.cpp` could not be read"
