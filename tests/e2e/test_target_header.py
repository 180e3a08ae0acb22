"""`<atoll/target.h>`: current, taken by each language's compiler, with the instructions of the platform."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atoll.store import PayloadRoot
from emitter_kit import tool

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "src" / "atoll_plugins"
CALLS = "y[0] = {0}ldcs(x) * {0}muladd({0}fast_rsqrt(4.0f), x[1], x[2]); {0}stcs(y + 1, {0}ldcg(x + 1));"
BITS = "y[2] = {0}popcount(7u) + {0}clz(1u) + {0}brev(1u << 31) + {0}dot4(0x01010101u, 0x02fe02feu, 3);"


def included(plugin: str) -> str:
    return f"-I{PLUGINS / plugin / 'include'}"


def compiled(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_header_is_what_the_registry_gives() -> None:
    compiled(sys.executable, str(ROOT / "tools" / "headers.py"), "--check")


@pytest.mark.parametrize(
    ("compiler", "suffix", "name"), [("gcc", "c", "Target_"), ("g++", "cpp", "Target::")]
)
def test_the_host_calls_them_and_gets_what_they_mean(
    compiler: str, suffix: str, name: str, tmp_path: Path
) -> None:
    import ctypes

    extern = 'extern "C" ' if suffix == "cpp" else ""
    body = f"{extern}void f(const float *x, float *y) {{ {CALLS} {BITS} }}".replace("{0}", name)
    source = tmp_path / f"f.{suffix}"
    source.write_text("#include <atoll/target.h>\n" + body.replace("{{", "{").replace("}}", "}"))
    out = tmp_path / "f.so"
    flags = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-shared", "-fPIC")
    compiled(tool(compiler), *flags, included("host"), str(source), "-o", str(out), "-lm")
    x, y = np.array([2, 3, 5], np.float32), np.zeros(3, np.float32)
    ctypes.CDLL(str(out)).f(ctypes.c_void_p(x.ctypes.data), ctypes.c_void_p(y.ctypes.data))
    assert y.tolist() == [2 * (0.5 * 3 + 5), 3, 3 + 31 + 1 + (3 + 2 - 2 + 2 - 2)]


def test_clang_takes_it_as_opencl_c(tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    body = (CALLS + BITS).replace("{0}", "Target_")
    head = "__kernel void k(__global const float *x, __global float *y)"
    source.write_text(f"#include <atoll/target.h>\n{head} {{ {body} }}\n")
    flags = ("-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-target", "spir64")
    command = (tool("clang-19"), "-Wall", "-Werror", "-Wno-unused-function", *flags, included("opencl"))
    compiled(*command, "-emit-llvm", "-c", str(source), "-o", str(tmp_path / "k.bc"))


def test_clang_makes_the_instructions_of_amd(tmp_path: Path) -> None:
    source, out = tmp_path / "k.hip", tmp_path / "k.s"
    body = (CALLS + BITS).replace("{0}", "Target::") + " y[3] = (float)Target::clock();"
    head = 'extern "C" __attribute__((global)) void k(const float *x, float *y)'
    source.write_text(f"#include <atoll/target.h>\n{head} {{ {body} }}\n")
    flags = ("-x", "hip", "--cuda-device-only", "-nogpulib", "-nogpuinc", "--offload-arch=gfx942", "-S")
    compiled(tool("clang-19"), *flags, included("hip"), str(source), "-o", str(out))
    text = out.read_text()
    for word in ("v_rsq_f32", "v_bcnt_u32_b32", "v_bfrev_b32", "s_memtime"):
        assert word in text


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
def test_nvidias_compiler_makes_the_hints_from_a_body_for_an_older_architecture(
    arch: str, tmp_path: Path, cuda_payload: PayloadRoot
) -> None:
    root = cuda_payload.root / "nvidia" / "cu13"
    source, out = tmp_path / "k.cu", tmp_path / "k.ptx"
    body = (CALLS + BITS).replace("{0}", "Target::") + " y[3] = (float)Target::clock();"
    source.write_text(
        f'#include <atoll/target.h>\nextern "C" __global__ void k(const float *x, float *y) {{ {body} }}\n'
    )
    command = (str(root / "bin" / "nvcc"), "-ccbin", tool("g++"), f"-arch={arch}", "-ptx", included("cuda"))
    compiled(*command, str(source), "-o", str(out))
    text = out.read_text()
    for word in ("ld.global.cs.f32", "ld.global.cg.f32", "st.global.cs.f32", "dp4a.s32.s32", "%clock64"):
        assert word in text
