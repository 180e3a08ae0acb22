"""The kernel that the driver suite launches, written by hand for each backend, and what the tests need."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from atoll import f32, global_id, kernel, u32, view
from atoll.plugin import Driver, Emitted, Target, registry
from atoll.testing.drivers import LAYOUT
from atoll_plugins.cpu.driver import CpuDriver
from atoll_plugins.cuda.driver import CudaDriver
from atoll_plugins.opencl.driver import OpenClDriver
from atoll_plugins.vulkan.driver import VulkanDriver
from atoll_plugins.vulkan.null import NullDevice, NullVulkan

HERE = Path(__file__).parent
ENTRY = "saxpy"

CPU_TEXT = """\
#include <stdint.h>
#include <string.h>
void saxpy(void *const *buffers, const void *block, const uint32_t groups[3], const uint32_t group[3],
           uint64_t first, uint64_t last) {
  const float *x = buffers[0], *y = buffers[1];
  float *out = buffers[2], a;
  uint32_t n;
  (void)groups;
  memcpy(&a, block, 4);
  memcpy(&n, (const char *)block + 4, 4);
  for (uint64_t g = first; g < last; g++)
    for (uint64_t i = g * group[0]; i < (g + 1) * group[0]; i++)
      if (i < n) out[i] = a * x[i] + y[i];
}
"""

OPENCL_TEXT = """\
#pragma OPENCL FP_CONTRACT OFF
typedef struct { float a; uint n; } block_t;
__kernel void saxpy(__global const float *x, __global const float *y, __global float *out, block_t block) {
  uint i = get_global_id(0);
  if (i < block.n) out[i] = block.a * x[i] + y[i];
}
"""

GLSL_TEXT = """\
#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { float x[]; };
layout(binding = 1) buffer Y { float y[]; };
layout(binding = 2) buffer O { float o[]; };
layout(push_constant) uniform P { float a; uint n; };
void main() {
  uint i = gl_GlobalInvocationID.x;
  precise float r = a * x[i] + y[i];
  if (i < n) o[i] = r;
}
"""

# The fake interface runs `saxpy` itself and refuses text that does not name it.
PTX_TEXT = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry saxpy() { ret; }\n"


def spirv(folder: Path, text: str = GLSL_TEXT, name: str = "saxpy") -> bytes:
    """Return GLSL compiled by the reference compiler."""
    compiler = shutil.which("glslangValidator")
    if compiler is None:
        pytest.skip("no glslangValidator")
    source, out = folder / f"{name}.comp", folder / f"{name}.spv"
    source.write_text(text)
    command = [compiler, "-V", "--target-env", "vulkan1.1", "-e", ENTRY, "--source-entrypoint", "main"]
    subprocess.run([*command, str(source), "-o", str(out)], check=True, capture_output=True)
    return out.read_bytes()


@kernel
def saxpy(x: view[f32], y: view[f32], out: view[f32], a: f32, n: u32) -> None:
    i = global_id(0)
    if u32(i) < n:
        out[i] = a * x[i] + y[i]


def reference() -> Emitted:
    """Return the kernel as KIR, which the interpreter runs on NumPy arrays."""
    target = Target(backend="cpu", arch="kir")
    emitter = registry().emitters["cpu"]
    compiled = saxpy.compiled_for(target)
    return emitter.emit(compiled.optimised, compiled.kernel.name, target, (64, 1, 1))


def code(backend: str, folder: Path) -> Emitted:
    """Return the kernel for a backend."""
    if backend == "ref":
        return reference()
    backend = "vulkan" if backend == "null" else backend
    texts = {"cpu": CPU_TEXT, "opencl": OPENCL_TEXT, "cuda": PTX_TEXT}
    data = texts[backend].encode() if backend in texts else spirv(folder)
    return Emitted(
        target=Target(backend=backend),
        stage="text" if backend in texts else "spirv",
        code=data,
        text=backend in texts,
        entry=ENTRY,
        suffix=".code",
        layout=LAYOUT,
    )


def build_library(source: Path, out: Path, *flags: str) -> Path:
    """Compile a C file into a shared object."""
    command = [
        "gcc",
        "-std=gnu11",
        "-O1",
        "-g",
        "-Wall",
        "-Werror",
        "-shared",
        "-fPIC",
        "-o",
        str(out),
        str(source),
    ]
    subprocess.run([*command, *flags], check=True)
    return out


def fake_cuda(folder: Path) -> Path:
    """Build the fake driver interface; FAKE_CUDA_* variables shape its devices."""
    return build_library(
        HERE / "fake_cuda.c", folder / "libfakecuda.so", f"-I{plugin_folder('cuda')}", "-ldl"
    )


def plugin_folder(backend: str) -> Path:
    """Return the folder of a backend's plugin."""
    import atoll_plugins

    return Path(atoll_plugins.__file__).parent / backend


def driver(backend: str, library: Path | None = None) -> Driver:
    """Return a driver, on another library than the system's where one is given."""
    if backend == "cpu":
        return CpuDriver(with_llvm=False)
    if backend == "ref":
        return CpuDriver({})
    if backend == "null":
        return VulkanDriver(table=NullVulkan((NullDevice(),)).table())
    made: dict[str, type[CudaDriver | OpenClDriver | VulkanDriver]] = {
        "cuda": CudaDriver,
        "opencl": OpenClDriver,
        "vulkan": VulkanDriver,
    }
    return made[backend](str(library)) if library else made[backend]()


def needs_device(found: Driver) -> None:
    """Skip where a driver reaches nothing on this machine, saying what is missing."""
    missing = found.unavailable()
    if missing is not None:
        pytest.skip(f"no {found.name} device")
