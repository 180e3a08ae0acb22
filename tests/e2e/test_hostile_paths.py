"""Paths of every kind go through every lane: an edited header finds its user, and nothing is expanded."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.plugin import registry
from atoll.session import Built, Session, open_session
from unit.plugins.lane_project import write

STEMS = [
    "sp ace",
    "qu'o\"te",
    "d$ollar",
    "ha#sh",
    "p%cent",
    "文字",
    "-dash",
    "semi;colon",
    "a&b",
    "(par)",
    "st*r",
    "til~de",
]
EVIL = "h$(touch x)"
ROOT = "pro ject $HOME #1 %2 文 'q\" -d"
PACKAGE = '[package]\nname = "demo"\n'


def opened(root: Path, **environment: str) -> Session:
    return open_session(root, environment={"PATH": "/usr/bin:/bin", "ATOLL_OFFLINE": "1", **environment})


def sources(lane: str, stems: list[str]) -> dict[str, str]:
    """Return one source and one header a stem, the header included by its source."""
    files = {}
    for number, stem in enumerate(stems):
        source, header = TEXTS[lane]
        extension, inner = EXTENSIONS[lane]
        quoted = f"{stem}{inner}".replace("\\", "\\\\")
        # What stands between quotes of an include cannot hold one.
        name = f"h{number}{inner}" if '"' in stem else quoted
        files[f"in/{stem}{extension}"] = source.format(header=name, number=number)
        files[f"in/{name}"] = header.format(number=number, value=number)
    return files


EXTENSIONS = {
    "c": (".c", ".h"),
    "c++": (".cpp", ".hpp"),
    "spirv": (".comp", ".glsl"),
    "opencl": (".cl", ".clh"),
    "cuda": (".cu", ".cuh"),
    "cuda by clang": (".cu", ".cuh"),
    "hip": (".hip", ".hpp"),
    "slang": (".slang", ".slangh"),
}
C = ('#include "{header}"\nint f{number}(void) {{ return V{number}; }}\n', "#define V{number} {value}\n")
SHADER = (
    '#version 450\n#extension GL_GOOGLE_include_directive : enable\n#include "{header}"\n'
    "layout(set = 0, binding = 0) buffer X {{ float x[]; }};\nvoid main() {{ x[0] = V{number}; }}\n"
)
SLANG = (
    '#include "{header}"\nRWStructuredBuffer<float> x;\n[shader("compute")] [numthreads(1, 1, 1)]\n'
    "void main() {{ x[0] = V{number}; }}\n"
)
TEXTS = {
    "c": C,
    "c++": ('#include "{header}"\nextern "C" int f{number}() {{ return V{number}; }}\n', C[1]),
    "spirv": (
        SHADER,
        "#define V{number} {value}.0\n",
    ),
    "slang": (SLANG, "#define V{number} {value}.0\n"),
    "opencl": (
        '#include "{header}"\nkernel void k{number}(global float *x) {{ x[0] = V{number}; }}\n',
        "#define V{number} {value}.0f\n",
    ),
    "cuda": (
        '#include "{header}"\n__global__ void k{number}(float *x) {{ x[0] = V{number}; }}\n',
        "#define V{number} {value}.0f\n",
    ),
}
TEXTS["cuda by clang"] = TEXTS["cuda"]
# No kernel: the header of the runtime, which a launch needs, takes seconds.
TEXTS["hip"] = (
    '#include "{header}"\n__device__ float k{number}() {{ return V{number}; }}\n',
    TEXTS["cuda"][1],
)
# What its depfiles and command lines could trip over; each costs some seconds.
FEW = {lane: ["sp ace", "qu'o\"te", "ha#sh"] for lane in ("cuda by clang", "hip", "slang")}
# Four compiles a stem and step: what only a shell minds stands in one name.
FEW["cuda"] = [*STEMS[:7], "semi;colon&(par)st*r~"]
LANES = {
    "spirv": ("spirv", "vulkan1.2"),
    "opencl": ("opencl", "opencl1.2"),
    "cuda": ("cuda", "cuda13.0+{sm_90}"),
    "cuda by clang": ("cuda", "cuda13.0+{sm_90}"),
    "hip": ("hip", "hip5.2+{gfx942}"),
    "slang": ("slang", "vulkan1.2"),
}
# No compiler of these stands on a machine of this kind: the first two are plan tested, the third is 520 MB.
NOT_HERE = {"ascendc", "metal", "sycl"}


def manifest(lane: str) -> str:
    extension, _ = EXTENSIONS[lane]
    if lane in ("c", "c++"):
        return f'{PACKAGE}[targets.demo]\nkind = "static"\nsources = ["in/*{extension}"]\n'
    name, accel = LANES[lane]
    backend = "".join(letter for letter in accel.partition("+")[0] if letter.isalpha())
    named = '[lane.cuda]\ncompiler = "clang++-22"\n' if lane == "cuda by clang" else ""
    return (
        f'{PACKAGE}{named}[build]\naccel = "{accel}"\nlanes = ["{name}"]\n[targets.demo]\nkind = "static"\n'
        f'sources = ["none.c", {{ glob = "in/*{extension}", accel = "{backend}" }}]\n'
    )


def units(built: Built, lane: str) -> list[str]:
    """Return the compilations of authored files that ran."""
    word = "host demo" if lane in ("c", "c++") else f"{LANES[lane][0]} demo"
    return sorted(
        name
        for name in built.result.ran
        if name.startswith(word) and "/in/" not in name and "none.c" not in name
    )


@pytest.mark.parametrize("lane", list(EXTENSIONS))
def test_every_stem_through_every_lane(tmp_path: Path, lane: str, tell: Callable[[str], None]) -> None:
    environment, stems = _environment(lane), FEW.get(lane, STEMS)
    root = tmp_path / ROOT
    write(root, {"atoll.toml": manifest(lane), "none.c": "int none;\n", **sources(lane, stems)})
    built = opened(root, **environment).build()
    first = units(built, lane)
    assert len(first) == len(stems)
    assert opened(root, **environment).build().result.ran == ()
    _, inner = EXTENSIONS[lane]
    for number, stem in enumerate(stems):
        name = f"h{number}{inner}" if '"' in stem else f"{stem}{inner}"
        path = root / "in" / name
        path.write_text(path.read_text().replace(f"V{number} {number}", f"V{number} 7{number}"))
        ran = units(opened(root, **environment).build(), lane)
        assert ran == [word for word in first if word.endswith(f"in/{stem}{EXTENSIONS[lane][0]}")], stem
        assert len(ran) == 1
    tell(f"{lane}: {len(stems)} stems, each header edited once and one unit rebuilt")


def _environment(lane: str) -> dict[str, str]:
    """Return what a lane needs beside the scrubbed PATH; skip where a tool is missing."""
    if lane == "hip" and shutil.which("clang-offload-bundler-22", path="/usr/bin:/bin") is None:
        pytest.skip("clang-tools-22 is not installed")
    if lane == "slang":
        return {"ATOLL_OFFLINE": "0", "HOME": str(Path.home())}
    if not lane.startswith("cuda"):
        return {}
    if not _has_toolkit():
        pytest.skip("the CUDA payload is not in the store")
    if lane != "cuda" and shutil.which("clang++-22", path="/usr/bin:/bin") is None:
        pytest.skip("clang++-22 is not installed")
    return {"HOME": str(Path.home())}


def _has_toolkit() -> bool:
    from atoll.store import Store

    return any("cuda" in name for name in Store.default().names())


@pytest.mark.parametrize("lane", list(EXTENSIONS))
def test_a_header_that_is_a_command_creates_nothing(tmp_path: Path, lane: str) -> None:
    extension, inner = EXTENSIONS[lane]
    source, header = TEXTS[lane]
    files = {
        "atoll.toml": manifest(lane),
        "none.c": "int none;\n",
        f"in/a{extension}": source.format(header=f"{EVIL}{inner}", number=0),
        f"in/{EVIL}{inner}": header.format(number=0, value=0),
        f"in/`touch y`{extension}": source.format(header=f"{EVIL}{inner}", number=1).replace("V1", "V0"),
    }
    environment = _environment(lane)
    root = tmp_path / "p"
    write(root, files)
    before = {path.name for path in tmp_path.rglob("*") if ".atoll" not in path.parts}
    built = opened(root, **environment).build()
    assert len(units(built, lane)) == 2
    (root / f"in/{EVIL}{inner}").write_text(header.format(number=0, value=3))
    assert len(units(opened(root, **environment).build(), lane)) == 2
    after = {path.name for path in tmp_path.rglob("*") if ".atoll" not in path.parts}
    assert after - {"atoll.lock"} == before
    assert not {path.name for path in tmp_path.rglob("*")} & {"x", "y"}


@pytest.mark.parametrize("stem", [*STEMS, "`touch y`"])
def test_a_source_at_the_root_of_the_project(tmp_path: Path, stem: str) -> None:
    files = {"atoll.toml": f'{PACKAGE}[targets.demo]\nkind = "executable"\nsources = ["*.c"]\n'}
    write(tmp_path, {**files, f"{stem}.c": "int main(void) { return 0; }\n"})
    found = opened(tmp_path).build().output("demo")
    assert found is not None
    subprocess.run([tmp_path / found.path], check=True)


def test_python_kernels_in_hostile_files(tmp_path: Path) -> None:
    kernel = (
        "import atoll\nfrom atoll import f32, kernel, view\n\n@kernel(block=64)\ndef k{n}(x: view[f32]):\n"
        "    i = atoll.global_id(0)\n    if i < x.size:\n        x[i] = 3.0 * x[i]\n"
    )
    text = (
        f'{PACKAGE}[build]\nlanes = ["python"]\n[targets.demo]\nkind = "python"\nboundary = "kernels"\n'
        'sources = ["cpu/*.cpp", "in/*.py"]\n[boundary.kernels]\nmodule = "demo.kernels"\nroots = ["cpu"]\n'
        'shape = "registry"\n'
    )
    island = (
        '#include "demo_kernels.h"\nATOLL_EXPORT_AS(x[n])\nint demo_one(float* x, unsigned n) { return 0; }\n'
    )
    files = {f"in/{stem}.py": kernel.format(n=number) for number, stem in enumerate(STEMS)}
    write(tmp_path / ROOT, {"atoll.toml": text, "cpu/one.cpp": island, **files})
    built = opened(tmp_path / ROOT).build()
    assert len([name for name in built.result.ran if name.startswith("python ")]) == len(STEMS)
    assert opened(tmp_path / ROOT).build().result.ran == ()


def test_every_lane_that_compiles_here_is_in_the_list() -> None:
    covered = {"host", "python", *NOT_HERE, *(name for name, _ in LANES.values())}
    assert covered >= set(registry().lanes), sorted(set(registry().lanes) - covered)
