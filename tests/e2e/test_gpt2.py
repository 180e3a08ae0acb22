"""A GPT-2 of kernels: each beside float64, backward ones beside differences; losses equal on all devices."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from e2e.harness import copied, run
from emitter_kit import device
from gpt2_reference import attention, difference, example, forward, gelu, layernorm, losses

kernels, model = example("kernels"), example("model")
CONFIG = model.Config(time=9, vocabulary=19, layers=1, heads=2, channels=12)
BATCH = 3
ROWS, C = BATCH * CONFIG.time, CONFIG.channels
Numbers = Callable[..., Any]


@pytest.fixture(scope="module", params=["cpu", "vulkan", "opencl"])
def made(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a small model on a device."""
    with device(request.param) as opened:
        yield model.Model(CONFIG, model.random_weights(CONFIG), BATCH, opened)


@pytest.fixture
def numbers() -> Numbers:
    """Return what draws f32 of a shape, the same for every device."""
    random = np.random.default_rng(7)
    return lambda *shape: random.normal(size=shape).astype(np.float32)


def close(found: Any, wanted: Any, bound: float = 2e-5) -> None:
    scale = max(1.0, float(np.abs(wanted).max()))
    np.testing.assert_allclose(found.reshape(-1), np.asarray(wanted).reshape(-1), rtol=0, atol=bound * scale)


def flat(*arrays: Any) -> list[Any]:
    return [item.reshape(-1) for item in arrays]


def test_encoder(made: Any, numbers: Numbers) -> None:
    wte, wpe, g = numbers(19, C), numbers(9, C), numbers(BATCH, 9, C)
    tokens = np.random.default_rng(1).integers(0, 19, (BATCH, 9)).astype(np.int32)
    out, to_wte, to_wpe = (
        np.zeros(ROWS * C, np.float32),
        np.ones(19 * C, np.float32),
        np.ones(9 * C, np.float32),
    )
    fours, width = model.fours, C // 4
    given = (fours(out), tokens.reshape(-1), fours(wte), fours(wpe))
    made.run(kernels.encoder_forward, (width, ROWS), *given, ROWS, 9, width)
    close(out, wte[tokens] + wpe)
    made.run(kernels.encoder_backward_token, (width, ROWS), to_wte, *flat(tokens, g), ROWS, C)
    close(to_wte, 1 + difference(lambda w: w[tokens] + wpe, wte, g))
    made.run(kernels.encoder_backward_place, 9 * width, fours(to_wpe), fours(g), BATCH, 9 * width)
    close(to_wpe, 1 + difference(lambda w: wte[tokens] + w, wpe, g))


def test_layernorm(made: Any, numbers: Numbers) -> None:
    x, w, b, g = numbers(ROWS, C), numbers(C), numbers(C), numbers(ROWS, C)
    out, mean, rstd = (np.zeros(size, np.float32) for size in (ROWS * C, ROWS, ROWS))
    made.layernorm(out, mean, rstd, x.reshape(-1), w, b)
    close(out, layernorm(x.astype(float), w, b))
    close(mean, x.astype(float).mean(1))
    close(rstd, 1 / np.sqrt(x.astype(float).var(1) + 1e-5))
    to_x, to_w, to_b = np.ones(ROWS * C, np.float32), np.ones(C, np.float32), np.ones(C, np.float32)
    made.layernorm_backward(to_x, to_w, to_b, *flat(g, x), w, mean, rstd)
    close(to_x, 1 + difference(lambda v: layernorm(v, w, b), x, g), 1e-4)
    close(to_w, 1 + difference(lambda v: layernorm(x.astype(float), v, b), w, g), 1e-4)
    close(to_b, 1 + difference(lambda v: layernorm(x.astype(float), w, v), b, g), 1e-4)


def test_matmul(made: Any, numbers: Numbers) -> None:
    x, w, b, g = numbers(ROWS, C), numbers(76, C), numbers(76), numbers(ROWS, 76)
    out = np.zeros(ROWS * 76, np.float32)
    made.linear(out, *flat(x, w), b, C, 76)
    close(out, x.astype(float) @ w.T.astype(float) + b)
    to_x, to_w, to_b = np.ones(ROWS * C, np.float32), np.ones(76 * C, np.float32), np.ones(76, np.float32)
    made.linear_backward(to_x, to_w, to_b, *flat(g, x, w), C, 76)
    close(to_x, difference(lambda v: v @ w.T + b, x, g))
    close(to_w, 1 + difference(lambda v: x @ v.T + b, w, g))
    close(to_b, 1 + difference(lambda v: x @ w.T.astype(float) + v, b, g))


