"""Descriptions of installed libraries, and archives that a lane needs from a folder of its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atoll.build.configs import Needs, cmake_config, cmake_version, pkg_config, release
from atoll.build.install import Library, install
from atoll.build.parts import Part
from atoll.manifest import Source, Target, TargetKind
from atoll.plugin import FoundPackage, RuntimeFolder
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


@pytest.fixture
def shared(tmp_path: Path) -> tuple[Path, Path]:
    """Return a prefix whose archive needs a shared library, and the folder of this machine that has it."""
    store, made = tmp_path / "store", tmp_path / "made"
    write(store, {"device.c": "int device(void) { return 7; }\n"})
    write(made, {"one.c": "int device(void);\nint one(void) { return device() + 1; }\n"})
    said("gcc", "-shared", "-Wl,-soname,libdevice.so.3", "device.c", "-o", "libdevice.so.3", where=store)
    said("gcc", "-c", "one.c", "-o", "one.o", where=made)
    (made / "lib").mkdir()
    said("ar", "rcs", "lib/libone.a", "one.o", where=made)
    folder = RuntimeFolder(path=str(store), requirement="device-runtime>=3.1,<4", inside="device/lib")
    wanted = library(words=(f"-L{store}", "-l:libdevice.so.3"), folders=(folder,))
    texts, places = laid_out(tmp_path, wanted)
    assert not any("libdevice" in place for place in places)
    assert str(tmp_path) not in "".join(texts.values())
    return write(made, texts), store


def said(*command: str, where: Path, **more: str) -> str:
    """Run a command on a bare PATH and return all that it printed; what fails, fails the test."""
    environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", **more}
    done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or "cmake" in command[0], done.stdout + done.stderr
    return done.stdout + done.stderr


def test_an_archive_says_which_shared_library_it_needs_and_what_brings_it(
    shared: tuple[Path, Path], tmp_path: Path
) -> None:
    if shutil.which("cmake", path="/usr/bin:/bin") is None:
        pytest.skip("cmake")
    prefix, store = shared
    project = "project(u C)\nfind_package(one REQUIRED)\nadd_executable(u u.c)\n"
    project += "target_link_libraries(u one::one)\n"
    files = {"u.c": "int one(void);\nint main(void) { return one() - 8; }\n"}
    files["CMakeLists.txt"] = f"cmake_minimum_required(VERSION 3.20)\n{project}"
    user = write(tmp_path / "user", files)
    configure = ("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    refused = " ".join(said(*configure, where=user).split())
    assert "one needs libdevice.so.3, which the Python distribution `device-runtime>=3.1,<4`" in refused
    assert "brings; name its folder in CMAKE_LIBRARY_PATH" in refused
    found = said(*configure, f"-DCMAKE_LIBRARY_PATH={store}", where=user)
    assert "Generating done" in found
    said("cmake", "--build", "build", where=user)
    said("build/u", where=user)


def test_pkg_config_names_a_shared_library_and_what_brings_it(
    shared: tuple[Path, Path], tmp_path: Path
) -> None:
    prefix, store = shared
    text = (prefix / "lib/pkgconfig/one.pc").read_text(encoding="utf-8")
    assert (
        "# libdevice.so.3, which the Python distribution `device-runtime>=3.1,<4` brings: its folder" in text
    )
    if shutil.which("pkg-config", path="/usr/bin:/bin") is None:
        pytest.skip("pkg-config")
    write(tmp_path, {"u.c": "int one(void);\nint main(void) { return one() - 8; }\n"})
    words = said("pkg-config", "--libs", "one", where=tmp_path, PKG_CONFIG_PATH=f"{prefix}/lib/pkgconfig")
    said("gcc", "u.c", f"-L{store}", *words.split(), "-o", "u", where=tmp_path)
    said("./u", where=tmp_path, LD_LIBRARY_PATH=str(store))


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
