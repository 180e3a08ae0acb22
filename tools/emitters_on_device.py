"""Do the emitters give right answers on the devices of this machine? Needs `src` and cffi.

    PYTHONPATH=src python tools/emitters_on_device.py cuda,vulkan,opencl [SEEDS] [PART OF THE DEVICE'S NAME]

`cuda-cpp` is CUDA C++ through the nvcc on PATH and the CUDA driver; `cpu-llvm` is the processor through LLVM,
`cpu` through the C compiler. Every program of the suite, then random kernels by seed, compared bit for bit
with the direct evaluation; the maths functions and Vulkan's and OpenCL's division and square root within what
the suite allows.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from atoll.errors import AtollError
from atoll.plugin import DriverDevice, Emitted, Emitter
from atoll.testing.emitters import answers_are_right
from atoll.testing.program import Program
from atoll.testing.programs import programs
from atoll.testing.random_kernels import random_program

DOORS = {
    "cpu": ("atoll_plugins.cpu.driver:CpuDriver", "atoll_plugins.cpu.emitter:CpuEmitter"),
    "cpu-llvm": ("atoll_plugins.cpu.driver:CpuDriver", "atoll_plugins.cpu.llvm:CpuLlvmEmitter"),
    "cuda-cpp": ("atoll_plugins.cuda.driver:CudaDriver", "atoll_plugins.cuda.cpp:CudaCppEmitter"),
    "cuda": ("atoll_plugins.cuda.driver:CudaDriver", "atoll_plugins.cuda.emitter:PtxEmitter"),
    "opencl": ("atoll_plugins.opencl.driver:OpenClDriver", "atoll_plugins.opencl.emitter:OpenClEmitter"),
    "vulkan": ("atoll_plugins.vulkan.driver:VulkanDriver", "atoll_plugins.spirv.emitter:SpirvEmitter"),
}


def make(point: str) -> Any:
    """Return the plugin of an entry point."""
    module, name = point.split(":")
    return getattr(importlib.import_module(module), name)()


class Nvcc:
    """An emitter whose CUDA C++ is compiled by nvcc, so that the driver of CUDA can load it."""

    def __init__(self, inner: Emitter) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def emit(self, *asked: Any) -> Emitted:
        """Return one kernel as a cubin."""
        code = self.inner.emit(*asked)
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "kernel.cu", Path(folder) / "kernel.cubin"
            source.write_bytes(code.code)
            command = ["nvcc", f"-arch={code.target.arch}", "-cubin", "-o", str(out), str(source)]
            subprocess.run(command, check=True, capture_output=True)
            return replace(code, code=out.read_bytes(), text=False, declared=False, arch=code.target.arch)


def outcome(emitter: Emitter, device: DriverDevice, program: Program, ulp: int | None) -> str:
    """Return ``ok``, ``refused``, or what was wrong."""
    try:
        return "refused" if answers_are_right(emitter, device, program, ulp=ulp) is None else "ok"
    except (AssertionError, AtollError, subprocess.CalledProcessError) as error:
        return str(error)[:500]


def proof(backend: str, seeds: int, part: str) -> bool:
    """Run everything on one device of a backend; tell whether all was right."""
    driver, emitter = map(make, DOORS[backend])
    if backend == "cpu":
        driver = type(driver)(with_llvm=False)
    if backend == "cuda-cpp":
        emitter = Nvcc(emitter)
    found = [info for info in driver.devices() if part in info.name]
    if not found:
        print(f"{backend}: no device ({driver.unavailable()})")
        return False
    device = driver.open(found[0].index)
    start = time.monotonic()
    said = {program.name: outcome(emitter, device, program, None) for program in programs()}
    drawn = {f"seed {seed}": outcome(emitter, device, random_program(seed), 0) for seed in range(seeds)}
    device.close()
    wrong = {name: text for name, text in (said | drawn).items() if text not in ("ok", "refused")}
    right = sum(text == "ok" for text in said.values())
    refused = [name for name, text in said.items() if text == "refused"]
    print(f"{backend}: {found[0].name}, {device.target()}, {time.monotonic() - start:.0f} s")
    print(f"  {right} of {len(said)} programs right, refused: {', '.join(refused) or 'none'}")
    print(f"  {sum(text == 'ok' for text in drawn.values())} of {seeds} random kernels right")
    for name, text in wrong.items():
        print(f"  {name}: {text}")
    return not wrong


def main() -> None:
    """Read the command line."""
    backends, seeds, part, *_ = [*sys.argv[1:], *("cpu", "20", "")[len(sys.argv) - 1 :]]
    right = [proof(backend, int(seeds), part) for backend in backends.split(",")]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
