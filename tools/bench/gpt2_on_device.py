"""Is the GPT-2 of examples/gpt2 right on a CUDA machine, and how fast is each kernel, in one run?

    PYTHONPATH=src:/tmp/site python3 tools/bench/gpt2_on_device.py OUT [--only NAME,…] [--steps N] [--seconds S]

124M shapes (B=4, T=1024): each kernel beside a plain CUDA C++ kernel of the same job (peers/gpt2.cu, nvcc) and PyTorch
eager; then the tiny model's losses on each driver and a training step; last, for 100 s of its own, `torch.compile`. Every
part has a process of its own and writes after each step, so that a fault costs one row. Needs PyTorch, nvcc on PATH,
and Atoll with cffi and greenlet. Device time is read from events around each launch, medians after warm-up; arrays
lie on the device. Writes OUT/gpt2.json and OUT/gpt2.md and prints the table last.
"""
# mypy: ignore-errors
# ruff: noqa: ARG001, B905, E501

from __future__ import annotations

import argparse
import ctypes
import functools
import json
import math
import statistics
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "examples" / "gpt2"), str(HERE), str(ROOT)]

from gpt2_jobs import B, C, H, Job, N, T, V, jobs  # noqa: E402
from kernels_on_device import PATIENCE, REPEAT, WARM, Peers, apart, say  # noqa: E402


def device_seconds(torch: Any, launch: Any) -> tuple[float, float]:
    """Return the median and the least seconds on the device: all is queued while it sleeps, so no host is timed."""
    began = time.perf_counter()
    for _ in range(WARM):
        launch()
    torch.cuda.synchronize()
    each = (time.perf_counter() - began) / WARM
    count = max(3, min(REPEAT, int(PATIENCE / max(each, 1e-6))))
    marks = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(count)]
    torch.cuda._sleep(40_000_000)  # about 20 ms
    for first, last in marks:
        first.record()
        launch()
        last.record()
    torch.cuda.synchronize()
    times = [first.elapsed_time(last) / 1e3 for first, last in marks]
    return statistics.median(times), min(times)


class Gpt2Peers(Peers):
    """The kernels of gpt2.cu."""

    def __init__(self, torch: Any, folder: Path) -> None:
        self.torch = torch
        major, minor = torch.cuda.get_device_capability()
        binary = folder / "gpt2.cubin"
        command = [
            "nvcc",
            "-O3",
            f"-arch=sm_{major}{minor}",
            "-cubin",
            "-o",
            str(binary),
            str(HERE / "peers" / "gpt2.cu"),
        ]
        subprocess.run(command, check=True, capture_output=True)
        self.cu = ctypes.CDLL("libcuda.so.1")
        self.module = ctypes.c_void_p()
        self.check(self.cu.cuModuleLoad(ctypes.byref(self.module), str(binary).encode()))


def measured(torch: Any, job: Job, device: Any, peers: Gpt2Peers) -> dict[str, Any]:
    """Return one row: each contender's seconds, and how far ours is from the peer's result."""
    row: dict[str, Any] = {"seconds": {}, "failed": {}}
    found = {
        "atoll": lambda: (job.kernel.over(job.domain, device=device, block=job.own_block), job.given),
        "nvcc": lambda: (peers.launcher(job.peer_name, job.peer), ()),
        "eager": lambda: (job.eager, ()),
    }
    results = {}
    for name, prepare in found.items():
        try:
            ready, given = prepare()
            job.reset()
            ready(*given)
            torch.cuda.synchronize()
            if name in ("atoll", "nvcc"):
                results[name] = job.results()
            median, least = device_seconds(torch, functools.partial(ready, *given))
            row["seconds"][name], row.setdefault("least", {})[name] = median, least
        except Exception as error:
            row["failed"][name] = f"{type(error).__name__}: {str(error).strip()[:200]}"
    if len(results) == 2:
        row["apart"] = apart(torch, results["atoll"], results["nvcc"])
    return row


def losses_of(model: Any, train: Any, name: str) -> dict[str, Any]:
    """Train the tiny model ten steps on a driver; return the losses."""
    text = (ROOT / "examples" / "gpt2" / "README.md").read_bytes()
    config = model.Config()
    tiny = model.Model(config, model.random_weights(config), 4, name)
    given = train.batches(text, 4, config.time)
    losses = [tiny.train(*next(given)) for _ in range(10)]
    return {"device": tiny.used, "losses": losses}


