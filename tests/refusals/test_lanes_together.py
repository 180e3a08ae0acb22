"""What several lanes refuse is said in one run; what another lane takes is not called forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.errors import AtollError
from unit.build.build_project import PACKAGE, SHADER, session

MANIFEST = (
    PACKAGE
    + """\
[build]
accel = "cuda13.0, opencl9.0, vulkan1.2"
lanes = ["cuda", "opencl", "spirv"]
[targets.demo]
kind = "executable"
sources = [
  "main.cpp", { glob = "*.cu", accel = "cuda" }, { glob = "*.cl", accel = "opencl" },
  { glob = "*.comp", accel = "vulkan" },
]
"""
)


def test_two_lanes_that_refuse(tmp_path: Path) -> None:
    files = {"atoll.toml": MANIFEST, "main.cpp": "", "a.cu": "", "a.cl": "", "a.comp": SHADER}
    with pytest.raises(AtollError) as raised:
        session(tmp_path, files).build()
    assert [(item.code, item.message) for item in raised.value.diagnostics] == [
        ("ATL0503", "the entry `cuda` names neither an architecture nor a floor"),
        ("ATL0504", "there is no OpenCL C of version 9.0"),
    ]
