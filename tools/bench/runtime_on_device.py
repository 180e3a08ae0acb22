"""The compute runtime on a GPU, beside torch and CuPy: hashes, copies, chains, products. Writes OUT/runtime.md.

    PYTHONPATH=src:/tmp/site python3 tools/bench/runtime_on_device.py OUT [--who torch,cuda,vulkan,opencl,cupy]

Each driver runs in a process of its own, which writes a line a row as it goes: what dies or hangs costs its
own rows, and every exception is the row's text. Times are host times over a queue of launches with one wait,
medians; arrays are larger than the L2. `--size`, `--side` make it small for a machine without a GPU, and
`--seconds` is for everything. `--only launches` runs the rows of launches alone, a few seconds a driver.
"""
# mypy: ignore-errors
# ruff: noqa: E501

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

COPY, TORCH = "copy_", "torch"
#: Goal, driver, our row, whose row, their row, and the least of our rate over theirs (0: a most of µs follows).
GOALS: list[tuple[str, str, str, str, str, float]] = [
    ("H1", "*", "copy, fused x * 1", TORCH, COPY, 0.92),
    ("H1", "*", "chain of 4, fused", TORCH, COPY, 0.88),
    ("H1", "*", "cast f32 to f16", TORCH, COPY, 0.85),
    ("H2", "*", "chain of 4, fused", TORCH, "chain of 4, unfused", 3.3),
    ("H2", "*", "chain of 4, fused", "cupy", "chain of 4, ElementwiseKernel", 1.0),
    ("H3", "*", "sum of rows of 4096", TORCH, COPY, 0.85),
    ("H3", "*", "prefix scan of rows of 4096", TORCH, COPY, 0.55),
    ("H3", "*", "prefix scan of rows of 4096", TORCH, "cumsum, deterministic", 1.0),
    ("H4", "cuda", "matmul f32, exact", TORCH, "matmul f32", 0.5),
    ("H4", "vulkan", "matmul f32, exact", TORCH, "matmul f32", 0.5),
    ("H5", "cuda", "matmul f16, device tier", TORCH, "matmul f16", 0.95),
    ("H5", "vulkan", "matmul f16, device tier", TORCH, "matmul f16", 0.25),
    ("H6", "cuda", "matmul_q int8", TORCH, "_int_mm", 0.25),
    ("H6", "cuda", "ternary, one row", TORCH, COPY, 0.7),
]
#: Goal, driver, row, the most microseconds.
LIMITS = [
    ("launch", "cuda", "a kept launch", 5.0),
    ("graph", "cuda", "a node of a graph of 1000", 0.9),
    ("H7", "*", "a kept launch", 8.0),
    ("H7", "*", "eager add of 1024", 8.0),
    ("H7", "*", "a node of a graph of 1000", 2.0),
]


def timed(work: Callable[[], object], wait: Callable[[], object], most: int = 50) -> float:
    """Return the median seconds of one turn of work, over queues that last some hundredths of a second."""
    work()
    wait()
    start = time.perf_counter()
    work()
    wait()
    once = max(time.perf_counter() - start, 1e-7)
    if once > 2:
        return once
    times = max(1, min(most, int(0.03 / once)))
    found = []
    for _ in range(max(3, min(9, int(0.5 / (times * once))))):
        start = time.perf_counter()
        for _ in range(times):
            work()
        wait()
        found.append((time.perf_counter() - start) / times)
    return statistics.median(found)


class Rows:
    """Rows of one process; each is a line of a file as soon as it is known.

    Args:
        who: The driver or library.
        path: Where they are written.
        until: When no further row begins.
    """

    def __init__(self, who: str, path: Path, until: float) -> None:
        self.who, self._path, self._until = who, path, until

    def add(
        self, what: str, seconds: float | None = None, rate: float = 0.0, unit: str = "", note: str = ""
    ) -> None:
        """Write one row."""
        row = {"who": self.who, "what": what, "s": seconds, "rate": rate, "unit": unit, "note": note}
        with self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def row(
        self,
        what: str,
        work: Callable[[], Any],
        wait: Any,
        amount: float = 0.0,
        unit: str = "TB/s",
        **more: Any,
    ):
        """Time one thing and write what came of it, an error too."""
        self.part(what, lambda: self._row(what, work, wait, amount, unit, **more))

    def _row(self, what: str, work: Any, wait: Any, amount: float, unit: str, most: int = 50) -> None:
        took = timed(work, wait, most)
        self.add(what, took, amount / took / 1e12 if amount else took * 1e6, unit if amount else "µs")

    def part(self, what: str, work: Callable[[], object]) -> None:
        """Do something that writes rows; an error is a row, and what follows goes on."""
        if time.monotonic() > self._until:
            self.add(what, note="skipped: the time was up")
            return
        try:
            work()
        except BaseException as error:  # whatever it is, the next row may still be had
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            said = getattr(error, "diagnostics", None)
            text = f"{type(error).__name__}: {' / '.join(map(str, said)) if said else error}"
            at = error.__traceback__
            while at is not None and at.tb_next is not None:
                at = at.tb_next
            where = f"{Path(at.tb_frame.f_code.co_filename).name}:{at.tb_lineno}" if at else ""
            self.add(what, note=f"FAILED at {where}: {' '.join(text.split())[:500]}")


