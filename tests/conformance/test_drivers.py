"""Every driver passes the public suite; CUDA on a fake interface, since the machine may have no GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from atoll.plugin import (
    DeviceInfo,
    Driver,
    DriverDevice,
    Emitted,
    Executable,
    LauncherSource,
    Target,
)
from atoll.testing.drivers import DRIVER_CHECKS, DriverCase, DriverCheck, checks_for
from conformance.driver_kernels import code, driver, fake_cuda, needs_device

#: `ref` is KIR on NumPy arrays; `null` is the Vulkan driver on a table that runs nothing.
BACKENDS = ("cpu", "vulkan", "opencl", "cuda", "ref", "null")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], DriverCase]:
    made: dict[str, DriverCase] = {}

    def case(backend: str) -> DriverCase:
        if backend not in made:
            folder = tmp_path_factory.mktemp(backend)
            library = fake_cuda(folder) if backend == "cuda" else None
            found = driver(backend, library)
            needs_device(found)
            made[backend] = DriverCase(found, 0, code(backend, folder), computes=backend != "null")
        return made[backend]

    return case


@pytest.mark.parametrize("check", DRIVER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_driver_keeps_its_promises(
    cases: Callable[[str], DriverCase], backend: str, check: DriverCheck
) -> None:
    case = cases(backend)
    if check in checks_for(case):
        check(case)


def test_the_fake_interface_has_nothing_left_alive(tmp_path: Path) -> None:
    library = fake_cuda(tmp_path)
    case = DriverCase(driver("cuda", library), 0, code("cuda", tmp_path))
    for check in DRIVER_CHECKS:
        check(case)
    counted = ctypes.CDLL(str(library))
    assert (counted.fake_live(), counted.fake_depth()) == (0, 0)


class Wrapped:
    """A device of the processor with one promise broken, to see the suite go red."""

    def __init__(self, inner: DriverDevice) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


class WrongSum(Wrapped):
    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        self.inner.download(handle, out, offset)
        if out.nbytes > 3:
            out.cast("B")[3] ^= 1


class NoBounds(Wrapped):
    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        if (handle, offset) != (987654, 0):
            self.inner.upload(handle, data, offset)


class LoadsAnything(Wrapped):
    def load(self, item: Emitted) -> Executable:
        return self.inner.load(replace(item, code=code("cpu", Path()).code, entry="saxpy"))


class Forgetful(Wrapped):
    """Gives back nothing, closes nothing."""

    def release(self, handle: int) -> None:
        return

    def close(self) -> None:
        return


class NoLimit(Wrapped):
    def allocate(self, nbytes: int) -> int:
        return self.inner.allocate(min(nbytes, 1 << 20))


class Elsewhere(Wrapped):
    def target(self) -> Target:
        return Target(backend="elsewhere")


class RunsAtOnce(Wrapped):
    """Records, and runs what it records."""

    def capture(self) -> None:
        return

    def captured(self) -> SimpleNamespace:
        return SimpleNamespace(submit=lambda: None, close=lambda: None)


class LosesTheHeld(Wrapped):
    """Drops every second launch that it holds."""

    held = at = 0

    def hold(self) -> None:
        self.held = 1

    def let_go(self) -> None:
        self.held = 0

    def launch(self, *given: Any) -> None:
        self.at += 1
        if not self.held or self.at % 2:
            self.inner.launch(*given)


class CopiesLess(Wrapped):
    def copy(self, other: Any, source: int, start: int, target: int, offset: int, nbytes: int) -> bool:
        other = other.inner if isinstance(other, Wrapped) else other
        return bool(self.inner.copy(other, source, start, target, offset, nbytes - 1))  # type: ignore[attr-defined]


class KeepsTheFirst(Wrapped):
    """Launches bound code on the buffers of its first launch."""

    def bind(self, *given: Any) -> Any:
        bound, first = self.inner.bind(*given), []  # type: ignore[attr-defined]

        def launch(groups: Any, addresses: Any, block: bytes, queue: int) -> None:
            first.append(tuple(addresses))
            bound(groups, first[0], block, queue)

        return launch


DEVICES = [
    (WrongSum, "bytes_come_back"),
    (WrongSum, "a_launch_computes"),
    (WrongSum, "later_launches_see_earlier_ones"),
    (WrongSum, "a_hundred_launches_leave_nothing_behind"),
    (WrongSum, "two_threads_share_a_device"),
    (WrongSum, "two_opens_are_independent"),
    (WrongSum, "what_a_kernel_leaves_alone_is_kept"),
    (NoBounds, "copies_outside_a_buffer_are_refused"),
    (LoadsAnything, "code_that_is_none_is_refused"),
    (Forgetful, "a_closed_device_refuses"),
    (NoLimit, "an_allocation_beyond_reason_is_refused"),
    (Elsewhere, "the_target_is_of_its_backend"),
    (RunsAtOnce, "recorded_launches_run_when_submitted"),
    (LosesTheHeld, "held_launches_run_in_order"),
    (KeepsTheFirst, "bound_code_does_what_a_launch_does"),
    (CopiesLess, "copies_on_a_device_are_in_the_order_of_launches"),
    (CopiesLess, "another_opened_device_gives_its_bytes"),
]


class Broken:
    """The driver of the processor with one promise broken, or devices that break one."""

    def __init__(self, inner: Driver, device: Callable[[DriverDevice], object] | None = None) -> None:
        self.inner, self.device = inner, device

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def open(self, index: int) -> object:
        return self.inner.open(index) if self.device is None else self.device(self.inner.open(index))


class BadName(Broken):
    name = "no word"


class Restless(Broken):
    turn = 0

    def devices(self) -> tuple[DeviceInfo, ...]:
        self.turn += 1
        return tuple(replace(info, name=f"{info.name} {self.turn}") for info in self.inner.devices())


class Silent(Broken):
    def devices(self) -> tuple[DeviceInfo, ...]:
        return ()

    def unavailable(self) -> tuple[str, str]:
        return "", ""


class OpensAnything(Broken):
    def open(self, index: int) -> object:
        return self.inner.open(0)


class OtherText(Broken):
    def launcher(self) -> LauncherSource:
        return LauncherSource(text="int nothing;")


DRIVERS = [
    (BadName, "names_and_ranks_are_plain"),
    (Restless, "listing_twice_gives_equal_devices"),
    (Silent, "it_is_available_or_says_why"),
    (OpensAnything, "an_index_out_of_range_is_refused"),
    (OtherText, "the_launcher_is_one_text"),
]


@pytest.mark.parametrize(("broken", "check"), [*DEVICES, *DRIVERS])
def test_the_suite_sees_what_is_broken(tmp_path: Path, broken: type[Any], check: str) -> None:
    checks = {item.__name__: item for item in DRIVER_CHECKS}
    inner = driver("cpu")
    made = broken(inner) if issubclass(broken, Broken) else Broken(inner, broken)
    case = DriverCase(made, 0, code("cpu", tmp_path))  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        checks[check](case)


def test_every_check_has_been_seen_red() -> None:
    assert {name for _, name in [*DEVICES, *DRIVERS]} == {check.__name__ for check in DRIVER_CHECKS}


@pytest.mark.parametrize(
    ("stated", "options"), [(128 + 2, b"-cl-fp32-correctly-rounded-divide-sqrt"), (2, b""), (None, b"")]
)
def test_division_is_correctly_rounded_where_an_opencl_device_offers_it(
    stated: int | None, options: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atoll_plugins.opencl import driver as opencl

    monkeypatch.setattr(opencl, "_number", lambda *_: stated)
    table = SimpleNamespace(CL_DEVICE_SINGLE_FP_CONFIG=0x101B, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT=128)
    assert opencl._options(table, None) == options  # type: ignore[arg-type]
    launcher = driver("opencl").launcher()
    assert launcher is not None
    assert f'? "{"-cl-fp32-correctly-rounded-divide-sqrt"}" : ""' in launcher.text
