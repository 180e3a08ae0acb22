"""Code whose work-group size is not known, too large, or not the contract's is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atoll.errors import CompileError
from atoll.ir import Module
from atoll.plugin import registry
from atoll.testing.programs import programs

Group = tuple[int, int, int]
BACKENDS = ("cpu", "cuda", "opencl", "vulkan")


def refused(backend: str, name: str, group: Group, contract: Group) -> str:
    program = next(program for program in programs() if program.name == name)
    kernel = replace(program.module.kernel(name), group=contract)
    emitter = registry().emitters[backend]
    with pytest.raises(CompileError) as caught:
        emitter.emit(Module(kernels=(kernel,)), name, emitter.target(None), group)
    (found,) = caught.value.diagnostics
    assert found.code == "ATL0782"
    return found.notes[1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_barrier_needs_a_size(backend: str) -> None:
    assert refused(backend, "block_sum", (0, 0, 0), (0, 0, 0)) == "reason: the size is not known"


@pytest.mark.parametrize("backend", BACKENDS)
def test_another_size_than_the_contracts(backend: str) -> None:
    reason = refused(backend, "block_sum", (32, 1, 1), (64, 1, 1))
    assert reason == "reason: the kernel's contract says (64, 1, 1), (32, 1, 1) was asked for"


@pytest.mark.parametrize("group", [(2048, 1, 1), (64, 0, 1), (-1, 1, 1), (33, 32, 1)])
def test_a_size_that_no_device_has(group: Group) -> None:
    assert "is not between 1 and 1024 work-items" in refused("vulkan", "saxpy", group, (0, 0, 0))


def test_a_shader_needs_a_size_without_a_barrier_too() -> None:
    assert refused("vulkan", "saxpy", (0, 0, 0), (0, 0, 0)) == "reason: the size is not known"
