"""Refused: code that requires what the device says it lacks, before it is loaded; the facts are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from atoll.accel import DeviceFacts
from atoll.artifact import Fact
from atoll.errors import DeviceError
from atoll.plugin import Emitted, Target
from atoll.runtime import Device
from atoll.testing.drivers import LAYOUT
from unit.runtime.fakes import MemoryDevice, info

STATED = {"spirv": "1.5", "spirv.capability": "Shader Int64 !Float64 …", "opencl.extension": "cl_khr_icd"}


def device() -> tuple[Device, MemoryDevice]:
    facts = DeviceFacts(backend="mem", name="Memory", facts=STATED)
    inner = MemoryDevice(info=replace(info("mem", 0, "Memory"), facts=facts))
    return Device(inner), inner


def code(*requires: Fact) -> Emitted:
    return Emitted(
        target=Target(backend="mem"),
        stage="mem",
        code=b"x",
        text=False,
        entry="saxpy",
        suffix=".m",
        layout=LAYOUT,
        requires=requires,
    )


def test_every_fact_that_the_device_lacks_is_named_and_nothing_is_loaded() -> None:
    opened, inner = device()
    asked = code(
        Fact(name="spirv", relation=">=", value="1.6"),
        Fact(name="spirv.capability", relation="=", value="Float64"),
        Fact(name="spirv.capability", relation="=", value="Shader"),
        Fact(name="opencl.extension", relation="=", value="cl_khr_fp64"),
    )
    with pytest.raises(DeviceError) as caught:
        opened.load(asked)
    assert str(caught.value) == (
        "error[ATL0804]: Memory refuses the code of `saxpy`\n"
        "  it requires spirv >= 1.6\n"
        "  it requires spirv.capability = Float64\n"
        "  it requires opencl.extension = cl_khr_fp64\n"
        "  the device states spirv: 1.5\n"
        "  the device states spirv.capability: Shader Int64 !Float64 …\n"
        "  the device states opencl.extension: cl_khr_icd"
    )
    assert inner.calls == []


@pytest.mark.parametrize(
    "fact",
    [
        Fact(name="spirv", relation=">=", value="1.5"),
        Fact(name="spirv.capability", relation="=", value="Int64"),
        Fact(name="spirv.capability", relation="=", value="GroupNonUniform"),  # nothing is said of it
        Fact(name="ptx.isa", relation=">=", value="9.0"),
    ],
)
def test_what_holds_or_is_not_stated_is_loaded(fact: Fact) -> None:
    opened, inner = device()
    opened.load(code(fact))
    assert inner.calls == ["load"]
