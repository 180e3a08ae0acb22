"""The plugins that are installed, read from files, are those that `importlib.metadata` finds."""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

from atoll._util import installed


def put(folder: Path, name: str, text: str) -> None:
    place = folder / f"{name}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.partition('-')[0]}\nVersion: 1\n")
    (place / "entry_points.txt").write_text(text)


def both(group: str) -> list[tuple[str, str, str]]:
    """Return what is found, which must be what the standard library finds."""
    found = sorted((point.name, point.value, point.package) for point in installed.points(group))
    asked = sorted((p.name, p.value, p.dist.name if p.dist else "") for p in entry_points(group=group))
    assert found == asked
    return found


def test_they_are_those_of_the_standard_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert {name for name, *_ in both("atoll.lanes")} >= {"host", "spirv"}
    assert installed.version("atoll") == version("atoll")
    odd = "# a = comment\n\n[other]\nx = y:z\n[mine]\n  a=pkg.mod:Thing.inner [extra]\nb = c\n"
    put(tmp_path / "one", "some_thing-1.2", odd)
    put(tmp_path / "two", "some.thing-1.3", "[mine]\nlater = not:seen\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "one"), str(tmp_path / "two"), *sys.path])
    assert [row[0] for row in both("mine")] == ["a", "b"]
    assert both("nobody") == []


def test_a_zip_file_on_the_path_is_left_to_the_standard_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("inner-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: inner\nVersion: 1\n")
        packed.writestr("inner-1.dist-info/entry_points.txt", "[mine]\na = b:c\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packed.zip"), *sys.path])
    assert both("mine") == [("a", "b:c", "inner")]


def test_a_point_loads_what_it_names() -> None:
    assert installed.Point("a", "pathlib:Path.cwd [x]", "g").load() == Path.cwd
    with pytest.raises(AttributeError):
        installed.Point("a", "pathlib:Nothing", "g").load()
