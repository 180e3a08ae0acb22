"""The host compiler of a wheel: asked for where nothing else is there, or where the project names it."""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path

import pytest

from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll.store import PayloadRoot
from atoll_plugins.host import zig
from atoll_plugins.host.lane import HostLane
from unit.plugins.lane_project import program, request, write


def asked(root: Path, **changes: object) -> LaneRequest:
    write(root, {"a.cpp": "int a;\n"})
    made = request(root, (Unit(path="a.cpp", target="demo"),))
    environment = {"PATH": "/nowhere", "ATOLL_CACHE": str(root / "cache")}
    return dataclasses.replace(made, **{"environment": environment, **changes})  # type: ignore[arg-type]


def stored(root: Path) -> dict[str, PayloadRoot]:
    """Return a wheel whose program prints how it was called, and answers as clang does where it is asked."""
    macros = "".join(f"echo '#define __clang{name} {value}'\n" for name, value in (
        ("__", 1), ("_major__", 22), ("_minor__", 1), ("_patchlevel__", 8),
    ))  # fmt: skip
    script = f'case "$*" in *-dM*) {macros} ;; *) echo "$*" ;; esac'
    program(root / "store/ziglang", "zig", script)
    return {
        zig.PAYLOAD.name: PayloadRoot(
            payload=zig.PAYLOAD, root=root / "store", digest="0", why="it was fetched"
        )
    }


def test_it_is_asked_for_where_no_compiler_is(tmp_path: Path) -> None:
    assert HostLane().fallback(asked(tmp_path)) == (zig.PAYLOAD,)


def test_it_is_not_asked_for_where_one_is(tmp_path: Path) -> None:
    assert HostLane().fallback(asked(tmp_path, environment={"PATH": "/usr/bin:/bin"})) == ()


def test_it_is_asked_for_by_name_whatever_is_installed(tmp_path: Path) -> None:
    named = asked(tmp_path, environment={"PATH": "/usr/bin:/bin"}, options={"compiler": "ziglang"})
    assert HostLane().fallback(named) == (zig.PAYLOAD,)


def test_another_that_is_named_and_not_there_is_refused_not_replaced(tmp_path: Path) -> None:
    named = asked(tmp_path, options={"compiler": "g++-99"})
    assert HostLane().fallback(named) == ()
    with pytest.raises(LaneError):
        HostLane().plan(named)


def test_it_compiles_as_one_program_with_its_word_and_target(tmp_path: Path) -> None:
    plan = HostLane().plan(asked(tmp_path, tools=stored(tmp_path)))
    (action,) = plan.actions
    said = subprocess.run(
        [action.argv[0], "-c", "a.cpp", "-Wl,--exclude-libs,ALL"], capture_output=True, text=True, check=True
    )
    assert said.stdout == f"c++ -target {zig.TARGET} -c a.cpp\n"
    assert plan.tools[0].why == "no host compiler on PATH; it was fetched"


def test_its_family_is_that_of_clang_and_its_machine_is_told(tmp_path: Path) -> None:
    made = asked(tmp_path, tools=stored(tmp_path))
    assert HostLane().family(made) == "clang"
    assert HostLane().describe(made).abi.startswith("x86_64")
