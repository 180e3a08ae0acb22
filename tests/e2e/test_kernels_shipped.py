"""The twenty kernels compiled ahead of time: a library a driver, called as C does, within their bounds."""

from __future__ import annotations

import copy
import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atoll.plugin import registry
from atoll.runtime import core_source, include_folder
from atoll_plugins.python.compile import codes
from atoll_plugins.python.csource import source
from atoll_plugins.python.values import CTYPES, Described
from conformance.driver_kernels import driver, needs_device
from e2e.test_kernels import CASES, KERNELS

SCALARS = {
    "bool": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32,
    "i64": ctypes.c_int64, "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32,
    "u64": ctypes.c_uint64, "f32": ctypes.c_float, "f64": ctypes.c_double,
}  # fmt: skip


def library(backend: str, folder: Path) -> ctypes.CDLL:
    """Build the entries of every kernel with the core and the launcher of a driver; all are shown."""
    launcher = driver(backend).launcher()
    assert launcher is not None
    for path in include_folder().iterdir():  # whose functions a library keeps to itself; here they are called
        text = path.read_text().replace('visibility("hidden")', 'visibility("default")')
        (folder / path.name).write_text(text)
    (folder / "launcher.c").write_text(launcher.text)
    files = [folder / "launcher.c", folder / core_source().name]
    for name, kernel in KERNELS.items():
        files.append(folder / f"{name}.c")
        described = Described.of(kernel, "kernels.py")
        files[-1].write_text(source(described, codes(kernel, registry().emitters[backend], None), backend))
    out = folder / "kernels.so"
    command = ["gcc", "-std=gnu11", "-O1", "-w", "-shared", "-fPIC", f"-I{folder}", *map(str, files)]
    subprocess.run([*command, "-o", str(out), "-ldl", "-lpthread", "-lm"], check=True)
    return ctypes.CDLL(str(out))


def passed(kernel: Described, given: tuple[Any, ...], domain: tuple[int, ...]) -> list[Any] | None:
    """Return the arguments of C, or None where an array is no row-major one, which C does not take."""
    found: list[Any] = [ctypes.c_uint32(size) for size in (*domain, 1, 1)[: kernel.rank]]
    for param, value in zip(kernel.params, given, strict=True):
        if not param.rank:
            assert not param.fields, "no kernel here takes a struct by value"
            found.append(SCALARS[param.type](value))
            continue
        if not value.flags.c_contiguous:
            return None
        found.append(ctypes.c_void_p(value.ctypes.data))
        free = param.rank - bool(param.components)
        found += [ctypes.c_uint64(size) for size in value.shape[:free]]
    return found


@pytest.mark.parametrize("backend", ["cpu", "vulkan", "opencl"])
def test_every_kernel_answers_within_its_bound_from_c(
    backend: str, whole: bool, tmp_path: Path, tell: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not whole and backend != "vulkan":
        tell(f"{backend}: with --all")
        return
    needs_device(driver(backend))
    monkeypatch.setenv("ATOLL_DEVICE", backend)
    built = library(backend, tmp_path)
    built.atoll_last_error.restype = built.atoll_device_name.restype = ctypes.c_char_p
    assert set(SCALARS) == set(CTYPES)
    faults, ran, left = [], 0, []
    for case in CASES:
        given = case.given(0)
        mine = copy.deepcopy(given)
        domain = tuple(np.atleast_1d(case.domain).tolist())
        arguments = passed(Described.of(case.kernel, "kernels.py"), mine, domain)
        if arguments is None:
            left.append(case.name)
            continue
        if getattr(built, case.kernel.__name__)(*arguments):
            faults.append(f"{case.name}: {built.atoll_last_error().decode()}")
            continue
        ran += 1
        faults += [f"{case.name}: {fault}" for fault in case.faults(mine, case.expected(given))]
    assert not faults, "\n".join(faults)
    assert ran >= len(KERNELS)
    device = built.atoll_device_name().decode()
    tell(f"{ran} launches from C of {len(CASES)}; not row-major: {', '.join(left) or 'none'}: {device}")