def training(torch: Any, model: Any, steps: int) -> dict[str, Any]:
    """Return tokens per second of whole training steps of GPT-2 124M, weights random."""
    config = model.Config(T, V, 12, H, C)
    weights = torch.from_numpy(model.random_weights(config)).cuda()

    def zeros(count: int, kind: str = "f4") -> Any:
        return torch.zeros(count, device="cuda", dtype=torch.int32 if kind == "i4" else torch.float32)

    whole = model.Model(config, weights, B, "cuda", zeros)
    tokens = torch.randint(0, V, (N + 1,), device="cuda", dtype=torch.int32)
    x, y = tokens[:-1].clone(), tokens[1:].clone()
    losses, times = [], []
    for _ in range(steps + 2):
        start = time.perf_counter()
        losses.append(whole.train(x, y, 3e-4))
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    median = statistics.median(times[2:])
    return {
        "losses": losses,
        "seconds": median,
        "tokens_per_second": N / median,
        "expected first loss": math.log(V),
    }


def page(report: dict[str, Any]) -> str:
    """Return the report as Markdown."""
    lines = [
        f"GPT-2 124M shapes, B={B}, T={T}; {report['device']}, driver {report.get('driver', '')}, {report['date']}; PyTorch {report['torch']}.",
        "",
    ]
    lines += [
        "| kernel | Atoll | CUDA C++ | eager | torch.compile | ahead of CUDA C++ | apart |",
        "|---|---|---|---|---|---|---|",
    ]
    ratios = []
    for row in report["rows"]:
        times = row["seconds"]
        cells = [
            f"{times[name] * 1e6:.{1 if times[name] < 1e-4 else 0}f} µs"
            if name in times
            else row["failed"].get(name, "-")[:40]
            for name in ("atoll", "nvcc", "eager", "compile")
        ]
        ratio = times["nvcc"] / times["atoll"] if {"nvcc", "atoll"} <= set(times) else None
        ratios += [ratio] if ratio else []
        lines.append(
            f"| {row['name']} | {' | '.join(cells)} | {f'{ratio:.2f} ×' if ratio else '-'} | {row.get('apart', math.nan):.1e} |"
        )
    if ratios:
        lines.append(
            f"\nGeometric mean over {len(ratios)} kernels: {statistics.geometric_mean(ratios):.3f} ×."
        )
    base = report["losses"].get("cpu", {}).get("losses", [])
    for name, item in report["losses"].items():
        far = max((abs(a - b) for a, b in zip(item.get("losses", []), base)), default=math.nan)
        said = (
            item.get("failed")
            or f"{item['device']}: last loss {item['losses'][-1]:.6f}, at most {far:.1e} from cpu"
        )
        lines.append(f"\nTiny model on {name}: {said}.")
    step = report.get("training", {})
    if "tokens_per_second" in step:
        lines.append(
            f"\nA training step: {step['seconds'] * 1e3:.1f} ms, {step['tokens_per_second']:.0f} tokens per second, losses {step['losses'][:3]} … {step['losses'][-1]:.4f}."
        )
    elif step:
        lines.append(f"\nA training step failed: {step['failed']}")
    return "\n".join(lines) + "\n"


# --- parts: each in a process of its own, so that none takes another with it ----------------------


def _modules() -> tuple[Any, Any, Any, Any]:
    import kernels
    import model
    import torch

    import atoll

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    return torch, kernels, model, atoll.open("cuda")


def part_rows(asked: argparse.Namespace, report: dict[str, Any], write: Any) -> None:
    """Measure each kernel; leave at once where the device takes no more work."""
    torch, kernels, model, device = _modules()
    report |= {"device": device.name, "torch": torch.__version__}
    report["driver"] = _driver_version()
    peers = Gpt2Peers(torch, asked.out)
    done = {row["name"] for row in report["rows"]}
    for job in jobs(torch, kernels, model):
        if job.name in done or (asked.only and job.name not in asked.only.split(",")):
            continue
        row: dict[str, Any] = {"name": job.name, "seconds": {}, "failed": {"atoll": "the process ended here"}}
        report["rows"].append(row)
        write()
        row["failed"] = {}
        row |= measured(torch, job, device, peers)
        say(
            f"{row['name']}: "
            + ", ".join(f"{name} {seconds * 1e6:.1f} µs" for name, seconds in row["seconds"].items())
            + f" apart {row.get('apart')} {row['failed'] or ''}"
        )
        write()
        torch.cuda.synchronize()


