"""Refused: a folder, root, module or marker that cannot be an identifier."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import scan
from unit.boundary.kit import interface, one, refused, scanned

BODY = "ATOLL_EXPORT_C int f() { return 0; }"


@pytest.mark.parametrize("folder", ["my-ops", "2d", "a b", "größe", "a.b"])
def test_a_folder_with_marked_functions_must_be_an_identifier(tmp_path: Path, folder: str) -> None:
    fault = one(lambda: scanned(tmp_path / "cpu", {f"{folder}/a.cpp": BODY}))
    assert (fault.code, fault.message) == ("ATL0311", f"the folder `{folder}` cannot be a segment of a name")
    assert fault.span is not None
    assert fault.span.file == f"cpu/{folder}/a.cpp"


def test_a_folder_without_marked_functions_may_be_called_anything(tmp_path: Path) -> None:
    assert scanned(tmp_path / "cpu", {"my-ops/a.cpp": "int f();", "b.cpp": BODY}).entries


@pytest.mark.parametrize("module", ["app-x", "app..k", "", "app.class", "1app"])
def test_a_module_must_be_identifiers_and_no_keyword(tmp_path: Path, module: str) -> None:
    root = scanned(tmp_path / "cpu", BODY)
    assert {item.code for item in refused(lambda: interface(root, module=module))} == {"ATL0311"}


def test_a_root_must_be_an_identifier(tmp_path: Path) -> None:
    root = scanned(tmp_path / "my-cpu", BODY)
    assert one(lambda: interface(root)).message == "the root `my-cpu` cannot be a segment of a name"


def test_a_marker_must_be_an_identifier(tmp_path: Path) -> None:
    assert one(lambda: scan(tmp_path, marker="MY-EXPORT")).code == "ATL0311"