def test_attention(made: Any, numbers: Numbers) -> None:
    qkv, g = numbers(BATCH, 9, 3 * C), numbers(BATCH, 9, C)
    out, square = np.zeros(ROWS * C, np.float32), np.full(BATCH * 2 * 9 * 12, 7, np.float32)
    made.attention(out, square, qkv.reshape(-1))
    close(out, attention(qkv.astype(float), 2))
    close(square.reshape(-1, 12).sum(1), np.ones(BATCH * 2 * 9))
    assert not np.triu(square.reshape(-1, 9, 12), 1).any()
    to_qkv, to_square = np.zeros(ROWS * 3 * C, np.float32), np.full_like(square, np.nan)
    made.attention_backward(to_qkv, to_square, g.reshape(-1), square, qkv.reshape(-1))
    close(to_qkv, difference(lambda v: attention(v, 2), qkv, g), 1e-4)


@pytest.mark.parametrize("tiles", [(16, 4), (8, 8), (16, 8)])
def test_attention_beyond_a_tile(
    tiles: tuple[int, int], numbers: Numbers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "tiles", lambda *_: tiles)
    config = model.Config(time=150, vocabulary=19, layers=1, heads=1, channels=8)
    with device("cpu") as opened:
        wide = model.Model(config, model.random_weights(config), 1, opened)
        qkv, g = numbers(1, 150, 24), numbers(1, 150, 8)
        out, square = np.zeros(1200, np.float32), np.full(150 * 152, np.nan, np.float32)
        wide.attention(out, square, qkv.reshape(-1))
        close(out, attention(qkv.astype(float), 1))
        to_qkv, to_square = np.zeros(3600, np.float32), np.full_like(square, np.nan)
        wide.attention_backward(to_qkv, to_square, g.reshape(-1), square, qkv.reshape(-1))
        close(to_qkv, difference(lambda v: attention(v, 1), qkv, g), 1e-4)


def test_gelu_and_residual(made: Any, numbers: Numbers) -> None:
    x, y, g, n = numbers(200) * 3, numbers(200), numbers(200), 200
    out = np.zeros(n, np.float32)
    made.run(kernels.gelu_forward, n, out, x, n)
    close(out, gelu(x.astype(float)))
    made.run(kernels.gelu_backward, n, out, x, g, n)
    close(out, difference(gelu, x, g), 1e-4)
    made.run(kernels.residual_forward, n, out, x, y, n)
    close(out, x.astype(float) + y)
    to_x = np.ones(n, np.float32)
    made.run(kernels.residual_backward, n, to_x, g, n)
    close(to_x, 1 + difference(lambda v: v + y, x, g))


def test_classifier(made: Any, numbers: Numbers) -> None:
    logits, targets = numbers(ROWS, 300) * 4, np.random.default_rng(2).integers(0, 300, ROWS).astype(np.int32)
    found, changed = np.zeros(ROWS, np.float32), logits.reshape(-1).copy()
    made.run(kernels.classifier, ROWS * kernels.LANES, found, changed, targets, 300, 0.25)
    close(found, losses(logits.astype(float), targets))
    few = slice(0, 2)
    wanted = difference(lambda v: losses(v, targets[few]), logits[few], 0.25)
    close(changed.reshape(ROWS, 300)[few], wanted, 1e-5)