# ---- ours


def hashes(rows: Rows, name: str) -> None:
    """Write whether a driver's device gives NumPy's bytes, and the hash of everything it gave."""
    from atoll import engine

    start = time.perf_counter()
    test = engine.selftest(name)
    whole = hashlib.sha256("".join(item.found for item in test.results).encode()).hexdigest()[:16]
    other = [item.name for item in test.results if not item.is_equal]
    said = f"{test.device}: {test.tier} tier, {len(test.results)} programs, together {whole}"
    rows.add("hashes", time.perf_counter() - start, note=f"{said}; other bytes: {', '.join(other) or 'none'}")


def launches(rows: Rows, name: str) -> None:
    """Write what launches cost the host, and nodes of a graph."""
    import numpy as np

    import atoll
    from atoll import engine

    small = kernel_of_one_launch()
    x, y = (atoll.array(np.zeros(1024, np.float32), device=name) for _ in range(2))
    launch = small.over(1024)
    launch(x, y)
    add = atoll.fuse(lambda x, y: x + y)
    rows.row("a kept launch", lambda: launch(x, y), y.wait, most=500)
    rows.row("eager add of 1024", lambda: engine.binary("add", x, y), y.wait, most=200)
    rows.row("fused add of 1024, `out=`", lambda: add(x, y, out=y), y.wait, most=200)

    def nodes() -> None:
        with atoll.capture(name) as graph:
            for _ in range(1000):
                launch(x, y)
        took = timed(graph.replay, y.wait, 10)
        rows.add("a node of a graph of 1000", took / 1000, took * 1e3, "µs")
        queued = []
        for _ in range(5):
            start = time.perf_counter()
            graph.replay()
            queued.append(time.perf_counter() - start)
            y.wait()
        rows.add(
            "host time of `replay()` of 1000",
            statistics.median(queued),
            statistics.median(queued) * 1e6,
            "µs",
        )
        graph.close()

    rows.part("a node of a graph of 1000", nodes)


def kernel_of_one_launch() -> Any:
    """Return the kernel that launches are measured with."""
    from bench_kernels_of_runtime import small

    return small


