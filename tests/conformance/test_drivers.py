"""Every driver passes the public suite; CUDA on a fake interface, since the machine may have no GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from atoll.plugin import Driver, DriverDevice, Emitted, Executable
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


@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (WrongSum, "bytes_come_back"),
        (WrongSum, "a_launch_computes"),
        (WrongSum, "later_launches_see_earlier_ones"),
        (WrongSum, "a_hundred_launches_leave_nothing_behind"),
        (WrongSum, "two_threads_share_a_device"),
        (WrongSum, "what_a_kernel_leaves_alone_is_kept"),
        (NoBounds, "copies_outside_a_buffer_are_refused"),
        (LoadsAnything, "code_that_is_none_is_refused"),
    ],
)
def test_the_suite_sees_a_broken_device(tmp_path: Path, broken: type[Wrapped], check: str) -> None:
    class Broken:
        def __init__(self, inner: Driver) -> None:
            self.inner = inner

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

        def open(self, index: int) -> object:
            return broken(self.inner.open(index))

    checks = {item.__name__: item for item in DRIVER_CHECKS}
    case = DriverCase(Broken(driver("cpu")), 0, code("cpu", tmp_path))  # type: ignore[arg-type]
    with pytest.raises(AssertionError):
        checks[check](case)


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