def part_compile(asked: argparse.Namespace, report: dict[str, Any], write: Any) -> None:
    """Measure `torch.compile` of what PyTorch does for each row that has none yet."""
    torch, kernels, model, _ = _modules()
    rows = {row["name"]: row for row in report["rows"]}
    for job in jobs(torch, kernels, model):
        row = rows.get(job.name)
        if row is None or "compile" in row["seconds"] or "compile" in row["failed"]:
            continue
        row["failed"]["compile"] = "the process ended here"
        write()
        try:
            launch = torch.compile(job.eager)
            job.reset()
            launch()
            row["seconds"]["compile"], _least = device_seconds(torch, launch)
            del row["failed"]["compile"]
        except Exception as error:
            row["failed"]["compile"] = f"{type(error).__name__}: {str(error).strip()[:200]}"
        torch._dynamo.reset()
        write()


def part_training(asked: argparse.Namespace, report: dict[str, Any], write: Any) -> None:
    """Train the large model some steps."""
    torch, _kernels, model, _ = _modules()
    report["training"] = {"failed": "the process ended here"}
    write()
    report["training"] = training(torch, model, asked.steps)
    write()


def part_losses(asked: argparse.Namespace, report: dict[str, Any], write: Any) -> None:
    """Train the tiny model on one driver."""
    import model
    import train

    report["losses"][asked.device] = {"failed": "the process ended here"}
    write()
    report["losses"][asked.device] = losses_of(model, train, asked.device)
    write()


PARTS = {"rows": part_rows, "compile": part_compile, "training": part_training, "losses": part_losses}


def _driver_version() -> str:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else ""


def _own(asked: argparse.Namespace) -> int:
    """Run one part in this process; what it finds is written after each step."""
    place = asked.out / "gpt2.json"
    report = json.loads(place.read_text())

    def write() -> None:
        place.write_text(json.dumps(report, indent=1))

    try:
        PARTS[asked.part](asked, report, write)
    except Exception as error:
        traceback.print_exc()
        report.setdefault("faults", []).append(f"{asked.part}: {type(error).__name__}: {str(error)[:300]}")
        write()
        return 1
    return 0


def _run(asked: argparse.Namespace, part: str, left: float, *more: str) -> bool:
    """Run a part in a process; tell whether it ended well."""
    if left < 3:
        say(f"{part}: no time left")
        return False
    began = time.perf_counter()
    command = [sys.executable, __file__, str(asked.out), "--part", part, "--steps", str(asked.steps)]
    command += ["--only", asked.only] if asked.only else []
    try:
        ended = subprocess.run([*command, *more], check=False, timeout=left).returncode
    except subprocess.TimeoutExpired:
        ended = -1
    say(f"{part} {' '.join(more)}: {'right' if ended == 0 else ended}, {time.perf_counter() - began:.0f} s")
    return ended == 0


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=140.0)
    parser.add_argument("--compile-seconds", type=float, default=100.0)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--devices", default="cpu,cuda,opencl,vulkan")
    parser.add_argument("--part", choices=sorted(PARTS), help=argparse.SUPPRESS)
    parser.add_argument("--device", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        return _own(asked)
    end = time.perf_counter() + asked.seconds
    asked.out.mkdir(parents=True, exist_ok=True)
    place = asked.out / "gpt2.json"
    date = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    place.write_text(json.dumps({"device": "", "torch": "", "date": date, "rows": [], "losses": {}}))

    def shown() -> str:
        text = page(json.loads(place.read_text()))
        (asked.out / "gpt2.md").write_text(text)
        return text

    for _ in range(4):  # after a fault of the device the rest is measured in a new process
        if _run(asked, "rows", min(90.0, end - time.perf_counter())):
            break
    say(shown())
    if not asked.only:
        for device in asked.devices.split(","):
            _run(asked, "losses", min(30.0, end - time.perf_counter()), "--device", device)
            shown()
        _run(asked, "training", min(60.0, end - time.perf_counter()))
        say(shown())
    if not asked.no_compile:
        _run(asked, "compile", asked.compile_seconds)
    say(shown())
    return 0


if __name__ == "__main__":
    sys.exit(main())
