"""Write `<atoll/target.h>` for each platform of a C-like language, from the registry of intrinsics."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from atoll.ir import ops
from atoll_plugins.cpu.printer import C11
from atoll_plugins.cuda.printer import CUDA_CPP
from atoll_plugins.cuda.ptxtext import ASSEMBLY
from atoll_plugins.formats.cfunction import FunctionStyle, header
from atoll_plugins.formats.inline import TYPES
from atoll_plugins.hip.printer import ASSEMBLY as AMDGCN
from atoll_plugins.hip.printer import HIP_CPP
from atoll_plugins.opencl.printer import OPENCL_C
from atoll_plugins.sycl.printer import SYCL_CPP

PLUGINS = Path(__file__).resolve().parents[1] / "src" / "atoll_plugins"
SNIPPET = {ops.Inline.SNIPPET: TYPES}


def _compute(arch: str) -> str:
    """Ask for compute capability: `sm_35` is 350."""
    return f"defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= {int(arch.removeprefix('sm_')) * 10}"


STYLES = {
    "cuda": FunctionStyle(
        dialect=CUDA_CPP,
        platform="cuda",
        prefix="static __device__ inline",
        languages={**ASSEMBLY, **SNIPPET},
        condition=_compute,
    ),
    "hip": FunctionStyle(
        dialect=HIP_CPP,
        platform="hip",
        prefix="static __attribute__((device)) inline",
        head=tuple(
            f'extern "C" __attribute__((device, const)) float __ocml_{name}_f32(float);'
            for name in ("sin", "cos", "rsqrt", "exp2")
        ),
        languages={**AMDGCN, **SNIPPET},
    ),
    "opencl": FunctionStyle(dialect=OPENCL_C, platform="opencl", space="__global", languages=SNIPPET),
    "sycl": FunctionStyle(
        dialect=SYCL_CPP,
        platform="sycl",
        head=("#include <cstdint>", "#include <sycl/sycl.hpp>"),
        languages=SNIPPET,
    ),
    "host": FunctionStyle(
        dialect=replace(C11, types={**C11.types, "bool": "bool"}, name="C and C++"),
        platform="cpu",
        head=("#include <math.h>", "#include <stdbool.h>", "#include <stdint.h>"),
        languages=SNIPPET,
    ),
}


def path_of(plugin: str) -> Path:
    """Return where a platform's header lies."""
    return PLUGINS / plugin / "include" / "atoll" / "target.h"


def main(arguments: list[str]) -> int:
    """Write the headers, or tell whether they are current."""
    stale = []
    for plugin, style in STYLES.items():
        text, path = header(style), path_of(plugin)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(plugin)
            if "--check" not in arguments:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    print(f"{len(STYLES)} headers; stale: {stale or 'none'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
