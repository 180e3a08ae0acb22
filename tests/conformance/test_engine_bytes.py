"""Every primitive gives NumPy's bytes on every device, twice: the exact tier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import atoll
from atoll import engine
from atoll.engine.anchors import Result, anchors
from atoll.runtime import Device

NAMES = [anchor.name for anchor in anchors()]


def _device(name: str) -> Any:
    if name != "interpreter":
        return atoll.open(name)
    from atoll_plugins.cpu.driver import CpuDriver
    from atoll_plugins.cpu.interpreter import InterpreterDevice

    return Device(InterpreterDevice(CpuDriver().devices()[0]))


def _tried(name: str, only: Callable[[str], bool]) -> tuple[Result, ...]:
    device = _device(name)
    first, second = engine.results(device, only=only), engine.results(device, only=only)
    assert first == second
    return first


@pytest.mark.parametrize("name", ["vulkan", "cpu", "opencl", "interpreter"])
def test_every_primitive_gives_the_same_bytes_as_numpy_twice(
    name: str, whole: bool, tell: Callable[[str], None]
) -> None:
    step = 1 if whole or name == "vulkan" else 4
    picked = set(NAMES[::step])
    found = _tried(name, lambda anchor: anchor in picked)
    assert [item.name for item in found if not item.is_equal] == []
    tell(f"{len(found)} of {len(NAMES)} programs on {name}")


def test_a_device_with_other_bytes_is_not_in_the_exact_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    from atoll.engine import anchors as room

    results = (Result("scan.prefix.f32", "aa", "aa"), Result("binary.div.f32", "bb", "cc"))
    monkeypatch.setattr(room, "results", lambda _: results)
    found = room.selftest("cpu", again=True)
    try:
        assert str(found).splitlines() == [
            "same  scan.prefix.f32",
            "OTHER binary.div.f32",
            f"{found.device}: device tier, of 2 programs",
        ]
        with pytest.raises(atoll.AtollError) as caught:
            room.require_exact("cpu")
        assert caught.value.diagnostics[0].notes == ("other bytes than NumPy: binary.div.f32",)
    finally:
        room._tested.clear()
