"""Over random edit scripts the output equals a clean build's, and a second build does nothing."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import BuildError
from atoll.graph import Action
from unit.graph.graphs import FOLDER, Project, out, python

SOURCES = ["a.c", "b c.c", "$d.c"]
HEADERS = ["x.h", "y #.h"]

# A compiler of a tiny language: `use NAME` lines include a file, the rest is text in upper case.
COMPILER = """
import sys
source, target, depfile = sys.argv[1:4]
seen, text = [], []
def read(name):
    seen.append(name)
    for line in open(name):
        if line.startswith("use "):
            try:
                read(line[4:].rstrip())
            except FileNotFoundError:
                sys.exit("no " + line)
        else:
            text.append(line.upper())
read(source)
open(target, "w").write("".join(text))
escape = lambda name: name.replace(" ", "\\\\ ").replace("#", "\\\\#").replace("$", "$$")
open(depfile, "w").write(escape(target) + ": " + " ".join(map(escape, seen)))
"""
LINKER = "import sys; *i, o = sys.argv[1:]; open(o, 'w').write('|'.join(open(n).read() for n in i))"

EDITS = st.one_of(
    st.tuples(
        st.just("write"), st.sampled_from(SOURCES + HEADERS), st.sampled_from(["p\n", "q\n", "use x.h\n"])
    ),
    st.tuples(st.just("use"), st.sampled_from(SOURCES), st.sampled_from(HEADERS)),
    st.tuples(st.just("delete"), st.sampled_from(SOURCES), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(SOURCES + HEADERS), st.sampled_from(SOURCES + HEADERS)),
    st.tuples(st.just("touch"), st.sampled_from(SOURCES + HEADERS), st.just("")),
    st.tuples(st.just("old"), st.sampled_from(SOURCES + HEADERS), st.sampled_from(["p\n", "r\n"])),
    st.tuples(st.just("flag"), st.just(""), st.sampled_from(["1", "2"])),
    st.tuples(st.just("spoil"), st.sampled_from(SOURCES), st.just("")),
)


class World:
    """A project that edits change."""

    def __init__(self, root: Path) -> None:
        self.project = Project(root)
        self.flag = "1"
        for name in SOURCES:
            self.project.put(name, f"{name}\n")
        for name in HEADERS:
            self.project.put(name, "h\n")

    def edit(self, kind: str, name: str, more: str) -> None:
        path = self.project.root / name
        if kind in {"write", "old"}:
            if kind == "write" and more.startswith("use") and name in HEADERS:
                more = "p\n"
            self.project.put(name, more)
            if kind == "old":
                os.utime(path, (10**9, 10**9))
        elif kind == "use":
            self.project.put(name, f"use {more}\n")
        elif kind == "flag":
            self.flag = more
        elif kind == "spoil":
            target = self.project.root / out(f"{name}.o")
            if target.exists():
                target.write_text("spoiled")
        elif path.exists():
            if kind == "delete":
                path.unlink()
            elif kind == "touch":
                path.touch()
            elif kind == "rename":
                path.replace(self.project.root / more)

    def actions(self) -> list[Action]:
        found = [name for name in SOURCES if (self.project.root / name).exists()]
        objects = [self._compile(name) for name in found]
        linked = [out(f"{name}.o") for name in found]
        return [*objects, python("link", LINKER, linked, [out("program")], key=self.flag)]

    def _compile(self, name: str) -> Action:
        depfile = out(f"{name}.d")
        action = python(f"cc {name}", COMPILER, [name], [out(f"{name}.o")], depfile=depfile)
        return dataclasses.replace(action, argv=(*action.argv, depfile))

    def build(self) -> bool:
        try:
            self.project.build(*self.actions())
        except BuildError:
            return False
        return True


def check(script: list[list[tuple[str, str, str]]]) -> None:
    """Play a script; after each whole build compare with a clean one."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        built, kept = world.project.root / FOLDER, world.project.root / "kept"
        world.build()
        for edits in script:
            for edit in edits:
                world.edit(*edit)
            good, grown = world.build(), world.project.files()
            if good:
                assert world.project.build(*world.actions()).ran == ()
            shutil.move(built, kept)
            assert world.build() == good
            clean = world.project.files()
            shutil.rmtree(built)
            shutil.move(kept, built)
            # What follows a failure keeps what it was, so only whole builds are compared.
            assert not good or grown == clean


def test_incremental_equals_clean(whole: bool, tell: Callable[[str], None]) -> None:
    total, played = 100, 0

    @settings(max_examples=total if whole else 12, deadline=None)
    @given(st.lists(st.lists(EDITS, min_size=1, max_size=3), min_size=1, max_size=5))
    def run(script: list[list[tuple[str, str, str]]]) -> None:
        nonlocal played
        played += 1
        check(script)

    run()
    tell(f"edit scripts: {played} of {total}")
