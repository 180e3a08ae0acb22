"""The compute runtime on a GPU, beside torch: hashes, copies, fused chains, products. Writes OUT/runtime.md.

`python3 tools/bench/runtime_on_device.py OUT [DRIVER…]`, on a machine with the GPU; torch where it is.
Times are host times over a queue of launches with one wait, medians of 9 after 2; arrays are larger than
the L2.
"""

from __future__ import annotations

import importlib
import statistics
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import atoll
from atoll import engine, f32, kernel, view
from atoll.engine import fused as f

SIZE = 1 << 28


@kernel
def small(x: view[f32], y: view[f32]) -> None:
    """What one launch does."""
    i = atoll.global_id(0)
    y[i] = x[i] + y[i]


def timed(work: Callable[[], object], wait: Callable[[], object], times: int = 10) -> float:
    """Return the median seconds of one turn of work, over queues of `times`."""
    found = []
    for at in range(11):
        start = time.perf_counter()
        for _ in range(times):
            work()
        wait()
        if at > 1:
            found.append((time.perf_counter() - start) / times)
    return statistics.median(found)


def hashes(drivers: list[str]) -> list[str]:
    """Return a line a driver: which anchors have other bytes than NumPy."""
    rows = []
    for name in drivers:
        test = engine.selftest(name)
        other = [item.name for item in test.results if not item.is_equal]
        rows.append(
            f"| {name} | {test.device} | {test.tier} | {len(test.results)} | {', '.join(other) or '–'} |"
        )
    head = ["| driver | device | tier | programs | other bytes than NumPy |", "|---|---|---|---|---|"]
    return [*head, *rows]


def passes(name: str) -> list[str]:
    """Return what copies and chains move on one driver."""
    device = atoll.open(name)
    x, y, out = (engine.uniform(SIZE, seed, device=device) for seed in (1, 2, 3))
    copy = atoll.fuse(lambda x: x * 1.0)
    chain = atoll.fuse(lambda x, y: x * y * 0.5 + x - y)
    curve = atoll.fuse(lambda x, y: f.sigmoid(x * y * 0.5 + x - y))
    rows = []
    for what, work, moved in (
        ("copy (x * 1)", lambda: copy(x, out=out), 8),
        ("chain of 4, fused", lambda: chain(x, y, out=out), 12),
        ("chain with a sigmoid, exact", lambda: curve(x, y, out=out), 12),
    ):
        took = timed(work, out.wait)
        rows.append(f"| {name} | {what} | {took * 1e3:.3f} | {moved * SIZE / took / 1e12:.2f} |")
    half = engine.full((1,), 0.5, device=device)

    def apart() -> Any:
        product = engine.binary("mul", engine.binary("mul", x, y), half)
        return engine.binary("sub", engine.binary("add", product, x), y)

    took = timed(apart, out.wait, 2)
    rows.append(f"| {name} | chain of 4, unfused | {took * 1e3:.3f} | {12 * SIZE / took / 1e12:.2f} |")
    rows_of = engine.uniform((SIZE >> 12, 4096), 1, device=device)
    for what, asked in (
        ("sum of rows of 4096", lambda: engine.reduce("sum", rows_of, -1)),
        ("prefix scan of rows of 4096", lambda: engine.scan(rows_of)),
        ("softmax of rows of 4096", lambda: engine.softmax(rows_of)),
    ):
        took = timed(asked, out.wait, 2)
        moved = 4 if what.startswith("sum") else 8
        rows.append(f"| {name} | {what} | {took * 1e3:.3f} | {moved * SIZE / took / 1e12:.2f} |")
    return rows


