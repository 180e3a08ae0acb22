"""Are the twenty kernels right on a CUDA machine, and how fast beside nvcc, Triton and numba-cuda, in one run?

    PYTHONPATH=src:/tmp/site python3 tools/bench/kernels_on_device.py OUT [--scale N] [--only NAME,…]

Needs PyTorch, nvcc on PATH, and Atoll with cffi and greenlet; Triton, numba-cuda and CuPy are measured where they
can be imported. Device time is read from events around each launch, medians after warm-up; arrays lie on the device
and are several times its L2. Writes OUT/kernels.json and OUT/kernels.md and prints the table last.
"""
# mypy: ignore-errors
# ruff: noqa: ARG001, B905, C901, E501

from __future__ import annotations

import argparse
import copy
import ctypes
import importlib
import json
import statistics
import struct
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "examples" / "kernels"), str(ROOT)]

WARM, REPEAT = 3, 15
#: Seconds that one contender of one job may take in all.
PATIENCE = 6.0
CASE_FILES = (
    "elementwise",
    "movement",
    "reduction",
    "normalise",
    "matrix",
    "attention",
    "simulation",
    "particles",
    "sparse",
)

LETTERS = {"f": "<f", "i": "<i", "I": "<I", "q": "<q"}


def say(text: str) -> None:
    """Print at once."""
    print(text, flush=True)


# --- the peers in CUDA C++ -----------------------------------------------------------------------


class Peers:
    """The kernels of peers.cu, loaded through the CUDA driver into PyTorch's context."""

    def __init__(self, torch: Any, folder: Path) -> None:
        self.torch = torch
        major, minor = torch.cuda.get_device_capability()
        binary = folder / "peers.cubin"
        command = [
            "nvcc",
            "-O3",
            f"-arch=sm_{major}{minor}",
            "-cubin",
            "-o",
            str(binary),
            str(HERE / "peers" / "peers.cu"),
        ]
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        self.seconds = time.perf_counter() - start
        self.cu = ctypes.CDLL("libcuda.so.1")
        module = ctypes.c_void_p()
        self.check(self.cu.cuModuleLoad(ctypes.byref(module), str(binary).encode()))
        self.module = module

    def check(self, result: int) -> None:
        if result:
            raise RuntimeError(f"the CUDA driver returned {result}")

    def launcher(self, name: str, spec: tuple) -> Any:
        """Return what launches a kernel once, on PyTorch's current stream."""
        function = ctypes.c_void_p()
        self.check(self.cu.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()))
        grid, block, *given = spec
        sizes = [*_three(grid), *_three(block)]
        held = [self._argument(item) for item in given]
        pointers = (ctypes.c_void_p * len(held))(*(ctypes.addressof(item) for item in held))
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)

        def launch() -> None:
            self.check(self.cu.cuLaunchKernel(function, *sizes, 0, stream, pointers, None))

        launch.kept = held, given
        return launch

    def _argument(self, item: Any) -> Any:
        if isinstance(item, tuple):
            raw = struct.pack(LETTERS[item[0]], item[1])
            return (ctypes.c_char * len(raw)).from_buffer_copy(raw)
        return ctypes.c_uint64(item.data_ptr())


def _three(size: Any) -> tuple[int, int, int]:
    parts = size if isinstance(size, tuple) else (size,)
    return (*parts, 1, 1, 1)[:3]


# --- measuring -----------------------------------------------------------------------------------


def device_seconds(torch: Any, launch: Any) -> tuple[float, float]:
    """Return the median and the least seconds of a launch on the device."""
    began = time.perf_counter()
    for _ in range(WARM):
        launch()
    torch.cuda.synchronize()
    each = (time.perf_counter() - began) / WARM
    count = max(3, min(REPEAT, int(PATIENCE / max(each, 1e-6))))
    marks = [
        (torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)
    ]
    for first, last in marks:
        first.record()
        launch()
        last.record()
    torch.cuda.synchronize()
    times = [first.elapsed_time(last) / 1e3 for first, last in marks]
    return statistics.median(times), min(times)


def apart(torch: Any, mine: list, theirs: list) -> float:
    """Return how far two results are apart: relative in the norm, or the part of integers that differ."""
    worst = 0.0
    for a, b in zip(mine, theirs, strict=True):
        if a.is_floating_point():
            norm = b.double().norm().item() or 1.0
            far = (a.double() - b.double()).norm().item() / norm
            worst = max(worst, far if far == far else float("inf"))
        else:
            worst = max(worst, (a.to(torch.int64) != b.to(torch.int64)).double().mean().item())
    return worst


