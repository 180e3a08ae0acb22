"""Libraries of the machine and of the project: how `links` is resolved, recorded and kept fresh."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from atoll.errors import AtollError
from atoll.session import Session, open_session
from unit.build.build_project import PACKAGE
from unit.plugins.lane_project import ENVIRONMENT, write

MAIN = '#include <word.h>\n#include <cstdio>\nint main() { std::printf("%d %d\\n", word(), VALUE); }\n'
CONFIG = """\
add_library(word::word SHARED IMPORTED)
set_target_properties(word::word PROPERTIES IMPORTED_LOCATION "{prefix}/lib/libword.so"
  INTERFACE_INCLUDE_DIRECTORIES "{prefix}/include" INTERFACE_COMPILE_DEFINITIONS "VALUE=7")
add_library(word::other INTERFACE IMPORTED)
"""


def needs(*tools: str) -> None:
    """Skip where one of these is missing."""
    for tool in tools:
        if shutil.which(tool, path=ENVIRONMENT["PATH"]) is None:
            pytest.skip(f"{tool} is not installed")


def prefix(folder: Path) -> Path:
    """Install a small shared library with a `.pc` file and a CMake config."""
    write(
        folder,
        {
            "include/word.h": "int word();\n",
            "word.cpp": '#include "include/word.h"\nint word() { return 42; }\n',
            "lib/pkgconfig/word.pc": f"Name: word\nDescription: a word\nVersion: 1.5\n"
            f'Cflags: "-I{folder}/include" -DVALUE=7\nLibs: "-L{folder}/lib" -lword\n',
            "lib/cmake/word/wordConfig.cmake": CONFIG.format(prefix=folder),
            "lib/cmake/word/wordConfigVersion.cmake": "set(PACKAGE_VERSION 1.5)\n",
        },
    )
    command = ("g++", "-shared", "-fPIC", folder / "word.cpp", "-o", folder / "lib/libword.so")
    subprocess.run([str(word) for word in command], check=True)
    return folder


def project(root: Path, links: str, where: Path, main: str = MAIN) -> Session:
    """Write a project that links packages below a prefix and open it."""
    manifest = f'{PACKAGE}[targets.demo]\nkind = "executable"\nsources = ["src/*.cpp"]\nlinks = [{links}]\n'
    write(root, {"atoll.toml": manifest, "src/main.cpp": main})
    return opened(root, where)


def opened(root: Path, where: Path) -> Session:
    """Open a project on a machine that has a prefix."""
    more = {"PKG_CONFIG_PATH": f"{where}/lib/pkgconfig", "CMAKE_PREFIX_PATH": str(where)}
    return open_session(root, environment={**ENVIRONMENT, **more})


def said(session: Session) -> str:
    """Build, start the program and return what it prints."""
    built = session.build()
    path = built.root / built.outputs[0].path
    return subprocess.run([path], capture_output=True, text=True, check=True, env={}).stdout


KINDS = [('{ pkg-config = "word >= 1.2" }', "pkg-config"), ('{ cmake = "word" }', "cmake")]


@pytest.mark.parametrize(("link", "tool"), KINDS, ids=["pkg-config", "cmake"])
def test_flags_reach_the_compiler_and_the_library_is_found_at_run_time(
    tmp_path: Path, link: str, tool: str
) -> None:
    needs(tool)
    session = project(tmp_path / "a project", link, prefix(tmp_path / "pre fix"))
    assert said(session) == "42 7\n"
    resolution = json.loads((session.root / session.build().folder / "resolution.json").read_text())
    (found,) = resolution["links"]["demo"]
    assert (found["kind"], found["version"]) == (tool, "1.5")
    assert found["why"].startswith(f"/usr/bin/{tool}")


@pytest.mark.parametrize(("link", "tool"), KINDS, ids=["pkg-config", "cmake"])
def test_a_changed_package_is_asked_again_and_an_unchanged_one_is_not(
    tmp_path: Path, link: str, tool: str
) -> None:
    needs(tool)
    where = prefix(tmp_path / "prefix")
    assert said(project(tmp_path / "demo", link, where)) == "42 7\n"
    built = opened(tmp_path / "demo", where).build()
    assert not built.planned
    assert built.result.ran == ()
    for path in (where / "lib/pkgconfig/word.pc", where / "lib/cmake/word/wordConfig.cmake"):
        path.write_text(path.read_text().replace("VALUE=7", "VALUE=8"))
    assert said(opened(tmp_path / "demo", where)) == "42 8\n"


def test_a_library_that_was_built_anew_is_linked_anew(tmp_path: Path) -> None:
    needs("pkg-config")
    where = prefix(tmp_path / "prefix")
    said(project(tmp_path / "demo", '{ pkg-config = "word" }', where))
    library = where / "lib/libword.so"
    library.write_bytes(library.read_bytes() + b"\0")
    assert opened(tmp_path / "demo", where).build().result.ran == ("link bin/demo",)


def test_another_search_path_is_another_question(tmp_path: Path) -> None:
    needs("pkg-config")
    where, other = prefix(tmp_path / "one"), prefix(tmp_path / "two")
    description = other / "lib/pkgconfig/word.pc"
    description.write_text(description.read_text().replace("VALUE=7", "VALUE=9"))
    assert said(project(tmp_path / "demo", '{ pkg-config = "word" }', where)) == "42 7\n"
    assert said(opened(tmp_path / "demo", other)) == "42 9\n"


def test_a_broken_record_of_a_probe_is_made_anew(tmp_path: Path) -> None:
    needs("cmake")
    where = prefix(tmp_path / "prefix")
    said(project(tmp_path / "demo", '{ cmake = "word" }', where))
    (kept,) = (tmp_path / "demo/.atoll/plan/packages").iterdir()
    for text in ("", "[]", '{"stamps": {}, "found": 3}'):
        kept.write_text(text)
        shutil.rmtree(tmp_path / "demo/.atoll/plan/records")
        assert said(opened(tmp_path / "demo", where)) == "42 7\n"


LIBRARIES = f"""\
{PACKAGE}
[targets.demo]
kind = "executable"
sources = ["src/*.cpp"]
links = ["outer"]
[targets.outer]
kind = "KIND"
sources = ["outer/*.cpp"]
include = ["outer/include"]
links = ["inner"]
[targets.inner]
kind = "static"
sources = ["inner/*.cpp"]
links = ["m"]
"""
PARTS = {
    "src/main.cpp": '#include <outer.h>\n#include <cstdio>\nint main() { std::printf("%g\\n", outer()); }\n',
    "outer/include/outer.h": "double outer();\n",
    "outer/outer.cpp": "#include <outer.h>\ndouble inner();\ndouble outer() { return inner() + 1; }\n",
    "inner/inner.cpp": "#include <cmath>\nvolatile double two = 2;\n"
    "double inner() { return std::pow(two, 0.5) * 100; }\n",
}


@pytest.mark.parametrize("kind", ["static", "shared"])
def test_libraries_of_the_project_are_linked_with_what_they_need(tmp_path: Path, kind: str) -> None:
    write(tmp_path, {**PARTS, "atoll.toml": LIBRARIES.replace("KIND", kind)})
    session = open_session(tmp_path, environment=ENVIRONMENT)
    assert said(session) == "142.421\n"
    moved = tmp_path / "elsewhere"
    shutil.move(tmp_path / session.build().folder, moved)
    done = subprocess.run([moved / "bin/demo"], capture_output=True, text=True, check=True, env={})
    assert done.stdout == "142.421\n"


def test_an_edit_of_a_library_links_its_users_anew(tmp_path: Path) -> None:
    write(tmp_path, {**PARTS, "atoll.toml": LIBRARIES.replace("KIND", "static")})
    open_session(tmp_path, environment=ENVIRONMENT).build()
    source = tmp_path / "inner/inner.cpp"
    source.write_text(source.read_text().replace("100", "10"))
    ran = open_session(tmp_path, environment=ENVIRONMENT).build().result.ran
    assert ran[:2] == ("host inner inner/inner.cpp", "archive lib/libinner.a")
    assert sorted(ran[2:]) == ["install lib/libinner.a", "link bin/demo"]


def test_a_package_links_no_shared_library_of_the_project(tmp_path: Path) -> None:
    manifest = f"""\
{PACKAGE}
[targets.demo]
kind = "python"
boundary = "kernels"
sources = ["cpu/*.cpp"]
links = ["other"]
[targets.other]
kind = "shared"
sources = ["other/*.cpp"]
[boundary.kernels]
module = "demo.kernels"
roots = ["cpu"]
"""
    source = '#include "demo_kernels.h"\nATOLL_EXPORT_C\nint demo_one(int x) { return x; }\n'
    files = {"atoll.toml": manifest, "cpu/a.cpp": source, "other/a.cpp": "int f() { return 1; }\n"}
    write(tmp_path, files)
    with pytest.raises(AtollError, match="ATL0566"):
        open_session(tmp_path, environment=ENVIRONMENT).build()
