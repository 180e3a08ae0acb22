"""Over random edit scripts a build of real lanes equals a clean one; after a random kill the next does."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from atoll.errors import AtollError
from atoll.session import open_session
from unit.plugins.lane_project import program, write

PACKAGE = """\
[package]
name = "demo"
[build]
accel = "vulkan1.2, opencl1.2"
lanes = ["spirv", "opencl"]
{defines}
[targets.demo]
kind = "executable"
sources = [
  "src/*.cpp", "src/*.c",
  {{ glob = "dev/*.comp", accel = "vulkan" }}, {{ glob = "dev/*.cl", accel = "opencl" }},
]
[data.words]
files = ["words/*.txt"]
"""
FILES = {
    "src/main.cpp": '#include "a b.h"\nextern "C" int c();\nint main() { return c() + A; }\n',
    "src/c.c": '#include "x$.h"\nint c(void) { return X; }\n',
    "src/a b.h": "#define A 1\n",
    "src/x$.h": "#define X 1\n",
    "dev/s.comp": '#version 450\n#extension GL_GOOGLE_include_directive : enable\n#include "s #.glsl"\n'
    "layout(set = 0, binding = 0) buffer B { float x[]; };\nvoid main() { x[0] = S; }\n",
    "dev/s #.glsl": "#define S 1.0\n",
    "dev/k.cl": '#include "k.clh"\nkernel void k(global float *x) { x[0] = K; }\n',
    "dev/k.clh": "#define K 1.0f\n",
    "words/one.txt": "one\n",
}
HEADERS = {"src/a b.h": "A", "src/x$.h": "X", "dev/s #.glsl": "S", "dev/k.clh": "K"}
SETS = [None, "", "vulkan1.2", "opencl1.2", "vulkan1.1, opencl1.2"]
EDITS = (
    "value",
    "touch",
    "break",
    "mend",
    "add",
    "delete",
    "rename",
    "define",
    "set",
    "data",
    "old",
    "profile",
    "compiler",
)
# A compiler that keeps what it made of a launcher: every clean build has the same ones, and they are most of
# what it would compile. Same words and same text, same object.
COMPILER = """\
case "$*" in *"-c "*/launchers/*) ;; *) exec {real} "$@" ;; esac
for word; do
  case "$last" in -MF) depfile=$word ;; -c) source=$word ;; -o) object=$word ;; esac
  last=$word
done
kept="{folder}/$(printf '%s\\n' {real} "$@" | cat - "$source" | sha256sum | cut -c 1-32)"
if [ ! -f "$kept.o" ]; then
  {real} "$@" && cp "$depfile" "$kept.d" && cp "$object" "$kept.new" && mv "$kept.new" "$kept.o"
  exit
fi
cp "$kept.d" "$depfile" && cp "$kept.o" "$object"
"""


class World:
    """A project that a script of edits changes."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random = root, random.Random(seed)
        self.accel: str | None = None
        self.profile = "release"
        self.compiler(other=False)
        self.script: list[str] = []
        write(root, {"atoll.toml": PACKAGE.format(defines=""), **FILES})

    def edit(self) -> None:
        """Change one thing at random."""
        kind, value = self.random.choice(EDITS), self.random.randrange(5)
        header = self.random.choice(sorted(HEADERS))
        self.script.append(f"{kind} {value} {header}")
        if kind in ("value", "old", "break"):
            self.header(kind, header, value)
        elif kind in ("add", "delete", "rename"):
            self.source(kind, self.root / f"src/extra{value}.cpp", value)
        elif kind in ("set", "profile", "compiler"):
            self.options(kind, value)
        elif kind == "touch":
            (self.root / self.random.choice(sorted(FILES))).touch()
        elif kind == "mend":
            self.mend()
        elif kind == "define":
            self.put("atoll.toml", PACKAGE.format(defines=f'defines = ["D={value}"]'))
        elif kind == "data":
            self.put(f"words/w{value}.txt", "word " * self.random.choice([1, 1000]))

    def header(self, kind: str, name: str, value: int) -> None:
        """Write a header, with an old time, or broken."""
        self.put(name, "#error broken\n" if kind == "break" else f"#define {HEADERS[name]} {value}\n")
        if kind == "old":
            os.utime(self.root / name, (10**9, 10**9 + value))

    def source(self, kind: str, extra: Path, value: int) -> None:
        """Add, delete or rename a source."""
        if kind == "add":
            # Weak: a renamed one and a new one of the same name may stand side by side.
            extra.write_text(f"__attribute__((weak)) int extra{value}() {{ return {value}; }}\n")
        elif kind == "delete":
            extra.unlink(missing_ok=True)
        elif extra.exists():
            extra.replace(self.root / f"src/renamed{value}.cpp")

    def options(self, kind: str, value: int) -> None:
        """Ask for another set, profile or compiler."""
        if kind == "set":
            self.accel = SETS[value]
        elif kind == "profile":
            self.profile = self.random.choice(["release", "debug"])
        else:
            self.compiler(value % 2 == 1)

    def mend(self) -> None:
        """Write every file as it was in the beginning."""
        for name, text in FILES.items():
            self.put(name, text)

    def compiler(self, other: bool) -> None:
        """Put one C++ compiler or the other first on the PATH."""
        cxx = (other and shutil.which("clang++-19", path="/usr/bin:/bin")) or "/usr/bin/g++"
        folder = self.root.parent / Path(cxx).name
        if not folder.exists():
            for name, real in (("g++", cxx), ("gcc", cxx.replace("clang++", "clang").replace("g++", "gcc"))):
                program(folder, name, COMPILER.replace("{real}", real).replace("{folder}", str(folder)))
        self.path = f"{folder}:/usr/bin:/bin"

    def put(self, name: str, text: str) -> None:
        (self.root / name).write_text(text)

    def build(self) -> bool:
        environment = {"PATH": self.path, "ATOLL_OFFLINE": "1"}
        options = {"no_accel": True} if self.accel == "" else {"accel": self.accel}
        try:
            made = open_session(self.root, profile=self.profile, environment=environment, **options)
            self.folder = made.build().folder
        except AtollError:
            return False
        return True

    def outputs(self) -> dict[str, str]:
        """Return the bytes that the build made, by path; the executor's own state aside."""
        base = self.root / self.folder
        return {
            path.relative_to(base).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(base.rglob("*"))
            if path.is_file() and ".graph" not in path.relative_to(base).parts
        }


def compare(world: World, seed: int) -> None:
    """Compare what grew with a clean build in the same folder."""
    grown, kept = world.outputs(), world.root.parent / "kept"
    (world.root / ".atoll").replace(kept)
    assert world.build(), (seed, world.script[-9:])
    clean = world.outputs()
    shutil.rmtree(world.root / ".atoll")
    kept.replace(world.root / ".atoll")
    differ = {name for name in grown.keys() | clean.keys() if grown.get(name) != clean.get(name)}
    assert not differ, (seed, world.script[-9:], sorted(differ))


def test_incremental_equals_clean_over_real_lanes(
    tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    total = 500 if whole else 50
    good = failed = 0
    world = World(tmp_path / "project", 3)
    assert world.build()
    for number in range(total):
        for _ in range(world.random.randint(1, 3)):
            world.edit()
        if world.build():
            good += 1
            compare(world, number)
        else:
            failed += 1
            world.mend()
            assert world.build(), (number, world.script[-9:])
            compare(world, number)
    tell(
        f"{total} edit scripts: {good} equal a clean build, {failed} rightly failed and equal one once mended"
    )
    assert good > failed


KILLED = """\
import pathlib, sys
from atoll.session import open_session
environment = {"PATH": sys.argv[2], "ATOLL_OFFLINE": "1"}
open_session(pathlib.Path(sys.argv[1]), environment=environment).build()
"""


def test_a_build_killed_at_random_is_right_the_next_time(
    tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    total = 50 if whole else 10
    world = World(tmp_path / "project", 7)
    assert world.build()
    chance, killed = random.Random(11), 0
    for header, word in HEADERS.items():
        world.put(header, f"#define {word} 99\n")
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", KILLED, str(world.root), world.path], check=True)
    whole_build = time.monotonic() - begin
    for number in range(total):
        for header, word in HEADERS.items():
            world.put(header, f"#define {word} {number}\n")
        begin = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(world.root), world.path],
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            child.wait(chance.uniform(0.05, 0.9) * whole_build)
            # A machine that is less busy now than it was: the next moment is chosen within what it takes now.
            whole_build = time.monotonic() - begin
        except subprocess.TimeoutExpired:
            # The build alone, or it and all below it at once.
            (os.kill if number % 2 else os.killpg)(child.pid, signal.SIGKILL)
            killed += 1
        child.wait()
        assert world.build()
        compare(world, number)
    tell(f"{total} builds, {killed} of them killed; each next one equals a clean build")
    assert killed > total // 3