def contenders(torch: Any, job: Any, device: Any, peers: Peers, others: dict[str, Any]) -> dict[str, Any]:
    """Return what launches a job once, by contender."""
    ready = job.kernel.over(job.domain, device=device, block=job.block)
    found = {"atoll": lambda: ready(*job.given), "nvcc": peers.launcher(job.name, job.cuda)}
    triton = getattr(others.get("triton"), job.name, None)
    if triton is not None:
        found["triton"] = lambda: triton(*job.given)
    if "numba" in others:
        prepared = others["numba"].prepare(job.name, job.given)
        if prepared is not None:
            found["numba"] = prepared
    return found


def measured(torch: Any, job: Any, device: Any, peers: Peers, others: dict[str, Any]) -> dict[str, Any]:
    """Return one row: each contender's seconds and how far its result is from nvcc's."""
    job.keep()
    row: dict[str, Any] = {
        "name": job.name,
        "bytes": job.nbytes,
        "flops": job.flops,
        "size": job.size,
        "seconds": {},
    }
    row["apart"], row["failed"], results = {}, {}, {}
    for name, launch in contenders(torch, job, device, peers, others).items():
        try:
            job.reset()
            launch()
            torch.cuda.synchronize()
            results[name] = job.results()
            median, least = device_seconds(torch, launch)
            row["seconds"][name] = median
            row.setdefault("least", {})[name] = least
        except Exception as error:
            row["failed"][name] = f"{type(error).__name__}: {str(error).strip()[:300]}"
    for name, result in results.items():
        if name != "nvcc" and "nvcc" in results:
            row["apart"][name] = apart(torch, result, results["nvcc"])
    return row


def copy_bandwidth(torch: Any, nbytes: int) -> float:
    """Return the bytes a second of a device-to-device copy, read and written counted."""
    a = torch.randint(0, 255, (nbytes,), dtype=torch.uint8, device="cuda")
    b = torch.empty_like(a)
    seconds, _ = device_seconds(torch, lambda: b.copy_(a))
    return 2 * nbytes / seconds


# --- right or not --------------------------------------------------------------------------------


def cases_right(atoll: Any, name: str) -> dict[str, Any]:
    """Run every case of examples/kernels on a driver's device; four seeds each."""
    device = atoll.open(name)
    right, wrong = 0, []
    for file in CASE_FILES:
        for case in importlib.import_module(file).CASES:
            for seed in range(4):
                try:
                    given = case.given(seed)
                    mine = copy.deepcopy(given)
                    done = case.kernel.over(case.domain, device=device)(*mine)
                    said = case.faults(mine, case.expected(given))
                    said += [] if done.device == device.name else [f"it ran on {done.device}"]
                except Exception as error:
                    said = [f"{type(error).__name__}: {str(error)[:300]}"]
                right += not said
                wrong += [f"{case.name} seed {seed}: {said[0]}"] if said else []
    return {"device": device.name, "right": right, "all": right + len(wrong), "wrong": wrong[:20]}


def cases_on_tensors(atoll: Any, torch: Any) -> dict[str, Any]:
    """Run every case on tensors in the device's memory: the code for plain arrays. Structs are left out."""
    import numpy as np

    device = atoll.open("cuda")
    right, wrong, taken = 0, [], set()
    for file in CASE_FILES:
        for case in importlib.import_module(file).CASES:
            for seed in range(4):
                given = case.given(seed)
                if any(getattr(getattr(item, "dtype", None), "names", None) for item in given):
                    continue
                try:
                    found, back = _moved(torch, np, given)
                    case.kernel.over(case.domain, device=device)(*found)
                    torch.cuda.synchronize()
                    said = case.faults(back(), case.expected(given))
                except Exception as error:
                    said = [f"{type(error).__name__}: {str(error)[:300]}"]
                taken.add(case.name)
                right += not said
                wrong += [f"{case.name} seed {seed}: {said[0]}"] if said else []
    return {
        "device": f"{device.name}, tensors, {len(taken)} kernels",
        "right": right,
        "all": right + len(wrong),
        "wrong": wrong[:20],
    }