def products(name: str, torch: Any) -> list[str]:
    """Return products of 8192 by 8192 in the exact and the device tier, beside torch."""
    device, side = atoll.open(name), 4096 if name != "cuda" else 8192
    operations = 2 * side**3
    rows = []
    for element in ("f32", "f16"):
        x = engine.cast(engine.uniform((side, side), 1, device=device), element)
        took = timed(partial(engine.matmul, x, x), device.wait, 2)
        rows.append(
            f"| {name} | {element} exact, {side} | {took * 1e3:.2f} | {operations / took / 1e12:.1f} |"
        )
        if name != "cuda":
            continue
        took = timed(partial(engine.matmul, x, x, tier="device"), device.wait, 5)
        ran = engine.decisions[-1].variant
        rows.append(
            f"| {name} | {element} device ({ran}), {side} "
            f"| {took * 1e3:.2f} | {operations / took / 1e12:.1f} |"
        )
        got = engine.matmul(x[:512], x, tier="device").numpy()
        want = x[:512].numpy().astype("f8") @ x.numpy().astype("f8")
        rows.append(
            f"| {name} | {element} device: largest relative error | {np.abs(got / want - 1).max():.1e} | |"
        )
        if torch is not None:
            kind = torch.float32 if element == "f32" else torch.float16
            theirs = torch.rand(side, side, device="cuda", dtype=kind)
            took = timed(partial(torch.matmul, theirs, theirs), torch.cuda.synchronize, 5)
            rows.append(f"| torch | {element}, {side} | {took * 1e3:.2f} | {operations / took / 1e12:.1f} |")
    weights, given = (
        engine.uniform((4096, 4096), 1, device=device),
        engine.uniform((256, 4096), 2, device=device),
    )
    for scheme in ("int8", "ternary"):
        took = timed(partial(engine.matmul_q, given, weights, scheme), device.wait, 2)
        moved = 2 * 256 * 4096 * 4096
        rows.append(
            f"| {name} | {scheme}, 256 x 4096 x 4096 | {took * 1e3:.2f} | {moved / took / 1e12:.2f} |"
        )
    return rows


def launches(name: str) -> list[str]:
    """Return what a launch on arrays costs the host."""
    x, y = (atoll.array(np.ones(1024, np.float32), device=name) for _ in range(2))
    launch = small.over(1024)
    launch(x, y)
    took = timed(lambda: launch(x, y), y.wait, 500)
    return [f"| {name} | {took * 1e6:.2f} |"]


def beside(torch: Any) -> list[str]:
    """Return torch's copy and chain."""
    if torch is None:
        return []
    x, y, out = (torch.rand(SIZE, device="cuda") for _ in range(3))
    took = timed(lambda: out.copy_(x), torch.cuda.synchronize)
    rows = [f"| torch | copy_ | {took * 1e3:.3f} | {8 * SIZE / took / 1e12:.2f} |"]
    took = timed(lambda: x * y * 0.5 + x - y, torch.cuda.synchronize)
    return [*rows, f"| torch | chain of 4, unfused | {took * 1e3:.3f} | {12 * SIZE / took / 1e12:.2f} |"]


def main(argv: list[str]) -> int:
    """Run everything; a part that fails says so and the rest goes on."""
    out, drivers = Path(argv[0]), argv[1:] or ["cuda", "vulkan", "opencl"]
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        torch = None
    if torch is not None and not torch.cuda.is_available():
        torch = None
    lines = [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), ""]

    def part(title: str, head: str, work: Callable[[], list[str]]) -> None:
        lines.extend(["", f"## {title}", "", *([head, "|" + "---|" * (head.count("|") - 1)] if head else [])])
        try:
            lines.extend(work())
        except Exception:  # the next part may still run, and this one's words are in the page
            lines.extend(["```", traceback.format_exc()[-1500:], "```"])
        (out / "runtime.md").write_text("\n".join(lines) + "\n")
        print(lines[-1], flush=True)

    for name in drivers:
        part(f"hashes, {name}", "", partial(hashes, [name]))
        part(f"launch, {name}", "| driver | µs |", partial(launches, name))
        part(f"moved, {name}", "| who | what | ms | TB/s |", partial(passes, name))
        part(f"products, {name}", "| who | what | ms | TFLOP/s |", partial(products, name, torch))
    part("torch", "| who | what | ms | TB/s |", partial(beside, torch))
    print((out / "runtime.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
