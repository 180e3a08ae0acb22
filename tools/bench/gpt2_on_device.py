"""Is the GPT-2 of examples/gpt2 right on a CUDA machine, and how fast is each kernel, in one run?

    PYTHONPATH=src:/tmp/site python3 tools/bench/gpt2_on_device.py OUT [--only NAME,…] [--steps N]

124M shapes (B=4, T=1024): each kernel beside a plain CUDA C++ kernel of the same job (peers/gpt2.cu, nvcc), PyTorch
eager and `torch.compile`; then a training step. Needs PyTorch, nvcc on PATH, and Atoll with cffi and greenlet.
Device time is read from events around each launch, medians after warm-up; arrays lie on the device. Writes
OUT/gpt2.json and OUT/gpt2.md and prints the table last.
"""
# mypy: ignore-errors
# ruff: noqa: B905, E501

from __future__ import annotations

import argparse
import ctypes
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

from kernels_on_device import PATIENCE, REPEAT, WARM, Peers, apart, say  # noqa: E402

B, T, C, H, V = 4, 1024, 768, 12, 50257
N, HEAD, PARTS = B * T, C // H, 64


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


def i(value: int) -> tuple[str, int]:
    """Return an int argument of a peer."""
    return ("i", value)


def f(value: float) -> tuple[str, float]:
    """Return a float argument of a peer."""
    return ("f", value)


class Job:
    """One kernel at one shape: what launches it here, what the peer is given, what PyTorch does."""

    def __init__(
        self,
        name: str,
        kernel: Any,
        domain: Any,
        given: list,
        grid: Any,
        block: Any,
        peer: list,
        changed: list,
        eager: Any,
    ) -> None:
        self.name, self.kernel, self.domain, self.given = name, kernel, domain, given
        self.peer_name = kernel.__name__.split("__")[0]
        self.peer, self.changed, self.eager = (grid, block, *peer), changed, eager
        self.before = [item.clone() for item in changed]

    def reset(self) -> None:
        """Put back what launches change."""
        for item, kept in zip(self.changed, self.before):
            item.copy_(kept)

    def results(self) -> list:
        """Return what was changed."""
        return [item.clone() for item in self.changed]