def _moved(torch: Any, np: Any, given: tuple) -> tuple[list, Any]:
    """Return a case's arguments with its arrays as tensors on the device, and what brings them back."""
    signed = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}
    tensors: dict[int, Any] = {}
    for item in given:
        if isinstance(item, np.ndarray) and id(item) not in tensors:
            name = item.dtype.name
            plain = np.ascontiguousarray(item).view(signed.get(name, name)).copy()
            moved = torch.from_numpy(plain).cuda()
            tensors[id(item)] = moved.view(getattr(torch, name)) if name in signed else moved
    found = [tensors.get(id(item), item) for item in given]

    def back() -> tuple:
        return tuple(
            tensors[id(item)]
            .view(getattr(torch, signed.get(item.dtype.name, item.dtype.name)))
            .cpu()
            .numpy()
            .view(item.dtype)
            if id(item) in tensors
            else item
            for item in given
        )

    return found, back


def tensors_right(atoll: Any, torch: Any) -> dict[str, str]:
    """Launch on tensors: on a side stream without a wait, strided, through DLPack and the array interface."""
    from elementwise import saxpy

    said: dict[str, str] = {}

    def note(name: str, check: Any) -> None:
        try:
            said[name] = "right" if check() else "wrong"
        except Exception as error:
            said[name] = f"{type(error).__name__}: {str(error)[:200]}"

    def side_stream() -> bool:
        n = 1 << 24
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            big = torch.randn(8192, 8192, device="cuda")
            x = torch.ones(n, device="cuda")
            y, out = torch.zeros(n, device="cuda"), torch.empty(n, device="cuda")
            for turn in range(20):
                big = big @ big * 1e-4  # keeps the stream busy, so that a launch elsewhere would be early
                x.fill_(turn)
                saxpy.over(n, device="cuda")(2.0, x, y, out)
                y = out + 1
            total = y.sum()
        stream.synchronize()
        expected = 0.0
        for turn in range(20):
            expected = 2.0 * turn + expected + 1
        return abs(total.item() / n - expected) < 1e-3

    def strided() -> bool:
        base = torch.arange(40, device="cuda", dtype=torch.float32)
        out = torch.zeros(30, device="cuda")
        saxpy.over(10, device="cuda")(2.0, base[::4], base[5:15], out[::3])
        torch.cuda.synchronize()
        return torch.equal(out[::3], 2 * base[::4] + base[5:15]) and not out[1::3].any()

    def foreign(wrap: Any) -> bool:
        x, y = torch.arange(100, device="cuda", dtype=torch.float32), torch.ones(100, device="cuda")
        out = torch.zeros(100, device="cuda")
        saxpy.over(100, device="cuda")(2.0, wrap(x), wrap(y), wrap(out)).wait()
        torch.cuda.synchronize()
        return torch.equal(out, 2 * x + y)

    class Interface:
        def __init__(self, tensor: Any) -> None:
            self.tensor, self.__cuda_array_interface__ = tensor, tensor.__cuda_array_interface__

    class Dlpack:
        def __init__(self, tensor: Any) -> None:
            self.tensor = tensor

        def __dlpack__(self, **given: Any) -> Any:
            return self.tensor.__dlpack__(**given)

        def __dlpack_device__(self) -> Any:
            return self.tensor.__dlpack_device__()

    def cupy_arrays() -> bool:
        import cupy

        return foreign(lambda tensor: cupy.from_dlpack(tensor.contiguous()) if tensor is not None else None)

    def mixed() -> bool:
        import numpy as np

        x, y, out = torch.ones(64, device="cuda"), np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
        saxpy.over(64, device="cuda")(3.0, x, y, out)
        return bool((out == 3 + y).all())

    checks = {
        "torch, side stream, no wait": side_stream,
        "torch, strided": strided,
        "torch and NumPy mixed": mixed,
    }
    checks |= {"__cuda_array_interface__": lambda: foreign(Interface), "DLPack": lambda: foreign(Dlpack)}
    for name, check in (checks | {"CuPy": cupy_arrays}).items():
        note(name, check)
    return said


# --- compiling and launching ---------------------------------------------------------------------


def compile_times(atoll: Any, torch: Any, peers: Peers, others: dict[str, Any]) -> dict[str, Any]:
    """Return the cold compile times of a small kernel, in milliseconds."""
    from elementwise import saxpy

    from atoll.kernels.front import compile_kernel
    from atoll.plugin import registry

    device = atoll.open("cuda")
    emitter, target = registry().emitters["cuda"], device.target()
    text, loaded = [], []
    for turn in range(9):
        start = time.perf_counter()
        code = emitter.emit(compile_kernel(saxpy.function).module, "saxpy", target, (256, 1, 1))
        text.append(time.perf_counter() - start)
        fresh = type(code)(
            **{
                **{k: getattr(code, k) for k in code.__dataclass_fields__},
                "code": code.code + b"// %d\n" % turn,
            }
        )
        start = time.perf_counter()
        device.load(fresh)
        loaded.append(time.perf_counter() - start)
    found = {
        "atoll, Python to PTX": statistics.median(text) * 1e3,
        "atoll, PTX to loaded code (driver)": statistics.median(loaded) * 1e3,
        "nvcc, all peers to cubin": peers.seconds * 1e3,
    }
    found |= _peer_compile(torch, others)
    return found


