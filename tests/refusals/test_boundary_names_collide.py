"""Refused: two things that get one name in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.boundary.kit import interface, one, scanned


def marked(*names: str) -> str:
    return "".join(f"ATOLL_EXPORT_C int {name}() {{ return 0; }}\n" for name in names)


@pytest.mark.parametrize(
    ("names", "prefix", "taken"),
    [
        (("app_scale", "scale"), "app_", "scale"),
        (("app_class", "class_"), "app_", "class_"),
        (("app_use",), "app_", "use"),
        (("device_name",), "", "device_name"),
        (("lambda", "lambda_"), "", "lambda_"),
        (("image",), "", "image"),
    ],
)
def test_the_name_and_both_owners_are_said(
    tmp_path: Path, names: tuple[str, ...], prefix: str, taken: str
) -> None:
    files = {"a.cpp": marked(*names), "image/b.cpp": marked("inner")}
    fault = one(lambda: interface(scanned(tmp_path / "cpu", files), strip_prefix=prefix))
    assert (fault.code, fault.message) == ("ATL0310", f"two things are called `{taken}`")
    assert fault.notes[0].startswith("one is: ")
    assert fault.notes[1].startswith("the other is: `")


def test_one_name_in_two_namespaces_is_two_things(tmp_path: Path) -> None:
    files = {"a/a.cpp": marked("app_scale"), "b/b.cpp": marked("scale")}
    interface(scanned(tmp_path / "cpu", files), strip_prefix="app_")
