"""A dependency that cannot be had is refused by name, and hides no other one."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest

from atoll.build.packages import MAX_PACKAGES
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from unit.build.build_project import reopened
from unit.build.test_dependencies import OTHER, app, below, sdist
from unit.plugins.lane_project import write
from unit.store import wheels


def refused(root: Path, files: dict[str, str]) -> tuple[Diagnostic, ...]:
    write(root, files)
    with pytest.raises(AtollError) as raised:
        reopened(root / "app").build()
    return raised.value.diagnostics


def library(name: str, more: str = "") -> dict[str, str]:
    text = f'[package]\nname = "{name}"\n[targets.{name}]\nkind = "static"\n{more}'
    return below(name, {"atoll.toml": text, f"src/{name}.cpp": f"int {name}();\n"})


def test_a_place_with_nothing(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, app('other = { path = "../other" }'))
    assert (found.code, found.message) == ("ATL0540", "the dependency `other` is not there")
    assert found.notes[:2] == ("declared by: app", f"looked for: {tmp_path / 'other'}")


def test_another_version(tmp_path: Path) -> None:
    files = {**app('other = { path = "../other", version = ">=2" }'), **below("other", OTHER)}
    (found,) = refused(tmp_path, files)
    assert found.code == "ATL0541"
    assert found.message == "the package `other` has another version than the one asked for"
    assert found.notes == ("asked for by app: >=2", "found: 1.4 in ../other")


def test_another_package(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, {**app('else = { path = "../other" }'), **below("other", OTHER)})
    assert (found.code, found.message) == ("ATL0542", "the dependency `else` is another package")
    assert found.notes == ("declared as: else", "its manifest says: other")


def test_a_distribution_without_a_manifest(tmp_path: Path) -> None:
    sdist(tmp_path / "other-1.tar.gz", {"README": "no"}, "other-1")
    wheels.wheel(tmp_path, "plain", "1.0")
    lines = 'other = { path = "../other-1.tar.gz" }\nplain = { path = "../plain-1.0-py3-none-any.whl" }'
    found = refused(tmp_path, app(lines))
    assert [item.code for item in found] == ["ATL0543", "ATL0543"]
    assert found[0].message == "the distribution `other-1.tar.gz` is no package that Atoll can use"
    assert found[1].notes[1] == "looked for: *.dist-info/atoll.json"


def test_a_circle_is_named(tmp_path: Path) -> None:
    one = library("one", '[dependencies]\ntwo = { path = "../two" }\n')
    two = library("two", '[dependencies]\none = { path = "../one" }\n')
    (found,) = refused(tmp_path, {**app('one = { path = "../one" }'), **one, **two})
    assert (found.code, found.message) == ("ATL0546", "packages depend on each other in a circle")
    assert found.notes == ("`one` depends on `two`", "`two` depends on `one`")


def test_a_circle_through_the_project_is_named(tmp_path: Path) -> None:
    one = library("one", '[dependencies]\napp = { path = "../app" }\n')
    (found,) = refused(tmp_path, {**app('one = { path = "../one" }'), **one})
    assert found.code == "ATL0546"
    assert found.notes == ("`app` depends on `one`", "`one` depends on `app`")


def test_a_chain_as_long_as_the_bound_is_no_circle(tmp_path: Path) -> None:
    names = [f"p{index}" for index in range(MAX_PACKAGES)]
    chain: dict[str, str] = {}
    for name, other in zip(names, [*names[1:], ""], strict=True):
        more = f'[dependencies]\n{other} = {{ path = "../{other}" }}\n' if other else ""
        chain |= library(name, more)
    write(tmp_path, {**app('p0 = { path = "../p0" }'), **chain})
    assert len(reopened(tmp_path / "app").packages.rows) == MAX_PACKAGES


def test_requires_atoll_refuses_its_package_alone(tmp_path: Path) -> None:
    new = library("new")
    new["new/atoll.toml"] = new["new/atoll.toml"].replace(
        'name = "new"', 'name = "new"\nrequires-atoll = ">=99"'
    )
    lines = 'new = { path = "../new" }\nother = { path = "../nowhere" }\ngood = { path = "../good" }'
    found = refused(tmp_path, {**app(lines), **new, **library("good")})
    assert [item.code for item in found] == ["ATL0210", "ATL0540"]
    assert found[0].message == "`new` asks for another Atoll than this one"
    assert found[0].notes == ("asked: atoll >=99", f"this one: atoll {version('atoll')}")


def test_an_unknown_feature_names_who_asks(tmp_path: Path) -> None:
    files = {**app('other = { path = "../other", features = ["mode"] }'), **below("other", OTHER)}
    (found,) = refused(tmp_path, files)
    assert (found.code, found.notes[0]) == ("ATL0233", "asked for by: `[dependencies]` of app")


def index(root: Path, path: str) -> dict[str, str]:
    row = {"role": "library", "path": path, "accel": ""}
    write(root, {"index.json": json.dumps({"package": "other", "version": "1", "artifacts": [row]})})
    return app('other = { index = "../index.json" }')


@pytest.mark.parametrize("path", ["../x.a", "/x.a", "a/../../x.a", "", "a\nb.a"])
def test_an_artifact_that_leaves_its_folder(tmp_path: Path, path: str) -> None:
    (found,) = refused(tmp_path, index(tmp_path, path))
    assert found.code == "ATL0547"
    assert found.notes[1] == f"path: {path!r}"


def test_a_library_that_is_not_there(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, index(tmp_path, "libx.a"))
    assert (found.code, found.message) == ("ATL0548", "a prebuilt library of `other` is not there")


def test_an_index_of_packages_offline(tmp_path: Path) -> None:
    (found,) = refused(tmp_path, app('other = { index = "other", version = ">=1" }'))
    assert found.code == "ATL0580"
    assert found.notes[0] == "wanted: other>=1"


@pytest.mark.parametrize("text", ["format = 9\n", "not toml", "format = 1\n[[package]]\nname = 3\n", "\x00"])
def test_a_lock_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    sdist(tmp_path / "other-1.4.tar.gz", OTHER, "other-1.4")
    files = {**app('other = { path = "../other-1.4.tar.gz" }'), "app/atoll.lock": text}
    (found,) = refused(tmp_path, files)
    assert (found.code, found.message) == ("ATL0549", "`atoll.lock` could not be read")


def test_bytes_that_are_not_the_locked_ones(tmp_path: Path) -> None:
    write(tmp_path, app('other = { path = "../other-1.4.tar.gz" }'))
    sdist(tmp_path / "other-1.4.tar.gz", OTHER, "other-1.4")
    reopened(tmp_path / "app").build()
    before = (tmp_path / "app/atoll.lock").read_text().split('"')[-2]
    sdist(tmp_path / "other-1.4.tar.gz", {**OTHER, "extra": "x"}, "other-1.4")
    (found,) = refused(tmp_path, {})
    assert found.code == "ATL0583"
    assert found.message == "`other-1.4.tar.gz` of `other` is not the file that `atoll.lock` pins"
    assert found.notes[0] == f"pinned SHA-256: {before}"