def moved(rows: Rows, name: str, size: int) -> None:
    """Write what copies, chains and passes over rows move."""
    import atoll
    from atoll import engine
    from atoll.engine import fused as f

    device = atoll.open(name)
    x, y, out = (engine.uniform(size, seed, device=device) for seed in (1, 2, 3))
    wait = device.wait
    copy = atoll.fuse(lambda x: x * 1.0)
    chain = atoll.fuse(lambda x, y: x * y * 0.5 + x - y)
    curve = atoll.fuse(lambda x, y: f.sigmoid(x * y * 0.5 + x - y))
    half = atoll.fuse(lambda x: x.astype("f16"))
    narrow = engine.cast(out, "f16")
    rows.row("copy, fused x * 1", lambda: copy(x, out=out), wait, 8 * size)
    rows.row("chain of 4, fused", lambda: chain(x, y, out=out), wait, 12 * size)
    rows.row("chain with a sigmoid, exact", lambda: curve(x, y, out=out), wait, 12 * size)
    rows.row("cast f32 to f16", lambda: half(x, out=narrow), wait, 6 * size)
    rows.row("copy, the primitive", lambda: engine.copy(x), wait, 8 * size, most=8)
    rows.row("cast f32 to f16, the primitive", lambda: engine.cast(x, "f16"), wait, 6 * size, most=8)
    one = engine.full((1,), 0.5, device=device)

    def apart() -> Any:
        product = engine.binary("mul", engine.binary("mul", x, y), one)
        return engine.binary("sub", engine.binary("add", product, x), y)

    rows.row("chain of 4, unfused", apart, wait, 12 * size, most=4)
    lines = x.reshape(size // 4096, 4096)
    rows.row("sum of rows of 4096", lambda: engine.reduce("sum", lines, -1), wait, 4 * size, most=8)
    rows.row("sum of everything", lambda: engine.reduce("sum", x), wait, 4 * size, most=4)
    rows.row("prefix scan of rows of 4096", lambda: engine.scan(lines), wait, 8 * size, most=4)
    rows.row("prefix scan of everything", lambda: engine.scan(x), wait, 8 * size, most=4)
    rows.row("softmax of rows of 4096", lambda: engine.softmax(lines), wait, 8 * size, most=4)
    norm = engine.uniform(4096, 5, device=device)
    rows.row(
        "layer norm of rows of 4096", lambda: engine.layer_norm(lines, norm, norm), wait, 8 * size, most=4
    )
    rows.row("transpose", lambda: engine.transpose(lines), wait, 8 * size, most=4)


def products(rows: Rows, name: str, side: int) -> None:
    """Write products of matrices in the exact and the device tier."""
    import numpy as np

    import atoll
    from atoll import engine

    device = atoll.open(name)
    wait, operations = device.wait, 2.0 * side**3
    for element in ("f32", "f16", "bf16"):
        x = engine.cast(engine.uniform((side, side), 1, device=device), element)
        if element != "bf16":
            rows.row(
                f"matmul {element}, exact",
                lambda x=x: engine.matmul(x, x),
                wait,
                operations,
                "TFLOP/s",
                most=3,
            )
        rows.row(
            f"matmul {element}, device tier", lambda x=x: engine.matmul(x, x, tier="device"), wait, operations,
            "TFLOP/s", most=20,
        )  # fmt: skip

        def error(x: Any = x, element: str = element) -> None:
            got = engine.matmul(x[:64], x, tier="device")
            ran = engine.decisions[-1]
            want = engine.cast(x[:64], "f32").numpy().astype("f8") @ engine.cast(x, "f32").numpy().astype(
                "f8"
            )
            far = np.abs(got.numpy() / want - 1).max()
            said = f"largest relative error {far:.1e}; ran `{ran.variant}`: {ran.reason}"
            rows.add(f"matmul {element}, device tier", note=said)

        rows.part(f"matmul {element}, device tier", error)
    wide = min(side, 8192)
    weights = engine.uniform((wide, wide), 1, device=device)
    given, one = engine.uniform((wide, wide), 2, device=device), engine.uniform((1, wide), 2, device=device)
    work = 2.0 * wide**3
    rows.row("matmul_q int8", lambda: engine.matmul_q(given, weights, "int8"), wait, work, "TFLOP/s", most=5)
    rows.row(
        "matmul_q ternary", lambda: engine.matmul_q(given, weights, "ternary"), wait, work, "TFLOP/s", most=2
    )
    many = engine.uniform((8 * wide, 2 * wide), 3, device=device)
    row = engine.uniform((1, 2 * wide), 4, device=device)
    for what, w, x in (("ternary, one row", many, row), ("ternary, one row of the square", weights, one)):
        nbytes = w.size / 4
        rows.row(what, lambda w=w, x=x: engine.matmul_q(x, w, "ternary"), wait, nbytes, most=100)
    rows.row("int8, one row", lambda: engine.matmul_q(row, many, "int8"), wait, many.size, most=100)


# ---- theirs


def torch_rows(rows: Rows, size: int) -> None:
    """Write torch's rows."""
    import torch

    wait = torch.cuda.synchronize
    torch.backends.cuda.matmul.allow_tf32 = False
    x, y, out = (torch.rand(size, device="cuda") for _ in range(3))
    half = out.half()
    rows.row(COPY, lambda: out.copy_(x), wait, 8 * size)
    rows.row("cast f32 to f16", lambda: half.copy_(x), wait, 6 * size)
    rows.row("chain of 4, unfused", lambda: x * y * 0.5 + x - y, wait, 12 * size)
    lines = x.reshape(size // 4096, 4096)
    rows.row("sum of rows of 4096", lambda: lines.sum(-1), wait, 4 * size)
    rows.row("sum of everything", lambda: x.sum(), wait, 4 * size)
    rows.row("cumsum", lambda: lines.cumsum(-1), wait, 8 * size)
    rows.row("softmax of rows of 4096", lambda: lines.softmax(-1), wait, 8 * size)

    def strict() -> None:
        torch.use_deterministic_algorithms(True, warn_only=True)
        try:
            rows.row("cumsum, deterministic", lambda: lines.cumsum(-1), wait, 8 * size)
            rows.row("cumsum of everything, deterministic", lambda: x.cumsum(-1), wait, 8 * size)
        finally:
            torch.use_deterministic_algorithms(False)

    rows.part("cumsum, deterministic", strict)
    torch_launches(rows)


def torch_launches(rows: Rows) -> None:
    """Write torch's rows of launches."""
    import torch

    wait = torch.cuda.synchronize
    small = torch.zeros(1024, device="cuda")
    rows.row("add_ of 1024", lambda: small.add_(small), wait, most=500)

    def nodes() -> None:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(1000):
                small.add_(small)
        took = timed(graph.replay, wait, 10)
        rows.add("a node of a graph of 1000", took / 1000, took * 1e3, "µs")

    rows.part("a node of a graph of 1000", nodes)


def torch_products(rows: Rows, side: int) -> None:
    """Write torch's products."""
    import torch

    wait = torch.cuda.synchronize
    for kind, name in ((torch.float32, "f32"), (torch.float16, "f16"), (torch.bfloat16, "bf16")):
        a = torch.rand(side, side, device="cuda").to(kind)
        rows.row(f"matmul {name}", lambda a=a: a @ a, wait, 2.0 * side**3, "TFLOP/s", most=20)
    whole = torch.randint(-127, 127, (side, side), device="cuda", dtype=torch.int8)
    rows.row("_int_mm", lambda: torch._int_mm(whole, whole.T), wait, 2.0 * side**3, "TFLOP/s", most=20)


def cupy_rows(rows: Rows, size: int) -> None:
    """Write CuPy's rows."""
    import cupy

    wait = cupy.cuda.Device().synchronize
    x, y, out = (cupy.random.rand(size, dtype=cupy.float32) for _ in range(3))
    chain = cupy.ElementwiseKernel(
        "float32 x, float32 y", "float32 z", "z = x * y * 0.5f + x - y", "atoll_chain"
    )
    rows.row("chain of 4, ElementwiseKernel", lambda: chain(x, y, out), wait, 12 * size)
    cupy_launches(rows)


def cupy_launches(rows: Rows) -> None:
    """Write CuPy's rows of launches."""
    import cupy

    wait, (x, y) = cupy.cuda.Device().synchronize, (cupy.zeros(1024, cupy.float32) for _ in range(2))
    text = 'extern "C" __global__ void add(const float *x, float *y) { int i = threadIdx.x; y[i] = x[i] + y[i]; }'
    small = cupy.RawKernel(text, "add")
    rows.row("a raw kernel's launch", lambda: small((16,), (64,), (x, y)), wait, most=500)


# ---- processes and the page


def child(name: str, out: Path, asked: argparse.Namespace) -> int:
    """Write one process's rows."""
    rows = Rows(name, out / f"{name}.jsonl", time.monotonic() + asked.seconds)
    if asked.only == "launches":
        parts = {TORCH: torch_launches, "cupy": cupy_launches}
        work = parts.get(name, lambda rows: launches(rows, name))
        rows.part("launches", lambda: work(rows))
        return 0
    if name == TORCH:
        rows.part("torch", lambda: torch_rows(rows, asked.size))
        rows.part("torch's products", lambda: torch_products(rows, asked.side))
        return 0
    if name == "cupy":
        rows.part("cupy", lambda: cupy_rows(rows, asked.size))
        return 0
    side = asked.side if name == "cuda" else max(asked.side // 2, 64)
    for what, work in (
        ("hashes", lambda: hashes(rows, name)),
        ("launches", lambda: launches(rows, name)),
        ("moved", lambda: moved(rows, name, asked.size)),
        ("products", lambda: products(rows, name, side)),
    ):
        start = time.monotonic()
        rows.part(what, work)
        print(f"{name}: {what} took {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return 0


#: The parts of the time that what runs may take; what is left over goes to the next one.
SHARES = {TORCH: 30, "cuda": 50, "vulkan": 35, "opencl": 30, "cupy": 8}
_SMALL = '''"""The kernel that launches are measured with."""

import atoll
from atoll import f32, kernel, view


@kernel
def small(x: view[f32], y: view[f32]) -> None:
    """Add."""
    i = atoll.global_id(0)
    y[i] = x[i] + y[i]
'''


def text_of(rows: list[dict[str, Any]]) -> str:
    """Return the page: every row, then the goals."""
    lines = ["| who | what | time | rate |", "|---|---|---|---|"]
    for row in rows:
        if row["s"] is None or row["what"] == "hashes":
            lines.append(f"| {row['who']} | {row['what']} | | {row['note'].replace('|', '/')} |")
            continue
        took = row["s"]
        shown = f"{took * 1e6:.2f} µs" if took < 1e-3 else f"{took * 1e3:.3f} ms"
        lines.append(f"| {row['who']} | {row['what']} | {shown} | {row['rate']:.3g} {row['unit']} |")
    known = {(row["who"], row["what"]): row for row in rows if row["s"] is not None}
    drivers = [who for who in dict.fromkeys(row["who"] for row in rows) if who not in (TORCH, "cupy")]
    lines += [
        "",
        "| goal | driver | what | ours | theirs | ratio | wanted |",
        "|---|---|---|---|---|---|---|",
    ]
    for goal, driver, what, who, their, least in GOALS:
        for name in drivers if driver == "*" else [driver]:
            mine, other = known.get((name, what)), known.get((who, their))
            if mine is None or other is None:
                lines.append(
                    f"| {goal} | {name} | {what} beside {who} {their} | | | not measured | ≥ {least} |"
                )
                continue
            ratio = mine["rate"] / other["rate"]
            met = "met" if ratio >= least else "**missed**"
            shown = f"{mine['rate']:.3g} | {other['rate']:.3g} {other['unit']} | {ratio:.2f}"
            lines.append(f"| {goal} | {name} | {what} beside {who} {their} | {shown} | ≥ {least}: {met} |")
    for goal, driver, what, most in LIMITS:
        for name in drivers if driver == "*" else [driver]:
            mine = known.get((name, what))
            if mine is None:
                lines.append(f"| {goal} | {name} | {what} | | | not measured | ≤ {most} µs |")
                continue
            took = mine["s"] * 1e6
            lines.append(
                f"| {goal} | {name} | {what} | {took:.2f} µs | | | ≤ {most} µs: {'met' if took <= most else '**missed**'} |"
            )
    together = {row["who"]: row["note"] for row in rows if row["what"] == "hashes"}
    found = {note.partition("together ")[2][:16] for note in together.values() if "together" in note}
    said = f"{len(together)} drivers, {len(found)} different: {', '.join(sorted(found))}"
    return "\n".join([*lines, "", f"The hash of all programs together: {said}"]) + "\n"


def main(argv: list[str]) -> int:
    """Run each driver and library in a process of its own, and print the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--who", default=",".join(SHARES), help="what runs, in order")
    parser.add_argument("--seconds", type=float, default=150.0, help="for everything")
    parser.add_argument("--size", type=int, default=1 << 28, help="floats of an array")
    parser.add_argument("--side", type=int, default=8192, help="of a matrix")
    parser.add_argument("--only", default="", choices=("", "launches"), help="run these rows alone")
    parser.add_argument("--child", default="")
    asked = parser.parse_args(argv)
    out = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    if asked.child:
        sys.path.insert(0, str(out))
        return child(asked.child, out, asked)
    (out / "bench_kernels_of_runtime.py").write_text(_SMALL)
    names, end = asked.who.split(","), time.monotonic() + asked.seconds
    when, rows, wrong = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), [], []
    for at, name in enumerate(names):
        (out / f"{name}.jsonl").unlink(missing_ok=True)
        weights = [SHARES.get(item, 30) for item in names[at:]]
        share = max((end - time.monotonic()) * weights[0] / sum(weights), 5.0)
        command = [sys.executable, __file__, str(out), "--child", name, "--seconds", f"{share * 0.85:.0f}"]
        command += ["--size", str(asked.size), "--side", str(asked.side), "--only", asked.only]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=share + 10, check=False)
            said, code = done.stderr, done.returncode
        except subprocess.TimeoutExpired as error:
            said, code = (
                str((error.stderr or b"").decode(errors="replace")),
                "none: it was ended after its time",
            )
        print(said[-400:], flush=True)
        if code:
            wrong.append(f"{name} ended with {code}: {said[-1500:]}")
        path = out / f"{name}.jsonl"
        if path.is_file():
            rows += [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
        page = f"{when}{', launches alone' if asked.only else ''}, {asked.size} floats, sides of {asked.side}\n\n{text_of(rows)}"
        (out / "runtime.md").write_text("\n".join([page, *(f"```\n{item}\n```" for item in wrong)]))
    print((out / "runtime.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
