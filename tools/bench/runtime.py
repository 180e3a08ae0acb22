"""How fast is the compute runtime, beside NumPy, numexpr and wgpu, in one run? Ratios are what counts.

`./dev bench runtime [--site DIR] [--write]`; DIR is where `pip install --target DIR numexpr wgpu taichi` put
the contenders. Both sides of a ratio are timed in turn, after a warm-up; medians. What is missing says so.
Goals: L1 and L3 to L9 of the notes on the runtime; L2 is of a compiled replayer, which there is none of
(docs/decisions/0271-no-compiled-replayer.md).
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tools.bench import recording

import atoll
from atoll import f32, kernel, view

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks" / "runtime.md"
OPEN, CLOSE = "<!-- measured: ./dev bench runtime -->", "<!-- /measured -->"
SIZE = 1 << 23


@kernel
def saxpy(a: f32, x: view[f32], y: view[f32]) -> None:
    """What one launch does in L4."""
    i = atoll.global_id(0)
    y[i] = a * x[i] + y[i]


@dataclass(frozen=True)
class Row:
    """One ratio.

    Attributes:
        goal: Its number.
        what: What is compared.
        ours: Our time in milliseconds.
        theirs: The other side's, or why there is none.
        wanted: The least of theirs ÷ ours.
    """

    goal: str
    what: str
    ours: float
    theirs: float | str
    wanted: float

    @property
    def text(self) -> str:
        """The row of the table."""
        if isinstance(self.theirs, str):
            said = f"not measured: {self.theirs} | | ≥ {self.wanted}"
            return f"| {self.goal} | {self.what} | {self.ours:.3g} | {said} |"
        ratio = self.theirs / self.ours
        met = "met" if ratio >= self.wanted else "**missed**"
        said = f"{self.theirs:.3g} | {ratio:.2f} | ≥ {self.wanted}: {met}"
        return f"| {self.goal} | {self.what} | {self.ours:.3g} | {said} |"


def turns(sides: Sequence[Callable[[], object]], rounds: int = 7) -> list[float]:
    """Return the median milliseconds of each side, timed in turn after one warm-up."""
    found: list[list[float]] = [[] for _ in sides]
    for at in range(rounds + 1):
        for times, side in zip(found, sides, strict=True):
            start = time.perf_counter()
            side()
            if at:
                times.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(times) for times in found]


def fused_beside_unfused(device: str, size: int) -> Row:
    """Return L6: a chain of four operations as one kernel and as four."""
    import numpy as np

    from atoll import engine

    random = np.random.default_rng(0)
    a, b = (atoll.array(random.standard_normal(size).astype("f4"), device=device) for _ in range(2))
    chain = atoll.fuse(lambda a, b: a * b * 0.5 + a - b)
    half = engine.full((1,), 0.5, device=device)

    def apart() -> Any:
        product = engine.binary("mul", engine.binary("mul", a, b), half)
        return engine.binary("sub", engine.binary("add", product, a), b)

    assert chain(a, b).numpy().tobytes() == apart().numpy().tobytes()
    ours, theirs = turns([lambda: chain(a, b).wait(), lambda: apart().wait()], 5)
    return Row(
        "L6", f"a chain of 4 operations on {size} floats, fused ÷ unfused, {a.device.name}", ours, theirs, 3.0
    )


def beside_numpy(device: str, size: int) -> list[Row]:
    """Return L7: fused on the processor beside NumPy with `out=` and numexpr on two threads."""
    import numpy as np

    from atoll.engine import fused as f

    random = np.random.default_rng(0)
    x, y = (random.standard_normal(size).astype("f4") for _ in range(2))
    a, b = atoll.array(x, device=device), atoll.array(y, device=device)
    out = np.empty_like(x)
    chain = atoll.fuse(lambda a, b: a * b * 0.5 + a - b)
    gate = atoll.fuse(lambda a, b: f.sigmoid(a * b * 0.5 + a - b))

    def in_numpy() -> None:
        np.multiply(x, y, out=out)
        np.multiply(out, np.float32(0.5), out=out)
        np.add(out, x, out=out)
        np.subtract(out, y, out=out)

    target = atoll.array(out, device=device)
    ours = lambda: chain(a, b, out=target).wait()  # noqa: E731
    name = a.device.name
    mine, theirs = turns([ours, in_numpy])
    rows = [Row("L7", f"the chain, {name} beside NumPy `out=`", mine, theirs, 2.2)]
    try:
        numexpr: Any = importlib.import_module("numexpr")
    except ImportError as error:
        missing = str(error)
        return [
            *rows,
            Row("L7", f"the chain, {name} beside numexpr", mine, missing, 2.5),
            Row("L7", f"with a sigmoid, {name} beside numexpr", mine, missing, 5.0),
        ]
    numexpr.set_num_threads(2)
    local = {"x": x, "y": y, "half": np.float32(0.5)}
    plain = lambda: numexpr.evaluate("x * y * half + x - y", local, out=out)  # noqa: E731
    curve = "1 / (1 + exp(-(x * y * half + x - y)))"
    mine, theirs = turns([ours, plain])
    rows.append(Row("L7", f"the chain, {name} beside numexpr, 2 threads", mine, theirs, 2.5))
    mine, theirs = turns(
        [lambda: gate(a, b, out=target).wait(), lambda: numexpr.evaluate(curve, local, out=out)]
    )
    rows.append(Row("L7", f"with a sigmoid, {name} beside numexpr, 2 threads", mine, theirs, 5.0))
    return rows


_WGPU_ONCE = """
def once():
    enc = device.create_command_encoder()
    dispatch(enc)
    device.queue.submit([enc.finish()])
    device._poll_wait()