def _peer_compile(torch: Any, others: dict[str, Any]) -> dict[str, float]:
    found = {}
    x, y, o = (torch.ones(1024, device="cuda") for _ in range(3))
    if "triton" in others:
        start = time.perf_counter()
        others["triton"].add_kernel[(1,)](x, y, o, 1000, B=512)
        torch.cuda.synchronize()
        found["triton, first launch of a small kernel"] = (time.perf_counter() - start) * 1e3
    if "numba" in others:
        ready = others["numba"].prepare("residual_add", (x, y, o))
        start = time.perf_counter()
        ready()
        torch.cuda.synchronize()
        found["numba-cuda, first launch of a small kernel"] = (time.perf_counter() - start) * 1e3
    return found


def launch_times(atoll: Any, torch: Any, peers: Peers, others: dict[str, Any]) -> dict[str, float]:
    """Return the host's microseconds of queuing one small launch, medians of rounds."""
    from elementwise import residual_add, saxpy

    n = 256
    x, y, o = (torch.ones(n, device="cuda") for _ in range(3))
    spec = (1, 64, ("f", 2.0), x, y, o, ("q", n // 4))
    rows: dict[str, Any] = {
        "atoll, `saxpy.over(n)(a, x, y, out)`": lambda: saxpy.over(n, device="cuda")(2.0, x, y, o),
        "cuLaunchKernel through ctypes": peers.launcher("saxpy", spec),
        "torch.add(out=)": lambda: torch.add(x, y, out=o),
    }
    kept = residual_add.over(n, device="cuda")
    rows["atoll, a kept launch of three tensors"] = lambda: kept(x, y, o)
    if "triton" in others:
        rows["triton"] = lambda: others["triton"].saxpy_kernel[(1,)](2.0, x, y, o, n, B=512)
    if "numba" in others:
        rows["numba-cuda, arrays wrapped before"] = others["numba"].prepare("saxpy", (2.0, x, y, o))
    found = {}
    for name, act in rows.items():
        try:
            for _ in range(50):
                act()
            torch.cuda.synchronize()
            rounds = []
            for _ in range(15):
                start = time.perf_counter()
                for _ in range(100):
                    act()
                rounds.append((time.perf_counter() - start) / 100)
                torch.cuda.synchronize()
            found[name] = statistics.median(rounds) * 1e6
        except Exception as error:
            found[name] = f"{type(error).__name__}: {str(error)[:200]}"
    return found


def other_drivers(atoll: Any) -> dict[str, Any]:
    """Return launch times through the other drivers, arrays on the device: saxpy, by the host's clock."""
    import numpy as np
    from elementwise import saxpy

    from atoll.kernels.tune import measure

    n = 1 << 24
    x, y, o = np.ones(n, np.float32), np.ones(n, np.float32), np.zeros(n, np.float32)
    found = {}
    for name in ("cuda", "vulkan", "opencl"):
        try:
            seconds = measure(saxpy, n, (2.0, x, y, o), atoll.open(name), 256)
            found[name] = {"seconds": seconds, "bytes_per_second": 12 * n / seconds}
        except Exception as error:
            found[name] = f"{type(error).__name__}: {str(error)[:200]}"
    return found


# --- the table -----------------------------------------------------------------------------------


def table(data: dict[str, Any]) -> str:
    """Return everything as Markdown."""
    names = ("atoll", "nvcc", "triton", "numba")
    lines = [
        f"{data['when']} · {data['device']} · driver {data['driver']} · torch {data['torch']} · `{data['command']}`",
        "",
        f"Device-to-device copy: {data['copy'] / 1e9:.0f} GB/s.",
        "",
        "| kernel | size | atoll µs | nvcc µs | Triton µs | numba µs | atoll GB/s | of copy | best peer ÷ atoll | apart |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in data["rows"]:
        times = [row["seconds"].get(name) for name in names]
        mine, others = times[0], [item for item in times[1:] if item]
        shown = [
            f"{item * 1e6:.0f}" if item else ("failed" if name in row["failed"] else "–")
            for name, item in zip(names, times)
        ]
        rate = row["bytes"] / mine if mine else 0
        share = (
            f"{rate / data['copy']:.2f}"
            if not row["flops"]
            else f"{row['flops'] / mine / 1e12:.2f} Tflop/s"
            if mine and row["flops"] > 1
            else "–"
        )
        ratio = f"{min(others) / mine:.2f}" if mine and others else "–"
        far = row["apart"].get("atoll")
        lines.append(
            f"| {row['name']} | {row['size']} | {' | '.join(shown)} | {rate / 1e9:.0f} | {share} | {ratio} | {'–' if far is None else f'{far:.1e}'} |"
        )
    for title in ("cases", "tensors", "compile_ms", "launch_us", "drivers"):
        lines += [
            "",
            f"**{title}**",
            "",
            *(f"- {name}: {_text(value)}" for name, value in data[title].items()),
        ]
    failed = [
        f"- {row['name']}, {name}: {why}" for row in data["rows"] for name, why in row["failed"].items()
    ]
    return "\n".join([*lines, *(["", "**failed**", "", *failed] if failed else []), ""])


def _text(value: Any) -> str:
    if isinstance(value, dict) and "all" in value:
        return f"{value['device']}: {value['right']} of {value['all']} right" + "".join(
            f"; {item}" for item in value["wrong"]
        )
    if isinstance(value, dict):
        return ", ".join(f"{name} {item:.4g}" for name, item in value.items())
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def guarded(act: Any, *given: Any) -> Any:
    """Return what a part of the run gives, or what went wrong, so that the rest goes on."""
    try:
        return act(*given)
    except Exception:
        say(traceback.format_exc())
        return {"failed": traceback.format_exc().strip().splitlines()[-1]}


def main() -> int:
    """Run everything; the exit code says whether every case was right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=440.0)
    asked = parser.parse_args()
    began = time.monotonic()
    asked.out.mkdir(parents=True, exist_ok=True)

    import torch
    from tools.bench.peers.jobs import makers

    import atoll

    others: dict[str, Any] = {}
    for name, module in (("triton", "triton_peers"), ("numba", "numba_peers")):
        try:
            others[name] = importlib.import_module(f"tools.bench.peers.{module}")
        except Exception as error:
            say(f"{name} cannot be measured: {type(error).__name__}: {error}")
    torch.zeros(1, device="cuda")
    peers = Peers(torch, asked.out)
    (asked.out / "peers.cubin").unlink()
    device = atoll.open("cuda")
    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
    )
    data: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "device": device.name,
        "driver": driver.stdout.strip(), "torch": torch.__version__,
        "command": " ".join(sys.argv), "copy": copy_bandwidth(torch, (1 << 30) // asked.scale),
        "cases": {}, "tensors": {}, "compile_ms": {}, "launch_us": {}, "drivers": {}, "rows": [],
    }  # fmt: skip

    def save() -> None:
        (asked.out / "kernels.json").write_text(json.dumps(data, indent=1))
        (asked.out / "kernels.md").write_text(table(data))

    say(f"copy {data['copy'] / 1e9:.0f} GB/s, nvcc {peers.seconds:.1f} s")
    for name in ("cuda", "vulkan", "opencl"):
        data["cases"][name] = guarded(cases_right, atoll, name)
        say(f"{name}: {_text(data['cases'][name])} ({time.monotonic() - began:.0f} s)")
    data["cases"]["cuda, tensors"] = guarded(cases_on_tensors, atoll, torch)
    say(_text(data["cases"]["cuda, tensors"]))
    data["tensors"] = guarded(tensors_right, atoll, torch)
    data["compile_ms"] = guarded(compile_times, atoll, torch, peers, others)
    data["launch_us"] = guarded(launch_times, atoll, torch, peers, others)
    save()
    only = set(filter(None, asked.only.split(",")))
    for name, make in makers(torch, asked.scale).items():
        if only and name not in only:
            continue
        if time.monotonic() - began > asked.seconds - 20:
            say(f"no time is left for {name}")
            continue
        row = guarded(lambda make=make: measured(torch, make(), device, peers, others))
        if "seconds" in row:
            data["rows"].append(row)
            times = ", ".join(f"{who} {t * 1e6:.0f} µs" for who, t in row["seconds"].items())
            say(f"{name}: {times} {row['failed'] or ''} ({time.monotonic() - began:.0f} s)")
            save()
        torch.cuda.empty_cache()
    data["drivers"] = guarded(other_drivers, atoll)
    save()
    say(table(data))
    return 0 if all(item.get("right") == item.get("all") for item in data["cases"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
