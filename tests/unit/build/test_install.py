"""Descriptions of installed libraries, and archives that a lane needs from a folder of its own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atoll.build.configs import Needs, cmake_config, cmake_version, pkg_config, release
from atoll.build.install import Library, install
from atoll.build.parts import Part
from atoll.manifest import Source, Target, TargetKind
from atoll.plugin import FoundPackage
from unit.plugins.lane_project import write


def needs(**more: Any) -> Needs:
    known = {"name": "one", "package": "demo", "version": "2.1", "file": "libone.a", "kind": "static"}
    return Needs(**{**known, **more})


def library(**more: Any) -> Library:
    part = Part(target="one", kind="static", output=".atoll/build/b/lib/libone.a")
    known = {"part": part, "target": Target(kind=TargetKind.STATIC)}
    return Library(**{**known, **more})


def request(root: Path) -> Any:
    """Return what of a build request an installation reads."""
    package = SimpleNamespace(name="demo", description="", version="1.0")
    build = SimpleNamespace(include=("include",))
    manifest = SimpleNamespace(package=package, build=build)
    return SimpleNamespace(root=root, folder=".atoll/build/b", plan_folder=".atoll/plan/b", manifest=manifest)


def laid_out(root: Path, wanted: Library) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts by their place in the prefix, and where each file of the prefix is from."""
    texts, actions = install(request(root), wanted)
    places = {
        action.outputs[0].removeprefix(".atoll/build/b/install/"): action.inputs[0] for action in actions
    }
    return {path.removeprefix(".atoll/plan/b/install/"): text for path, text in texts.items()}, places


def test_an_archive_in_a_folder_of_a_lane_is_brought_along(tmp_path: Path) -> None:
    store = write(tmp_path / "store", {"lib/libdevice_static.a": "!<arch>\n"}) / "lib"
    words = (f"-L{store}", "-ldevice_static", "-lrt", "-Wl,-rpath,/somewhere")
    texts, places = laid_out(tmp_path, library(words=words))
    assert places["lib/libdevice_static.a"] == f"{store}/libdevice_static.a"
    assert "Libs: -L${libdir} -lone -ldevice_static -lrt\n" in texts["lib/pkgconfig/one.pc"]
    linked = 'INTERFACE_LINK_LIBRARIES "${_atoll_one}/lib/libdevice_static.a;-lrt"'
    assert linked in texts["lib/cmake/one/oneConfig.cmake"]
    assert str(tmp_path) not in "".join(texts.values())


def test_an_archive_named_by_its_path_is_brought_along(tmp_path: Path) -> None:
    write(tmp_path, {"else/libother.a": "!<arch>\n"})
    texts, places = laid_out(tmp_path, library(words=(f"{tmp_path}/else/libother.a",)))
    assert places["lib/libother.a"] == f"{tmp_path}/else/libother.a"
    assert "-lone -lother" in texts["lib/pkgconfig/one.pc"]


def test_a_shared_library_elsewhere_stays_there(tmp_path: Path) -> None:
    write(tmp_path, {"else/libother.so": "", "else/libother.a": ""})
    texts, places = laid_out(tmp_path, library(words=(f"-L{tmp_path}/else", "-lother")))
    assert "lib/libother.a" not in places
    assert f"-L{tmp_path}/else -lother" in texts["lib/pkgconfig/one.pc"]


def test_headers_lie_as_they_are_included(tmp_path: Path) -> None:
    write(tmp_path, {"include/a/b.h": "", "own/deep/c.h": "", "src/d.h": "", "src/e.h": ""})
    target = Target(
        kind=TargetKind.STATIC,
        sources=(Source(glob="include/**/*.h"), Source(glob="own/**/*.h"), Source(glob="src/d.h")),
        include=("own/deep",),
    )
    listed = ("include/a/b.h", "own/deep/c.h", "src/d.h", "src/e.h")
    _, places = laid_out(tmp_path, library(target=target, headers=listed, header="plan/demo_calls.h"))
    assert {inside: path for inside, path in places.items() if inside.startswith("include/")} == {
        "include/a/b.h": "include/a/b.h",
        "include/c.h": "own/deep/c.h",
        "include/d.h": "src/d.h",
        "include/demo_calls.h": "plan/demo_calls.h",
    }


ZLIB = FoundPackage(
    kind="pkg-config", name="zlib >= 1.2", version="1.3", libraries=("-lz",), requires=("zlib",)
)
FMT = FoundPackage(
    kind="cmake", name="fmt", version="9", libraries=("/usr/lib/libfmt.so",), requires=("fmt", "fmt::fmt")
)


def test_an_archive_asks_for_what_it_was_built_with() -> None:
    found = needs(packages=(ZLIB, FMT), uses=("two",), runtime="stdc++")
    text = cmake_config(found)
    assert "find_dependency(fmt)\n" in text
    assert 'pkg_check_modules(atoll_zlib REQUIRED QUIET IMPORTED_TARGET GLOBAL "zlib>=1.2")' in text
    assert 'INTERFACE_LINK_LIBRARIES "two::two;PkgConfig::atoll_zlib;fmt::fmt"' in text
    assert 'IMPORTED_LINK_INTERFACE_LANGUAGES "CXX"' in text
    described = pkg_config(found)
    assert "Requires: two, zlib >= 1.2\n" in described
    assert described.endswith("Libs: -L${libdir} -lone /usr/lib/libfmt.so -lstdc++\n")


def test_a_shared_library_asks_its_users_for_nothing() -> None:
    found = needs(kind="shared", file="libone.so", packages=(ZLIB, FMT), uses=("two",), runtime="stdc++")
    text = cmake_config(found)
    assert "find_dependency" not in text
    assert "INTERFACE_LINK_LIBRARIES" not in text
    described = pkg_config(found)
    assert "Requires.private: two, zlib >= 1.2\n" in described
    assert described.endswith("Libs: -L${libdir} -lone\n")


def test_a_word_with_characters_of_the_syntax_is_escaped() -> None:
    found = needs(words=("-Wl,-z;now", "-lx$y", '-L/a "b"'))
    assert '"-Wl,-z;now" "-lx$$y" "-L/a \\"b\\""' in pkg_config(found)
    assert "-Wl,-z\\;now" in cmake_config(found)


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("1.2.3", "1.2.3"),
        ("1.2rc1", "1.2"),
        ("2!3.4", "3.4"),
        ("1.2.post3+local", "1.2"),
        ("1.2.3.4.5", "1.2.3.4"),
    ],
)
def test_a_version_is_told_to_cmake_in_numbers(version: str, numbers: str) -> None:
    assert release(version) == numbers
    assert f'set(PACKAGE_VERSION "{numbers}")' in cmake_version(needs(version=version))
