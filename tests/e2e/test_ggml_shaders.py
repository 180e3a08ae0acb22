"""ggml's shaders, by its own generator: one edge a shader, valid SPIR-V, rebuilt by what they include.

The sources are fetched, pinned and hashed. By default twelve of the 155; ``--all`` builds every one.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from atoll.store import Payload, Store
from e2e.harness import ATOLL, copied, machine, right, run

TOTAL = 155
# Younger than the host's validator: such a module is shown to a newer one, which a wheel of Slang carries.
NEWER_EXTENSION = b"SPV_VALVE_mixed_float_dot_product"
NEWER = Payload(
    name="slangpy-0.43.1",
    requirements=("slangpy==0.43.1",),
    hashes=tuple(
        (f"slangpy-0.43.1-cp{python}-cp{python}-manylinux_2_34_x86_64.whl", digest)
        for python, digest in (
            (311, "965dbbd1d907c90e17027945780146a67c66baf766f3d0b8af3f52ea2c4a8eb9"),
            (312, "9e8b30da997ec58a9c76b9691be2ebabebe7e0a405831a064e67b4a317ce4138"),
            (313, "fa77917ca086473a9067649644dbea4b2b036882fb3d8c9482a1cc7d213ff264"),
        )
    ),
)
# Prints the names of the modules that are not valid; in a process of its own, for it reads bytes in C++.
VALIDATE = """\
import ctypes, pathlib, sys
valid = ctypes.CDLL(sys.argv[1]).glslang_validateSPIRV
valid.argtypes, valid.restype = (ctypes.c_char_p, ctypes.c_int), ctypes.c_bool
for name in sys.stdin.read().split("\\0"):
    words = pathlib.Path(name).read_bytes()
    if len(words) % 4 or not valid(words, len(words) // 4):
        print(name)
"""
# glslc 2023.2 converts half to half in these, which the specification forbids: its fault, seen and counted.
COMPILER_FAULT = {"rope_multi_f16.spv", "rope_neox_f16.spv", "rope_norm_f16.spv"}


@dataclass(frozen=True, slots=True)
class Built:
    """A copy of the example with what its first build said."""

    project: Path
    shaders: tuple[str, ...]
    edges: tuple[str, ...]

    @property
    def folder(self) -> Path:
        (found,) = (self.project / ".atoll/build").iterdir()
        return found

    @property
    def sources(self) -> Path:
        return self.project / "vulkan-shaders"


def edges(project: Path, env: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Build and return the names of what ran."""
    lines = right(ATOLL, "build", "--json", where=project, env=env).out.splitlines()
    events = [json.loads(line) for line in lines]
    return tuple(event["name"] for event in events if event["event"] == "edge")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Built:
    whole = request.config.getoption("--all") or os.environ.get("ATOLL_TEST_ALL") == "1"
    project = copied("real/ggml_shaders", tmp_path_factory.mktemp("ggml"))
    fetched = run(sys.executable, "fetch.py", *(("--all",) if whole else ()), where=project)
    if fetched.code and "ATOLL_OFFLINE" in os.environ:
        pytest.skip(
            "the source distribution of llama-cpp-python is not in the store and this machine is offline"
        )
    assert fetched.code == 0, fetched.err
    assert f"of {TOTAL} shaders" in fetched.out
    shaders = tuple(sorted(path.name for path in (project / "vulkan-shaders").glob("*.comp")))
    assert len(shaders) == (TOTAL if whole else 12)
    # The whole of it takes more than the ten minutes that a command has by default.
    done = run(ATOLL, "build", "--json", where=project, limit=7200)
    assert done.code == 0, done.out[-4000:]
    events = [json.loads(line) for line in done.out.splitlines()]
    return Built(project, shaders, tuple(event["name"] for event in events if event["event"] == "edge"))


def shader_edges(names: tuple[str, ...]) -> list[str]:
    return sorted(name.removeprefix("shader ") for name in names if name.startswith("shader "))


def test_each_shader_is_one_named_edge_and_one_object(built: Built, tell: Callable[[str], None]) -> None:
    tell(f"{len(built.shaders)} of {TOTAL} shaders: {' '.join(built.shaders)[:200]}")
    assert shader_edges(built.edges) == list(built.shaders)
    assert "host tool vulkan-shaders-gen" in built.edges
    archive = built.folder / "lib/libggml_shaders.a"
    listed = subprocess.run(["ar", "t", archive], capture_output=True, text=True, check=True)
    assert sorted(listed.stdout.split()) == [f"{name}.cpp.o" for name in built.shaders]


def test_one_probe_a_feature_test_feeds_the_generator(built: Built) -> None:
    resolution = json.loads((built.folder / "resolution.json").read_text())
    (program,) = [value for key, value in resolution.items() if "program" in key and value]
    said = json.dumps(program)
    tests = {path.stem for path in (built.sources / "feature-tests").glob("*.comp")}
    assert {test for test in tests if f"feature-tests/{test}.comp" in said} == tests
    asked = {test for test in tests if not rejected(built.sources / f"feature-tests/{test}.comp")}
    (fact,) = re.findall(r"glslc\.features = ([^\"]*)", said)
    assert len([] if fact == "none" else fact.split()) == len(asked)


def rejected(test: Path) -> bool:
    command = ["glslc", "-fshader-stage=compute", "--target-env=vulkan1.3", "-o", "/dev/null"]
    done = subprocess.run([*command, test], env=machine(), capture_output=True, text=True, check=False)
    return "extension not supported" in done.stderr


def test_every_module_is_valid(built: Built, tmp_path: Path, tell: Callable[[str], None]) -> None:
    modules = sorted(built.folder.glob("program/spv/*/*.spv"))
    assert modules
    newer = [path for path in modules if NEWER_EXTENSION in path.read_bytes()]
    wrong = [path for path in modules if path not in newer and invalid(path)]
    faulty = [path for path in wrong if path.name in COMPILER_FAULT]
    assert wrong == faulty
    broken = tmp_path / "broken.spv"
    broken.write_bytes(next(path for path in modules if path not in wrong).read_bytes()[:-8])
    assert invalid(broken), "the validator passes anything"
    if newer:
        truncated = tmp_path / "truncated.spv"
        truncated.write_bytes(newer[0].read_bytes()[:-8])
        assert newer_invalid([*newer, truncated]) == [truncated]
    tell(
        f"spirv-val: {len(modules) - len(newer) - len(wrong)} of {len(modules)} modules valid, {len(newer)} "
        f"more by the newer one of {NEWER.name}; wrong by a fault of the compiler: "
        f"{[path.name for path in faulty]}"
    )


def invalid(module: Path) -> bool:
    command = ["spirv-val", "--target-env", "vulkan1.3"]
    return subprocess.run([*command, module], env=machine(), capture_output=True, check=False).returncode != 0


def newer_invalid(modules: Sequence[Path]) -> list[Path]:
    """Return those of the modules that the newer validator does not pass."""
    (library,) = Store.default().ensure(NEWER).root.glob("slangpy/libslang-glslang-*.so")
    done = subprocess.run(
        [sys.executable, "-c", VALIDATE, library],
        input="\0".join(map(str, modules)),
        capture_output=True,
        text=True,
        check=True,
    )
    return [Path(line) for line in done.stdout.splitlines()]


def test_an_edit_of_a_shader_rebuilds_that_one(built: Built, tell: Callable[[str], None]) -> None:
    shader = built.sources / built.shaders[0]
    shader.write_text(shader.read_text() + "// edited\n")
    ran = edges(built.project)
    tell(f"{shader.name}: {ran}")
    assert ran == (f"shader {shader.name}",)
    assert edges(built.project) == ()


def users(sources: Path, include: str, *, always: bool = False) -> set[str]:
    """Return the shaders that reach an include, by reading their `#include` lines.

    Args:
        sources: The folder of shaders and includes.
        include: The name of one.
        always: Whether only lines count that no `#if` holds.
    """
    includes = {
        path.name: set(included(path.read_text(), always=always))
        for path in sources.iterdir()
        if path.suffix in (".comp", ".glsl")
    }

    def reached(name: str, seen: set[str]) -> set[str]:
        for inner in includes.get(name, set()) - seen:
            seen.add(inner)
            reached(inner, seen)
        return seen

    return {name for name in includes if name.endswith(".comp") and include in reached(name, set())}


def included(text: str, *, always: bool) -> Iterator[str]:
    """Give what a text includes."""
    depth = 0
    for word, rest in re.findall(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|endif|include)\b(.*)$", text, re.MULTILINE):
        if word == "include" and not (always and depth):
            yield rest.split('"')[1]
        depth += {"include": 0, "endif": -1}.get(word, 1)


def test_an_edit_of_an_include_rebuilds_its_users(built: Built, tell: Callable[[str], None]) -> None:
    sure = {path.name: users(built.sources, path.name, always=True) for path in built.sources.glob("*.glsl")}
    counts = {name: found & set(built.shaders) for name, found in sure.items()}
    # One that its users reach in every variant: what a variant's macros leave out is for the compiler to say.
    include = min((len(found), name) for name, found in counts.items() if len(found) > 1)[1]
    path = built.sources / include
    path.write_text(path.read_text() + "// edited\n")
    ran = set(shader_edges(edges(built.project)))
    possible = users(built.sources, include)
    tell(f"{include}: {len(ran)} of {len(built.shaders)} shaders rebuilt, {len(counts[include])} for sure")
    assert counts[include] <= ran <= possible
    assert edges(built.project) == ()


def test_without_a_set_the_program_refuses_with_both_sides(built: Built) -> None:
    outcome = run(ATOLL, "build", "--no-accel", where=built.project)
    assert outcome.code == 1
    assert "GGML001" in outcome.err
    assert "carried: vulkan1.2" in outcome.err
