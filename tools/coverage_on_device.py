"""Which CUDA code does the device of this machine load and run? A kernel for each target, put to its driver.

    python tools/coverage_on_device.py make FOLDER     # where ptxas is on PATH, or named by PTXAS
    python tools/coverage_on_device.py load FOLDER     # where the device is; the standard library is enough

Prints a row for each file: its name, and `runs`, or the driver's own word for the refusal. The rows belong
into `docs/devices.md` and `RECORDED` of `tests/conformance/test_launchers.py`.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

MACHINE = ("75", "80", "86", "87", "89", "90", "90a", "100", "100a", "100f", "103", "120", "120a")
PORTABLE = tuple(
    text.split()
    for text in ("9.0 80", "9.0 90", "9.0 90a", "9.0 100", "8.8 90", "9.1 90", "9.2 80", "9.9 90")
)
ANSWER = 42
PTX = """\
.version {isa}
.target sm_{level}
.address_size 64
.visible .entry answer(.param .u64 out)
{{
  .reg .u64 %rd<3>;
  .reg .u32 %r<2>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, {answer};
  st.global.u32 [%rd2], %r1;
  ret;
}}
"""


def text(isa: str, level: str) -> str:
    """Return the kernel for one target in one version of PTX."""
    return PTX.format(isa=isa, level=level, answer=ANSWER)


def make(folder: Path) -> int:
    """Write a cubin for each machine target and the text of each portable one; say what ptxas refuses."""
    folder.mkdir(parents=True, exist_ok=True)
    for isa, level in PORTABLE:
        (folder / f"ptx{isa}-compute_{level}.ptx").write_text(text(isa, level))
    for level in MACHINE:
        source = folder / "source.txt"
        source.write_text(text("9.0", level))
        out = folder / f"sm_{level}.cubin"
        command = [os.environ.get("PTXAS", "ptxas"), f"-arch=sm_{level}", str(source), "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        sys.stdout.write(f"{out.name}: {'made' if done.returncode == 0 else done.stderr.strip()}\n")
        source.unlink()
    return 0


class Cuda:
    """The few calls of the driver that this needs, on the primary context of the first device."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.must("cuInit", 0)
        self.must("cuDeviceGet", ctypes.byref(device), 0)
        self.must("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.must("cuCtxPushCurrent_v2", context)
        name, version = ctypes.create_string_buffer(256), ctypes.c_int()
        self.must("cuDeviceGetName", name, 256, device)
        self.must("cuDriverGetVersion", ctypes.byref(version))
        self.name = (
            f"{name.value.decode()}, driver for CUDA {version.value // 1000}.{version.value % 1000 // 10}"
        )

    def call(self, function: str, *arguments: object) -> str:
        """Call a function and return what it said; empty where it succeeded."""
        code = getattr(self.library, function)(*arguments)
        if code == 0:
            return ""
        said = ctypes.c_char_p()
        self.library.cuGetErrorName(code, ctypes.byref(said))
        return f"{function}: {code} {(said.value or b'unknown').decode()}"

    def must(self, function: str, *arguments: object) -> None:
        """Call a function that has to succeed."""
        if said := self.call(function, *arguments):
            raise SystemExit(said)

    def answer(self, code: bytes) -> str:
        """Load and launch the kernel; return `runs`, or the first thing that failed."""
        module, function, buffer = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        if said := self.call("cuModuleLoadData", ctypes.byref(module), code + b"\0"):
            return said
        self.must("cuModuleGetFunction", ctypes.byref(function), module, b"answer")
        self.must("cuMemAlloc_v2", ctypes.byref(buffer), ctypes.c_size_t(4))
        found = ctypes.c_uint32()
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
        steps: tuple[Callable[[], str], ...] = (
            lambda: self.call("cuMemsetD32_v2", buffer, 0, ctypes.c_size_t(1)),
            lambda: self.call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, parameters, None),
            lambda: self.call("cuCtxSynchronize"),
            lambda: self.call("cuMemcpyDtoH_v2", ctypes.byref(found), buffer, ctypes.c_size_t(4)),
        )
        failed = next(filter(None, (step() for step in steps)), "")
        self.call("cuMemFree_v2", buffer)
        self.call("cuModuleUnload", module)
        return failed or ("runs" if found.value == ANSWER else f"wrong answer {found.value}")


def rows(folder: Path, cuda: Cuda) -> Iterator[str]:
    """Give one row for each file."""
    for path in sorted(folder.iterdir()):
        yield f"{path.name:24} {cuda.answer(path.read_bytes())}"


def main(verb: str, folder: str) -> int:
    """Make the files, or load them here."""
    if verb == "make":
        return make(Path(folder))
    cuda = Cuda()
    sys.stdout.write(f"{cuda.name}\n")
    for row in rows(Path(folder), cuda):
        sys.stdout.write(f"{row}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
