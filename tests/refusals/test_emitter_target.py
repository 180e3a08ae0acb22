"""A target that an emitter does not serve is refused, naming what it serves."""

from __future__ import annotations

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.plugin import Target, registry
from atoll.testing.programs import programs


def refused(target: Target) -> Diagnostic:
    program = programs()[0]
    with pytest.raises(CompileError) as caught:
        registry().emitters[target.backend].emit(program.module, program.name, target, program.group)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0781"
    return found


@pytest.mark.parametrize(
    "arch", ["", "sm_60", "sm_9", "compute_80", "sm_90x", "gfx942", "sm_90\n.target sm_10"]
)
def test_an_architecture_that_is_none_or_too_old(arch: str) -> None:
    found = refused(Target(backend="cuda", arch=arch))
    assert found.notes == (f"asked for: {Target(backend='cuda', arch=arch)}", "served: sm_70 and newer")


@pytest.mark.parametrize("version", ["1.0", "2.0", "", "1.2.1", "x"])
def test_a_vulkan_version_that_is_not_served(version: str) -> None:
    found = refused(Target(backend="vulkan", version=version))
    assert found.notes[1] == "served: vulkan:1.1, vulkan:1.2, vulkan:1.3"


@pytest.mark.parametrize("arch", ["spirv1.6", "spirv1.0", "x", "spirvx"])
def test_a_spirv_version_that_this_vulkan_does_not_take(arch: str) -> None:
    found = refused(Target(backend="vulkan", version="1.2", arch=arch))
    assert "spirv1.3 to spirv1.5" in found.notes[1]
