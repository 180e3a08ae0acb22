"""What dependencies are refused with, word for word (`texts/`)."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from atoll.build import packages
from atoll.errors import BuildError
from refusals.exact import check
from unit.build.build_project import reopened
from unit.build.test_dependencies import OTHER, app, below, sdist
from unit.plugins.lane_project import write


def library(name: str, more: str = "", version: str = "1") -> dict[str, str]:
    text = f'[package]\nname = "{name}"\nversion = "{version}"\n[targets.{name}]\nkind = "static"\n{more}'
    return below(name, {"atoll.toml": text, f"src/{name}.cpp": f"int {name}();\n"})


def needs(*names: str) -> str:
    return "[dependencies]\n" + "".join(f'{name} = {{ path = "../{name}" }}\n' for name in names)


def listed(name: str) -> str:
    return f'{name} = {{ path = "../{name}" }}'


CASES = {
    "ATL0540_not_there": app(listed("other")),
    "ATL0541_version": {**app('other = { path = "../other", version = ">=2" }'), **below("other", OTHER)},
    "ATL0542_another": {**app('else = { path = "../other" }'), **below("other", OTHER)},
    "ATL0546_circle": {**app(listed("one")), **library("one", needs("two")), **library("two", needs("one"))},
    "ATL0549_lock": {**app(listed("other")), **below("other", OTHER), "app/atoll.lock": "[[nonsense"},
}
ROW = {"role": "library", "accel": ""}
INDEXES = {"ATL0547_leaves": "../x.a", "ATL0548_no_library": "libx.a"}


def building(root: Path, files: dict[str, str]) -> object:
    return reopened(write(root, files) / "app").build()


@pytest.mark.parametrize("name", CASES)
def test_a_dependency(tmp_path: Path, name: str) -> None:
    check(name, tmp_path, lambda root: building(root, CASES[name]))


@pytest.mark.parametrize("name", INDEXES)
def test_an_index(tmp_path: Path, name: str) -> None:
    row = {**ROW, "path": INDEXES[name]}
    text = json.dumps({"package": "other", "version": "1", "artifacts": [row]})
    files = {"index.json": text, **app('other = { index = "../index.json" }')}
    check(name, tmp_path, lambda root: building(root, files))


def test_a_distribution_without_a_manifest(tmp_path: Path) -> None:
    sdist(tmp_path / "other-1.tar.gz", {"README": "no"}, "other-1")
    files = app('other = { path = "../other-1.tar.gz" }')
    check("ATL0543_no_manifest", tmp_path, lambda root: building(root, files))


def test_a_folder_without_a_manifest_below_a_project_that_has_one(tmp_path: Path) -> None:
    """The one above is another package's: taking it led to a circle, or to a folder that was not named."""
    files = {**app('other = { path = "other/inner" }'), "app/other/inner/README": "no"}
    check("ATL0543_folder", tmp_path, lambda root: building(root, files))
    write(tmp_path, {"app/other/atoll.toml": '[package]\nname = "other"\n'})
    check("ATL0543_folder", tmp_path, lambda root: reopened(root / "app").build())


def test_more_packages_than_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packages, "MAX_PACKAGES", 2)
    names = ("one", "two", "three")
    files = {**app("\n".join(map(listed, names))), **{k: v for n in names for k, v in library(n).items()}}
    check("ATL0545_too_many", tmp_path, lambda root: building(root, files))


def test_another_version_than_the_one_that_was_taken(tmp_path: Path) -> None:
    near, far = library("other", version="1"), library("other", version="2")
    inner = {name.replace("other/", "inner/other/", 1): text for name, text in far.items()}
    one = library("one", '[dependencies]\nother = { path = "../inner/other", version = ">=2" }\n')
    made = reopened(
        write(tmp_path, {**app(f"{listed('other')}\n{listed('one')}"), **near, **inner, **one}) / "app"
    )

    def case(_: Path) -> None:
        raise BuildError(*made.packages.warnings)

    check("ATL0544_other_version", tmp_path, case)


def test_a_file_that_is_not_the_locked_one(tmp_path: Path) -> None:
    files = {"atoll.toml": OTHER["atoll.toml"], **{k: v for k, v in OTHER.items() if k != "atoll.toml"}}
    sdist(tmp_path / "other-1.4.tar.gz", files, "other-1.4")
    project = app('other = { path = "../other-1.4.tar.gz" }')
    building(tmp_path, project)
    lock = tmp_path / "app/atoll.lock"

    lock.write_text(re.sub(r"[0-9a-f]{64}", "0" * 64, lock.read_text()))
    (digest,) = {hashlib.sha256((tmp_path / "other-1.4.tar.gz").read_bytes()).hexdigest()}
    check("ATL0583_not_the_locked", tmp_path, lambda root: building(root, project), {digest: "DIGEST"})
