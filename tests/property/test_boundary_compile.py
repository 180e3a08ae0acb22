"""For any accepted declarations header, C++20 module and Python module compile and agree on every name."""

from __future__ import annotations

import ast
import random
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import Phase, given, settings

from atoll.boundary import (
    Entry,
    Interface,
    cxx_module,
    cxx_module_file,
    header,
    header_name,
    python_files,
    scan,
)
from atoll.runtime.sources import include_folder
from property.test_boundary import interfaces, laid_out
from unit.boundary.kit import STRICT, Built, compiled, interface

FOLDERS = ("", "image", "image/struct", "audio")
CLANG = "clang-19"


def spread(folder: Path, drawn: tuple[Entry, ...], mess: random.Random) -> Path:
    """Write the entries into files below several folders, in any order; where each lies is by its name."""
    for place in FOLDERS:
        mine = tuple(entry for entry in drawn if FOLDERS[len(entry.name) % len(FOLDERS)] == place)
        target = folder / place if place else folder / "plain"
        if mine:
            laid_out(target, mine, mess)
        if not place and mine:
            for path in target.iterdir():
                path.rename(folder / path.name)
    return folder


def shown(made: Interface) -> dict[tuple[str, ...], set[str]]:
    """Return the names that each namespace has to hold."""
    names: dict[tuple[str, ...], set[str]] = {}
    for item in made.entries:
        names.setdefault(item.entry.namespace, set()).update(item.names)
    return names


def undocumented(made: Interface) -> list[str]:
    """Return the module without documentation, which is that of the layout root."""
    return [line for line in cxx_module(made).splitlines() if not line.startswith("///")]


def users(made: Interface) -> tuple[str, str]:
    """Return a C++ unit that names everything the module exports, and a C unit for the header."""
    space = "::".join(made.segments)
    named = [
        f"  use(&{'::'.join([space, *path, name])});"
        if name == ""
        else f"  use({'::'.join([space, *path, name])});"
        for path, names in shown(made).items()
        for name in sorted(names)
    ]
    lines = [f"import {made.module};", "template <class T> void use(T *) {}", "void all() {", *named]
    lines += [f"  (void){space}::device_name();", "}", ""]
    c = [f'#include "{header_name(made.module)}"', "void all(void);", "void all(void) {"]
    c += [f"  (void)&{item.name};" for item in made.entries]
    return "\n".join(lines), "\n".join([*c, "}", ""])


def check_cxx(folder: Path, made: Interface) -> None:
    """Compile header and module with both compilers, and a unit that names every name."""
    (folder / header_name(made.module)).write_text(header(made))
    unit = cxx_module_file(made.module)
    (folder / unit).write_text(cxx_module(made))
    user, c = users(made)
    (folder / "user.cpp").write_text(user)
    (folder / "user.c").write_text(c)
    for compiler in ("gcc", CLANG):
        compiled(compiler, "-std=c11", *STRICT, "-fsyntax-only", "user.c", where=folder)
    standard = ("-std=c++20", "-Wall", "-Wextra", "-Werror", "-I.")
    compiled("g++", *standard, "-fmodules-ts", "-x", "c++", "-c", unit, "-o", "module.o", where=folder)
    compiled("g++", *standard, "-fmodules-ts", "-c", "user.cpp", "-o", "user.o", where=folder)
    pcm = f"{made.module}.pcm"
    compiled("clang++-19", *standard, unit, "--precompile", "-o", pcm, where=folder)
    compiled("clang++-19", *standard, "-fprebuilt-module-path=.", "-fsyntax-only", "user.cpp", where=folder)


def check_python(folder: Path, made: Interface) -> None:
    """Compile the Python module with both compilers, import it, and compare its names with the stub's."""
    built = Built(folder, made)
    module = ("-I", include_folder(), "-I", sysconfig.get_paths()["include"], "module.c")
    compiled(CLANG, "-std=c11", *STRICT, "-fsyntax-only", *module, where=folder)
    built.module()
    wanted = shown(made)
    code = f"import sys, {made.module} as k\nfor path in {sorted(wanted)!r}:\n    at = k\n"
    code += "    for name in path: at = getattr(at, name)\n    print(path, sorted(dir(at)), sep='|')"
    for line in built.run(code, sys.executable).splitlines():
        place, _, found = line.partition("|")
        assert wanted[ast.literal_eval(place)] <= set(ast.literal_eval(found)), line
    texts = python_files(made)
    for path, names in wanted.items():
        base = "/".join([*made.segments, *path])
        stub = texts.get(f"{base}/__init__.pyi") or texts[f"{base}.pyi"]
        functions = {node.name for node in ast.parse(stub).body if isinstance(node, ast.FunctionDef)}
        assert names <= functions


def test_header_module_and_python_module_compile_and_agree_on_every_name(
    whole: bool, tell: Callable[[str], None]
) -> None:
    count = 60 if whole else 8
    seen: list[int] = []
    structs: list[str] = []

    @settings(max_examples=count, derandomize=not whole, database=None, phases=[Phase.generate])
    @given(interfaces(), st.integers(0, 2**32))
    def prove(drawn: tuple[Entry, ...], seed: int) -> None:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            one = scan(spread(folder / "cpu", drawn, random.Random(seed)))
            other = scan(spread(folder / "gpu", drawn, random.Random(seed + 1)))
            made = interface(one, other, strip_prefix="app_", layout_root="cpu")
            again = interface(other, layout_root="gpu", strip_prefix="app_")
            assert header(made) == header(again)
            assert undocumented(made) == undocumented(again)
            assert shown(made) == shown(again)
            check_cxx(folder, made)
            check_python(folder, made)
            seen.append(len(made.entries))
            structs.extend(item.name for item in made.entries if item.entry.structs)

    prove()
    what = f"{len(seen)} sets of {sum(seen)} entries, {len(structs)} of them with structs"
    tell(f"compiled {what} (60 sets with --all), g++ and clang")
    assert structs


def test_a_name_that_one_language_lacks_is_seen(tmp_path: Path) -> None:
    root = scan(
        spread(tmp_path / "cpu", (Entry(name="app_f", result="int", parameters=()),), random.Random(0))
    )
    made = interface(root, strip_prefix="app_")
    (tmp_path / header_name(made.module)).write_text(header(made))
    lost = cxx_module(made).replace("inline constexpr auto f = app_f;\n", "")
    (tmp_path / "module.cppm").write_text(lost)
    (tmp_path / "user.cpp").write_text(users(made)[0])
    modules = ("g++", "-std=c++20", "-fmodules-ts", "-I.")
    compiled(*modules, "-x", "c++", "-c", "module.cppm", "-o", "m.o", where=tmp_path)
    with pytest.raises(AssertionError, match="f"):
        compiled(*modules, "-c", "user.cpp", "-o", "user.o", where=tmp_path)
