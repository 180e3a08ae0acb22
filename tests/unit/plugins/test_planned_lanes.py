"""The lanes whose compilers nobody has here, Ascend C and Metal: their command lines, with fake tools."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from atoll.accel import AccelSet
from atoll.plugin import Lane, LaneRequest, Unit
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.ascendc.lane import AscendCLane
from atoll_plugins.metal.lane import MetalLane
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

# Copies its input to its output and lists it, as compilers do.
COMPILES = """\
case "$*" in *--version*) echo "bisheng version 8.5.0"; exit 0 ;; esac
while [ $# -gt 0 ]; do
  case "$1" in -o) out=$2; shift ;; -MF) dep=$2; shift ;; *.asc|*.cce|*.metal|*.air) source=$1 ;; esac
  shift
done
cp "$source" "$out"
[ -z "$dep" ] || echo "$out: $source" > "$dep"
"""


def ascend(
    root: Path, name: str = "a/k.asc", accel: str = "ascend8.5+{dav-c220}", **changes: object
) -> LaneRequest:
    write(root, {name: "kernel\n", "cann/ascend_toolkit_install.info": "version=8.5.0\n"})
    program(root / "cann/bin", "bisheng", COMPILES)
    options = {"cann": str(root / "cann")}
    return of(root, name, accel, **{"options": options, **changes})


def metal(root: Path, name: str = "m/k.metal", accel: str = "metal3.1", **changes: object) -> LaneRequest:
    write(root, {name: "kernel\n"})
    program(root / "bin", "xcrun", COMPILES)
    environment = {"PATH": f"{root}/bin:{ENVIRONMENT['PATH']}"}
    return of(root, name, accel, **{"host": "macos", "environment": environment, **changes})


def of(root: Path, name: str, accel: str, **changes: object) -> LaneRequest:
    wanted = AccelSet.parse(accel)
    unit = Unit(path=name, target="demo", entry=wanted.entries[0], includes=("inc",), defines=("A=1",))
    made = request(root, (unit,), *wanted.entries)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_ascend_c_keeps_the_promises_of_the_door(check: LaneCheck, tmp_path: Path) -> None:
    check(AscendCLane(), ascend(tmp_path))


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_metal_keeps_the_promises_of_the_door(check: LaneCheck, tmp_path: Path) -> None:
    check(MetalLane(), metal(tmp_path))


def lines(lane: Lane, asked: LaneRequest) -> list[str]:
    """Return the command lines of a plan, which also run, with this machine's folders left out."""
    plan = lane.plan(asked)
    run_plan(plan, asked.root)
    said = (" ".join(action.argv).replace(str(asked.root), "ROOT") for action in plan.actions)
    return [line.replace(f".atoll/build/test/{lane.name}/demo", "OUT") for line in said]


def test_the_lines_of_ascend_c(tmp_path: Path) -> None:
    assert lines(AscendCLane(), ascend(tmp_path)) == [
        (
            "ROOT/cann/bin/bisheng -x asc --npu-arch=dav-2201 -std=c++20 -O2 -DNDEBUG -fPIC"
            " -IROOT/cann/include -Iinc -DA=1 -MD -MF OUT/a/k.asc.d -c a/k.asc -o OUT/a/k.asc.o"
        )
    ]
    assert lines(AscendCLane(), ascend(tmp_path, "a/k.cce")) == [
        (
            "ROOT/cann/bin/bisheng -x cce --cce-aicore-arch=dav-c220 -std=c++20 -O2 -DNDEBUG -fPIC"
            " -IROOT/cann/include -Iinc -DA=1 -MD -MF OUT/a/k.cce.d -c a/k.cce -o OUT/a/k.cce.o"
        )
    ]


def test_the_lines_of_metal(tmp_path: Path) -> None:
    asked = metal(tmp_path, options={"sdk": "iphoneos", "flags": ["-ffast-math"]})
    assert lines(MetalLane(), asked) == [
        (
            "ROOT/bin/xcrun -sdk iphoneos metal -std=metal3.1 -O2 -Iinc -DA=1 -ffast-math"
            " -MD -MF OUT/m/k.metal.air.d -c m/k.metal -o OUT/m/k.metal.air"
        ),
        "ROOT/bin/xcrun -sdk iphoneos metallib OUT/m/k.metal.air -o OUT/m/k.metal.metallib",
    ]


def test_what_metal_makes_is_declared(tmp_path: Path) -> None:
    (product,) = MetalLane().plan(metal(tmp_path)).data
    assert product.declared
    assert product.form == "metallib"