for _ in range(30): once()
times = []
for _ in range(200):
    start = time.perf_counter(); once(); times.append(time.perf_counter() - start)
print(opened, sorted(times)[100])
"""


def beside_wgpu(site: str) -> list[Row]:
    """Return L4, one operation and its wait, and L9, import and opening; wgpu in a process of its own."""
    import numpy as np

    x, y = (atoll.array(np.ones(1024, np.float32), device="vulkan") for _ in range(2))
    launch = saxpy.over(1024)

    def once() -> None:
        launch(2.0, x, y)
        y.wait()

    solo = turns([once], 300)[0]
    start = "import time as t; s = t.time(); import atoll; atoll.open('vulkan'); print(t.time() - s)"
    command = [sys.executable, "-c", start]
    starts = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(5)]
    opened = statistics.median(map(float, starts)) * 1e3
    env = {**os.environ, "PYTHONPATH": site}
    done = subprocess.run(
        [sys.executable, "-c", recording.WGPU_DEVICE + recording.WGPU_PIPELINE + _WGPU_ONCE],
        capture_output=True,
        text=True,
        env=env,
        timeout=120,
        check=False,
    )
    theirs: tuple[float | str, float | str]
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1][:100]
        theirs = reason, reason
    else:
        first, second = map(float, done.stdout.split()[-2:])
        theirs = second * 1e3, first * 1e3
    return [
        Row("L4", "one operation on 1024 floats and its wait, Vulkan, beside wgpu", solo, theirs[0], 1.25),
        Row("L9", "import and open Vulkan, beside wgpu", opened, theirs[1], 10.0),
    ]


def of_the_recorder(site: str) -> list[Row]:
    """Return L1, L3, L5 and L8: recording beside wgpu and Taichi; replays and pools beside their bounds."""
    batch, (pool, asked) = recording.batch_ms(), recording.pool_ms()
    long, short = recording.replay_ms(1000), recording.replay_ms(10)
    wgpu, taichi = (recording.in_a_process(code, site) for code in (recording.WGPU, recording.TAICHI))
    return [
        Row("L1", "one dispatch of a batch of 1000, hazards on, beside a pass of wgpu's", batch, wgpu, 1.67),
        Row("L3", "the same beside a launch of Taichi on Vulkan", batch, taichi, 10.0),
        Row("L5", "host time of a replay of 1000 nodes, beside the bound of 30 µs", long, 0.03, 1.0),
        Row("L5", "the same beside a replay of 10 nodes", long, short, 0.67),
        Row(
            "L8", f"1 MiB from the pool and back ({asked} calls of the driver), beside 6 µs", pool, 0.006, 1.0
        ),
    ]


def table(rows: Sequence[Row]) -> str:
    """Return the measured part of the page."""
    import numpy as np

    when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    load = os.getloadavg()[0]
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}"
    head = [
        f"{when} · {machine} · Python {platform.python_version()} · NumPy {np.__version__}",
        "",
        "| goal | what | ours, ms | theirs, ms | theirs ÷ ours | wanted |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(row.text for row in rows)]) + "\n"


def main(argv: list[str]) -> int:
    """Measure, print, and with `--write` put the table into the page."""
    parser = argparse.ArgumentParser(prog="./dev bench runtime", description=__doc__.splitlines()[0])
    parser.add_argument("--site", default="", help="where numexpr, wgpu and taichi were installed")
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--size", type=int, default=SIZE, help="floats of an array")
    asked = parser.parse_args(argv)
    if asked.site:
        sys.path.append(asked.site)
    rows = [*of_the_recorder(asked.site), *beside_wgpu(asked.site)]
    rows += [fused_beside_unfused("vulkan", min(asked.size, 1 << 21))]
    for device in ("opencl", "cpu"):
        rows += beside_numpy(device, asked.size)
    said = table(rows)
    print(said)
    if asked.write:
        text = PAGE.read_text(encoding="utf-8")
        start, end = text.index(OPEN) + len(OPEN), text.index(CLOSE)
        PAGE.write_text(f"{text[:start]}\n{said}{text[end:]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