def elementwise(count: int) -> tuple[int, int]:
    """Return the peer's grid and block for so many elements."""
    return -(-count // 256), 256


def jobs(torch: Any, k: Any, model: Any) -> Any:
    """Give the jobs one after another, so that only one's arrays lie on the device."""
    fn = torch.nn.functional
    aten = torch.ops.aten

    def r(*shape: int) -> Any:
        return torch.randn(*shape, device="cuda")

    def job(
        name: str,
        kernel: Any,
        domain: Any,
        given: list,
        launch: tuple,
        changed: list,
        eager: Any,
        peer: list | None = None,
    ) -> Job:
        spoken = [
            i(x) if isinstance(x, int) else f(x) if isinstance(x, float) else x for x in (peer or given)
        ]
        return Job(name, kernel, domain, given, *launch, spoken, changed, eager)

    tokens = torch.randint(0, V, (N,), device="cuda", dtype=torch.int32)
    wte, wpe, out, g = r(V * C), r(T * C), r(N * C), r(N * C)
    yield job(
        "encoder_forward",
        k.encoder_forward,
        N * C,
        [out, tokens, wte, wpe, N * C, T, C],
        elementwise(N * C),
        [out],
        lambda: wte.view(V, C)[tokens].view(B, T, C) + wpe.view(T, C),
    )
    yield job(
        "encoder_backward_token",
        k.encoder_backward_token,
        N * C,
        [wte, tokens, g, N * C, C],
        elementwise(N * C),
        [wte],
        lambda: wte.view(V, C).index_add_(0, tokens, g.view(N, C)),
    )
    yield job(
        "encoder_backward_place",
        k.encoder_backward_place,
        T * C,
        [wpe, g, B, T * C],
        elementwise(T * C),
        [wpe],
        lambda: wpe.view(T, C).add_(g.view(B, T, C).sum(0)),
    )
    x, w, b, mean, rstd = r(N * C), r(C), r(C), r(N), r(N)
    by_rows = (N // 8, 256)
    yield job(
        "layernorm_forward",
        k.layernorm_forward,
        N * 32,
        [out, mean, rstd, x, w, b, N, C],
        by_rows,
        [out, mean, rstd],
        lambda: fn.layer_norm(x.view(N, C), (C,), w, b),
    )
    dx, dw, db = r(N * C), r(C), r(C)
    rows = [z.view(N, C) for z in (g, x)]
    stats = [z.view(N, 1) for z in (mean, rstd)]
    yield job(
        "layernorm_backward",
        k.layernorm_backward,
        N * 32,
        [dx, g, x, w, mean, rstd, N, C],
        by_rows,
        [dx],
        lambda: dx.view(N, C).add_(
            aten.native_layer_norm_backward(*rows, [C], *stats, w, b, [True, False, False])[0]
        ),
    )
    columns = ((C // 32, PARTS), 32)
    yield job(
        "layernorm_backward_weights",
        k.layernorm_backward_weights,
        (C, PARTS),
        [dw, db, g, x, mean, rstd, N, C, PARTS],
        columns,
        [dw, db],
        lambda: aten.native_layer_norm_backward(*rows, [C], *stats, w, b, [False, True, True]),
    )
    n = N * 4 * C
    big, other, sink = r(n), r(n), r(n)
    yield job(
        "gelu_forward",
        k.gelu_forward,
        n,
        [sink, big, n],
        elementwise(n),
        [sink],
        lambda: fn.gelu(big, approximate="tanh"),
    )
    yield job(
        "gelu_backward",
        k.gelu_backward,
        n,
        [sink, big, other, n],
        elementwise(n),
        [sink],
        lambda: aten.gelu_backward(other, big, approximate="tanh"),
    )
    n = N * C
    yield job("residual_forward", k.residual_forward, n, [out, x, g, n], elementwise(n), [out], lambda: x + g)
    yield job(
        "residual_backward", k.residual_backward, n, [out, g, n], elementwise(n), [out], lambda: out.add_(g)
    )

    def product(
        name: str,
        into: Any,
        a: Any,
        bb: Any,
        bias: Any,
        sizes: tuple,
        sa: tuple,
        sb: tuple,
        so: tuple,
        eager: Any,
        *,
        add: int = 0,
        alpha: float = 1.0,
        pairs: tuple = (1, 1),
        causal: int = 0,
    ) -> Job:
        kernel = k.matmul.instance(
            a_flat=int(sa[1] == 1),
            b_flat=int(sb[1] == 1),
            add=add,
            with_bias=int(bias is not None),
            causal=causal,
        )
        m, nn, _ = sizes
        grid = (-(-nn // 64), -(-m // 64), pairs[0] * pairs[1])
        given = [into, a, bb, mean if bias is None else bias, *sizes, *sa, *sb, *so, pairs[1], alpha]
        peer = [
            into,
            a,
            bb,
            ("q", 0) if bias is None else bias,
            *sizes,
            *sa,
            *sb,
            *so,
            pairs[1],
            alpha,
            add,
            causal,
        ]
        spoken = [i(z) if isinstance(z, int) else f(z) if isinstance(z, float) else z for z in peer]
        return Job(
            name, kernel, (grid[0] * 16, grid[1] * 16, grid[2]), given, grid, (16, 16), spoken, [into], eager
        )

    weight, bias = r(4 * C * C) * 0.02, r(4 * C)
    yield product(
        "matmul_forward",
        sink,
        x,
        weight,
        bias,
        (N, 4 * C, C),
        (C, 1, 0, 0),
        (1, C, 0, 0),
        (4 * C, 0, 0),
        lambda: fn.linear(x.view(N, C), weight.view(4 * C, C), bias),
    )
    yield product(
        "matmul_backward_input",
        out,
        big,
        weight,
        None,
        (N, C, 4 * C),
        (4 * C, 1, 0, 0),
        (C, 1, 0, 0),
        (C, 0, 0),
        lambda: big.view(N, 4 * C) @ weight.view(4 * C, C),
    )
    yield product(
        "matmul_backward_weight",
        weight,
        big,
        x,
        None,
        (4 * C, C, N),
        (1, 4 * C, 0, 0),
        (C, 1, 0, 0),
        (C, 0, 0),
        lambda: weight.view(4 * C, C).addmm_(big.view(N, 4 * C).t(), x.view(N, C)),
        add=1,
    )
    yield job(
        "matmul_backward_bias",
        k.column_sum,
        (4 * C, PARTS),
        [bias, big, N, 4 * C, PARTS],
        ((4 * C // 32, PARTS), 32),
        [bias],
        lambda: bias.add_(big.view(N, 4 * C).sum(0)),
    )
    qkv, square, grad = r(N * 3 * C), torch.rand(B * H * T * T, device="cuda"), r(B * H * T * T)
    lie = {
        "qkv": (3 * C, 1, T * 3 * C, HEAD),
        "turned": (1, 3 * C, T * 3 * C, HEAD),
        "square": (T, 1, H * T * T, T * T),
    }
    lie |= {"square turned": (1, T, H * T * T, T * T), "mixed": (C, 1, T * C, HEAD)}
    flat = {name: (steps[0], steps[2], steps[3]) for name, steps in lie.items()}
    q, key, v = (z.view(B, T, H, HEAD).transpose(1, 2) for z in qkv.view(B, T, 3 * C).split(C, dim=2))
    scale = 1.0 / math.sqrt(HEAD)
    yield product(
        "attention_scores",
        square,
        qkv,
        qkv[C:],
        None,
        (T, T, HEAD),
        lie["qkv"],
        lie["turned"],
        flat["square"],
        lambda: (q @ key.transpose(-1, -2)) * scale,
        alpha=scale,
        pairs=(B, H),
        causal=1,
    )
    hidden = torch.ones(T, T, device="cuda", dtype=torch.bool).triu(1)
    m = B * H * T
    yield job(
        "softmax_forward",
        k.softmax_forward,
        m * 32,
        [square, m, T],
        (m // 8, 256),
        [square],
        lambda: torch.softmax(square.view(B, H, T, T).masked_fill(hidden, -math.inf), -1),
    )
    yield job(
        "softmax_backward",
        k.softmax_backward,
        m * 32,
        [grad, square, m, T],
        (m // 8, 256),
        [grad],
        lambda: aten._softmax_backward_data(grad.view(m, T), square.view(m, T), -1, torch.float32),
    )
    square.view(B, H, T, T).tril_()
    heads = square.view(B, H, T, T)
    mixed = g.view(B, T, H, HEAD).transpose(1, 2)
    yield product(
        "attention_values",
        out,
        square,
        qkv[2 * C :],
        None,
        (T, HEAD, T),
        lie["square"],
        lie["qkv"],
        flat["mixed"],
        lambda: heads @ v,
        pairs=(B, H),
        causal=2,
    )
    yield product(
        "attention_backward_values",
        qkv[2 * C :],
        square,
        g,
        None,
        (T, HEAD, T),
        lie["square turned"],
        lie["mixed"],
        flat["qkv"],
        lambda: heads.transpose(-1, -2) @ mixed,
        pairs=(B, H),
        causal=3,
    )
    logits, losses, targets = r(N * V), r(N), torch.randint(0, V, (N,), device="cuda", dtype=torch.int32)
    long = targets.long()

    def cross() -> Any:
        shares = torch.softmax(logits.view(N, V), -1)
        loss = -shares[torch.arange(N, device="cuda"), long].log()
        shares[torch.arange(N, device="cuda"), long] -= 1.0
        return loss, shares.mul_(1.0 / N)

    yield job(
        "classifier",
        k.classifier,
        N * 256,
        [losses, logits, targets, V, 1.0 / N],
        (N, 256),
        [losses, logits],
        cross,
    )
    n = len(model.random_weights(model.Config(T, V, 12, H, C), 0))
    w, g, m1, v1 = r(n), r(n), r(n), r(n).abs()
    hyper = (1e-3, 0.9, 0.999, 0.1, 0.001, 1e-8, 0.01, 1.0)

    def adam() -> None:
        m1.mul_(0.9).add_(g, alpha=0.1)
        v1.mul_(0.999).addcmul_(g, g, value=0.001)
        w.sub_(1e-3 * ((m1 / 0.1) / ((v1 / 0.001).sqrt() + 1e-8) + 0.01 * w))

    yield job("adamw", k.adamw, n, [w, g, m1, v1, n, *hyper], elementwise(n), [w, m1, v1], adam)
    norm = torch.zeros(1, device="cuda")
    yield job(
        "global_norm", k.global_norm, 1024 * 256, [norm, g, n], (1024, 256), [norm], lambda: (g * g).sum()
    )


def measured(torch: Any, job: Job, device: Any, peers: Gpt2Peers, *, compiled: bool) -> dict[str, Any]:
    """Return one row: each contender's seconds, and how far ours is from the peer's result."""
    ready = job.kernel.over(job.domain, device=device)
    found = {
        "atoll": lambda: ready(*job.given),
        "nvcc": peers.launcher(job.peer_name, job.peer),
        "eager": job.eager,
    }
    if compiled:
        found["compile"] = torch.compile(job.eager)
    row: dict[str, Any] = {"name": job.name, "seconds": {}, "failed": {}}
    results = {}
    for name, launch in found.items():
        try:
            job.reset()
            launch()
            torch.cuda.synchronize()
            if name in ("atoll", "nvcc"):
                results[name] = job.results()
            row["seconds"][name], _ = device_seconds(torch, launch)
        except Exception as error:
            row["failed"][name] = f"{type(error).__name__}: {str(error).strip()[:200]}"
    if len(results) == 2:
        row["apart"] = apart(torch, results["atoll"], results["nvcc"])
    return row


def losses_by_device(model: Any, train: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Train the tiny model ten steps on each driver; return the losses, and how far each is from the processor's."""
    found: dict[str, Any] = {}
    text = (ROOT / "examples" / "gpt2" / "README.md").read_bytes()
    for name in names:
        try:
            config = model.Config()
            tiny = model.Model(config, model.random_weights(config), 4, name)
            given = train.batches(text, 4, config.time)
            losses = [tiny.train(*next(given)) for _ in range(10)]
            found[name] = {"device": tiny.used, "losses": losses}
        except Exception as error:
            found[name] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    base = found.get("cpu", {}).get("losses")
    for item in found.values():
        if base and "losses" in item:
            item["apart"] = max(abs(a - b) for a, b in zip(item["losses"], base))
    return found


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
        f"GPT-2 124M shapes, B={B}, T={T}; {report['device']}, {report['date']}; PyTorch {report['torch']}.",
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
            f"{times[name] * 1e6:.0f} µs" if name in times else row["failed"].get(name, "-")[:40]
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
    for name, item in report["losses"].items():
        said = (
            item.get("failed")
            or f"{item['device']}: last loss {item['losses'][-1]:.6f}, at most {item.get('apart', math.nan):.1e} from cpu"
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


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--devices", default="cpu,cuda,opencl,vulkan")
    asked = parser.parse_args()
    import kernels
    import model
    import torch
    import train

    import atoll

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(0)
    asked.out.mkdir(parents=True, exist_ok=True)
    device = atoll.open("cuda")
    report: dict[str, Any] = {
        "device": device.name,
        "torch": torch.__version__,
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "rows": [],
        "losses": {},
    }

    def write() -> None:
        (asked.out / "gpt2.json").write_text(json.dumps(report, indent=1))
        (asked.out / "gpt2.md").write_text(page(report))

    report["losses"] = losses_by_device(model, train, tuple(asked.devices.split(",")))
    write()
    say(page(report))
    peers = Gpt2Peers(torch, asked.out)
    for job in jobs(torch, kernels, model):
        if asked.only and job.name not in asked.only.split(","):
            continue
        row = measured(torch, job, device, peers, compiled=not asked.no_compile)
        report["rows"].append(row)
        say(
            f"{row['name']}: "
            + ", ".join(f"{name} {seconds * 1e6:.0f} µs" for name, seconds in row["seconds"].items())
            + f" apart {row.get('apart')} {row['failed'] or ''}"
        )
        write()
    torch.cuda.empty_cache()
    if not asked.only:
        try:
            report["training"] = training(torch, model, asked.steps)
        except Exception as error:
            traceback.print_exc()
            report["training"] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    write()
    say(page(report))
    return 0


if __name__ == "__main__":
    sys.exit(main())
