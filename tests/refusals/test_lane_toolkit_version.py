"""The version of an entry is a request: the same major, at least that minor, else both are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import Entry, Version
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, Unit
from atoll_plugins.cuda.lane import CudaLane
from atoll_plugins.opencl.lane import OpenClLane
from unit.plugins.lane_project import program, request


def cuda(root: Path, *version: int, **options: object) -> LaneRequest:
    entry = Entry(backend="cuda", version=Version(version) if version else None, archs=("sm_90",))
    return request(root, (Unit(path="a.cu", target="demo", entry=entry),), entry, options=options)


@pytest.mark.parametrize("version", [(12, 9), (13, 5), (14, 0), (14,), (13, 0, 99)])
def test_a_payload_that_does_not_meet_it_is_refused_before_it_is_fetched(
    tmp_path: Path, version: tuple[int, ...]
) -> None:
    with pytest.raises(LaneError) as caught:
        CudaLane().payloads(cuda(tmp_path, *version))
    (found,) = caught.value.diagnostics
    text = ".".join(map(str, version))
    assert found.code == "ATL0504"
    assert found.notes == (
        f"the build asks for: cuda{text} (major {version[0]}, at least {text})",
        "at hand: 13.0, the payload `cuda-13.0`",
    )


@pytest.mark.parametrize("version", [(), (13,), (13, 0)])
def test_what_it_meets_is_taken(tmp_path: Path, version: tuple[int, ...]) -> None:
    assert CudaLane().payloads(cuda(tmp_path, *version))


def test_a_named_toolkit_is_held_to_it_too(tmp_path: Path) -> None:
    nvcc = program(tmp_path, "nvcc", 'echo "Cuda compilation tools, release 12.4, V12.4.131"')
    wanted = cuda(tmp_path, 13, 0, compiler=str(nvcc))
    with pytest.raises(LaneError) as caught:
        CudaLane().plan(wanted)
    assert caught.value.diagnostics[0].notes[1] == f"at hand: 12.4.131, {nvcc}"


def test_a_version_of_opencl_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    entry = Entry(backend="opencl", version=Version((2, 5)))
    wanted = request(tmp_path, (Unit(path="a.cl", target="demo", entry=entry),), entry)
    with pytest.raises(LaneError, match=r"there is no OpenCL C of version 2\.5"):
        OpenClLane().plan(wanted)
