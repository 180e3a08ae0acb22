"""What do import, a cold compile and a launch cost, beside numba, Warp, Taichi and ctypes, in one run?

    ./dev bench kernels [--peers PYTHON] [--rounds N] [--json | --write]

Every contender runs in a process of its own, in turn, and in the other order in the next round; a figure is
the median of the rounds; a launch is the best hundred of a hundred hundreds, since what else the machine does
only adds. Peers are imported by the Python that `--peers` names, where they are installed; one
that cannot be imported is listed with the reason. The work of a launch is one group of 64 elements of saxpy:
what is timed is the launch. Times of a device are another script's: `tools/bench/kernels_on_device.py`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/benchmarks/kernels.md"
BEGIN, END = "<!-- measured: ./dev bench kernels -->", "<!-- /measured -->"
SECONDS = 180

_TIMED = """
import json, statistics, time, timeit
began = time.perf_counter()
{imports}
imported = time.perf_counter() - began
import numpy as np
n = 64
x, y, out = np.arange(n, dtype=np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
found = {{"import_ms": imported * 1e3}}
def launches(act, result=lambda: out):
    start = time.perf_counter()
    act()
    found["first_ms"] = (time.perf_counter() - start) * 1e3
    assert np.allclose(result(), 2 * x + y), "the answer is wrong"
    for _ in range(200):
        act()
    found["launch_us"] = min(timeit.repeat(act, number=100, repeat=100)) / 100 * 1e6
{body}
print(json.dumps(found))
"""

_ATOLL = """
from atoll import f32, kernel, view
import kernel_file
saxpy = kernel_file.saxpy
from atoll.kernels.front import compile_kernel
from atoll.plugin import registry
emitters = registry().emitters
for name, arch, word in (("vulkan", "", "spirv"), ("cuda", "sm_90", "ptx"), ("opencl", "", "opencl_c")):
    emitter = emitters[name]
    target = emitter.target(None, arch)
    emitter.emit(compile_kernel(kernel_file.warm.function).optimised, "warm", target, (64, 1, 1))
    times = []
    for _ in range(9):
        start = time.perf_counter()
        emitter.emit(compile_kernel(saxpy.function).optimised, "saxpy", target, (64, 1, 1))
        times.append(time.perf_counter() - start)
    found[f"{word}_ms"] = statistics.median(times) * 1e3
device = atoll.open("cpu")
launches(lambda: saxpy.over(n, device=device)(2.0, x, y, out))
kept = saxpy.over(n, device=device)
found["kept_us"] = min(timeit.repeat(lambda: kept(2.0, x, y, out), number=100, repeat=100)) / 100 * 1e6
"""

_CTYPES = """
library = ctypes.CDLL("./saxpy.so")
pointer = ctypes.POINTER(ctypes.c_float)
library.saxpy.argtypes = [ctypes.c_float, pointer, pointer, pointer, ctypes.c_int]
def act():
    p = [item.ctypes.data_as(pointer) for item in (x, y, out)]
    library.saxpy(2.0, *p, n)
launches(act)
"""

_NUMBA = """
@numba.njit
def saxpy(a, x, y, out):
    for i in range(out.size):
        out[i] = a * x[i] + y[i]
a = np.float32(2)
launches(lambda: saxpy(a, x, y, out))
"""

_TAICHI = """
ti.init(arch=ti.cpu, log_level=ti.ERROR, offline_cache=False, cpu_max_num_threads=1)
import peer_taichi
launches(lambda: peer_taichi.saxpy(2.0, x, y, out))
"""

_TAICHI_FILE = """
import taichi as ti
@ti.kernel
def saxpy(a: ti.f32, x: ti.types.ndarray(), y: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in range(out.shape[0]):
        out[i] = a * x[i] + y[i]
"""

_WARP = """
wp.config.quiet = True
import os
wp.config.kernel_cache_dir = f"./warp-cache-{os.getpid()}"  # cold in every process, as the others are
wp.init()
import peer_warp
arrays = [wp.array(item, dtype=wp.float32, device="cpu") for item in (x, y, out)]
launches(lambda: wp.launch(peer_warp.saxpy, dim=n, inputs=[2.0, *arrays], device="cpu"), arrays[2].numpy)
"""

_WARP_FILE = """
import warp as wp
@wp.kernel
def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = a * x[i] + y[i]
"""

_KERNEL_FILE = """
import atoll
from atoll import f32, kernel, view

@kernel
def saxpy(a: f32, x: view[f32], y: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = a * x[i] + y[i]

@kernel
def warm(x: view[f32]):
    x[atoll.global_id(0)] = 1.0
"""

_C = """
void saxpy(float a, const float *x, const float *y, float *out, int n) {
  for (int i = 0; i < n; i++) out[i] = a * x[i] + y[i];
}
"""


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do it: what is imported in the timed region, what runs, and whose Python runs it."""

    name: str
    imports: str
    body: str
    peer: bool = True


CONTENDERS = (
    Contender("Atoll", "import atoll", _ATOLL, peer=False),
    Contender("ctypes", "import ctypes", _CTYPES, peer=False),
    Contender("numba", "import numba", _NUMBA),
    Contender("Taichi", "import taichi as ti", _TAICHI),
    Contender("Warp", "import warp as wp", _WARP),
    Contender("Triton", "import triton", ""),
)


@dataclass(slots=True)
class Found:
    """The figures of one contender by round, or why there are none."""

    rounds: list[dict[str, float]] = field(default_factory=list)
    reason: str = ""

    def median(self, name: str) -> float | None:
        """Return a figure's median."""
        values = [item[name] for item in self.rounds if name in item]
        return statistics.median(values) if values else None


def once(contender: Contender, python: str, folder: Path) -> dict[str, float] | str:
    """Run a contender in a process of its own; return its figures, or the reason why not."""
    script = folder / f"run_{contender.name}.py"
    script.write_text(_TIMED.format(imports=contender.imports, body=contender.body))
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environment = {**kept, "ATOLL_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": str(folder / "numba")}
    try:
        done = subprocess.run(
            [python, str(script)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"it did not end in {SECONDS} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it failed"])[-1][:160]
    figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def bare_start(python: str) -> float:
    """Return the seconds of `python -c pass`."""
    import time

    start = time.perf_counter()
    subprocess.run([python, "-c", "pass"], check=True)
    return time.perf_counter() - start


def import_start(python: str) -> float:
    """Return the seconds of `python -c "import atoll"`."""
    import time

    start = time.perf_counter()
    subprocess.run([python, "-c", "import atoll"], check=True)
    return time.perf_counter() - start


def measure(peers: str, rounds: int) -> tuple[dict[str, Found], list[tuple[float, float]]]:
    """Return the figures of every contender, and pairs of start-up times without and with Atoll."""
    found = {item.name: Found() for item in CONTENDERS}
    starts: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory(prefix="atoll-bench-") as name:
        folder = Path(name)
        (folder / "kernel_file.py").write_text(_KERNEL_FILE)
        (folder / "peer_taichi.py").write_text(_TAICHI_FILE)
        (folder / "peer_warp.py").write_text(_WARP_FILE)
        (folder / "saxpy.c").write_text(_C)
        compiler = ["cc", "-O2", "-shared", "-fPIC", "-o", str(folder / "saxpy.so"), str(folder / "saxpy.c")]
        subprocess.run(compiler, check=True)
        for turn in range(rounds):
            for contender in CONTENDERS if turn % 2 == 0 else CONTENDERS[::-1]:
                mine = found[contender.name]
                if mine.reason:
                    continue
                said = once(contender, peers if contender.peer else sys.executable, folder)
                if isinstance(said, str):
                    mine.reason = said
                else:
                    mine.rounds.append(said)
            starts += [(bare_start(sys.executable), import_start(sys.executable)) for _ in range(3)]
    return found, starts


def text(found: dict[str, Found], starts: list[tuple[float, float]]) -> str:
    """Return the figures as Markdown; ratios are to Atoll's own."""
    atoll = found["Atoll"]
    now = datetime.datetime.now(datetime.UTC)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    lines = [
        f"{now:%Y-%m-%d %H:%M} UTC · {machine} · Python {platform.python_version()}",
        "",
        "| | import, ms | first launch of a small kernel, ms | a launch, µs | a launch ÷ Atoll's |",
        "|---|---|---|---|---|",
    ]
    own = atoll.median("launch_us")
    for name, item in found.items():
        if not item.rounds:
            lines.append(f"| {name} | not measured: {item.reason} | | | |")
            continue
        cells = [_shown(item.median(key)) for key in ("import_ms", "first_ms", "launch_us")]
        launch = item.median("launch_us")
        ratio = f"{launch / own:.2f}" if launch and own else "–"
        lines.append(f"| {name} | {' | '.join(cells)} | {ratio} |")
    kept = _shown(atoll.median("kept_us"))
    texts = ", ".join(
        f"{word} {_shown(atoll.median(key))} ms"
        for word, key in (("SPIR-V", "spirv_ms"), ("PTX", "ptx_ms"), ("OpenCL C", "opencl_c_ms"))
    )
    bare, full = (statistics.median(item) * 1e3 for item in zip(*starts, strict=True))
    times = statistics.median(after / before for before, after in starts)
    lines += ["", f"A launch that is kept (`launch = saxpy.over(n)`, then `launch(…)`): {kept} µs.  "]
    lines += [f"Cold in process, from Python to code: {texts}.  "]
    lines += [f"`python -c pass` {bare:.0f} ms, `python -c 'import atoll'` {full:.0f} ms: {times:.2f} times."]
    return "\n".join(lines) + "\n"


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def main(argv: list[str]) -> int:
    """Run it all, print the table, and put it into the page where that is asked."""
    parser = argparse.ArgumentParser(prog="./dev bench kernels", description=__doc__)
    parser.add_argument("--peers", default=sys.executable, help="the Python that has the peers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE.relative_to(ROOT)}")
    asked = parser.parse_args(argv)
    found, starts = measure(asked.peers, asked.rounds)
    said = text(found, starts)
    if asked.json:
        print(
            json.dumps({name: {"rounds": item.rounds, "reason": item.reason} for name, item in found.items()})
        )
    else:
        print(said)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        _, _, after = rest.partition(END)
        PAGE.write_text(f"{before}{BEGIN}\n{said}{END}{after}", encoding="utf-8")
    return 0 if found["Atoll"].rounds else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