def test_adamw_and_the_global_norm(made: Any, numbers: Numbers) -> None:
    n = 1000
    w, g, m, v = numbers(n), numbers(n), numbers(n), np.abs(numbers(n))
    before = [item.astype(float) for item in (w, g, m, v)]
    norm = np.ones(1, np.float32)
    made.run(kernels.global_norm, 2 * kernels.LANES, norm, model.fours(g), n // 4)
    close(norm, 1 + (before[1] ** 2).sum())
    made.run(kernels.adamw, n, w, g, m, v, n, 0.01, 0.9, 0.99, 0.19, 0.0199, 1e-8, 0.1, 0.5)
    first = 0.9 * before[2] + 0.1 * 0.5 * before[1]
    second = 0.99 * before[3] + 0.01 * (0.5 * before[1]) ** 2
    close(m, first)
    close(v, second)
    step = first / 0.19 / (np.sqrt(second / 0.0199) + 1e-8) + 0.1 * before[0]
    close(w, before[0] - 0.01 * step)


def test_a_whole_model_has_the_loss_and_the_gradient_of_float64(made: Any) -> None:
    random = np.random.default_rng(3)
    tokens, targets = (random.integers(0, 19, ROWS).astype(np.int32) for _ in range(2))
    weights = {name: item.astype(float) for name, item in made.w.items()}
    made.forward(tokens, targets)
    assert float(made.losses.mean()) == pytest.approx(forward(CONFIG, weights, tokens, targets), abs=1e-5)
    made.backward(tokens)
    for name in ("lnfb", "ln1w0", "qkvb0", "projb0"):  # the way back ends at each in turn
        wanted = difference(loss_by(name, weights, tokens, targets), weights[name])
        np.testing.assert_allclose(made.g[name], wanted, atol=2e-6, err_msg=name)


def loss_by(name: str, weights: dict[str, Any], tokens: Any, targets: Any) -> Callable[[Any], float]:
    """Return the loss as a function of one tensor."""
    return lambda value: forward(CONFIG, weights | {name: value}, tokens, targets)


# --- training ------------------------------------------------------------------------------------


def trained(where: str, steps: int) -> list[float]:
    """Return the losses of a tiny GPT-2: 2 layers, 64 channels, 256 tokens, 32 of time."""
    config = model.Config()
    given = example("train").batches(
        (example("train").Path(model.__file__).with_name("README.md")).read_bytes(), 2, 32
    )
    with ExitStack() as stack:
        opened = stack.enter_context(device(where))
        tiny = model.Model(config, model.random_weights(config), 2, opened)
        return [tiny.train(*next(given)) for _ in range(steps)]


def in_torch(steps: int) -> list[float]:
    """Return the same of PyTorch, which has its own derivative and its own AdamW."""
    torch = pytest.importorskip("torch", reason="no torch")
    functional = torch.nn.functional
    torch.set_num_threads(2)
    config = model.Config()
    start = model.named(model.random_weights(config), config)
    w = {
        name: torch.tensor(start[name].reshape(shape), requires_grad=True)
        for name, shape in config.shapes().items()
    }
    given = example("train").batches(
        (example("train").Path(model.__file__).with_name("README.md")).read_bytes(), 2, 32
    )
    moved = torch.optim.AdamW(list(w.values()), lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
    found, c = [], config.channels
    for _ in range(steps):
        tokens, targets = (torch.tensor(item.astype(np.int64)).reshape(2, 32) for item in next(given))
        x = w["wte"][tokens] + w["wpe"]
        for n in range(config.layers):
            h = functional.layer_norm(x, (c,), w[f"ln1w{n}"], w[f"ln1b{n}"])
            parts = functional.linear(h, w[f"qkvw{n}"], w[f"qkvb{n}"]).split(c, dim=2)
            q, k, v = (part.reshape(2, 32, config.heads, -1).transpose(1, 2) for part in parts)
            h = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            h = h.transpose(1, 2).reshape(2, 32, c)
            x = x + functional.linear(h, w[f"attw{n}"], w[f"attb{n}"])
            h = functional.layer_norm(x, (c,), w[f"ln2w{n}"], w[f"ln2b{n}"])
            h = functional.gelu(functional.linear(h, w[f"fcw{n}"], w[f"fcb{n}"]), approximate="tanh")
            x = x + functional.linear(h, w[f"projw{n}"], w[f"projb{n}"])
        x = functional.layer_norm(x, (c,), w["lnfw"], w["lnfb"])
        loss = functional.cross_entropy((x @ w["wte"].T).reshape(64, -1), targets.reshape(-1))
        moved.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(list(w.values()), 1.0)
        moved.step()
        found.append(float(loss.detach()))
    return found


@pytest.fixture(scope="module")
def on_the_processor() -> list[float]:
    """Return the losses of ten steps on the processor."""
    return trained("cpu", 10)


def test_losses_are_those_of_pytorch(on_the_processor: list[float]) -> None:
    np.testing.assert_allclose(on_the_processor, in_torch(10), rtol=0, atol=1e-4)
    assert on_the_processor[-1] < on_the_processor[0] - 0.5


def test_the_script_trains_and_names_its_device(tmp_path: Path) -> None:
    done = run(sys.executable, "train.py", "--steps", "2", where=copied("gpt2", tmp_path))
    assert done.code == 0, done.err
    first, second = done.out.splitlines()
    assert re.fullmatch(r"step 0: loss 5\.5\d+ on .+, \d+\.\d\d s", first)
    assert second.startswith("step 1: loss 5.")


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
def test_losses_are_equal_on_every_device(
    backend: str, on_the_processor: list[float], tell: Callable[[str], None]
) -> None:
    steps = 10
    np.testing.assert_allclose(trained(backend, steps), on_the_processor[:steps], rtol=0, atol=1e-4)
    tell(f"{steps} of 10 steps on {backend}")
