"""Does a function with `space=device` take arrays of a GPU where they lie? Run by space_there.sh.

With ``good`` every row has to be as expected; with ``bad``, whose kernel adds where it should multiply, every
row that looks at an answer has to be WRONG: the device's code ran and nothing stood in for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from spaced import kernels  # type: ignore[import-not-found]

import atoll

COUNT = 1 << 20
ROWS: list[tuple[str, bool, str]] = []


def row(name: str, call: Callable[[], tuple[bool, str]]) -> None:
    """Run one check and print what came of it."""
    try:
        good, said = call()
    except Exception as error:
        good, said = False, f"{type(error).__name__}: {error}"
    ROWS.append((name, good, said))
    print(f"{name:44} {'ok' if good else 'WRONG':5} {said}", flush=True)


def refused(call: Callable[[], Any], *words: str) -> tuple[bool, str]:
    """Tell whether a call is refused in these words."""
    try:
        call()
    except (TypeError, ValueError) as error:
        return all(word in str(error) for word in words), str(error)
    return False, "nothing was refused"


def arrays() -> tuple[bool, str]:
    x = atoll.array(np.arange(COUNT, dtype=np.float32), device="cuda")
    out = atoll.array(np.zeros(COUNT, np.float32), device="cuda")
    kernels.scale(3.0, x, out, None)
    named = kernels.device_name()
    kernels.wait()
    return bool((out.numpy() == 3 * np.arange(COUNT, dtype=np.float32)).all()), named


def beside_a_kernel() -> tuple[bool, str]:
    """A kernel in Python writes, the function reads it, a kernel reads that: one memory, in order."""
    from space_kernels import plus_one  # type: ignore[import-not-found]

    x = atoll.array(np.arange(COUNT, dtype=np.float32), device="cuda")
    out = atoll.array(np.zeros(COUNT, np.float32), device="cuda")
    for _ in range(20):
        plus_one.over(COUNT)(x)
        kernels.scale(2.0, x, out, None)
        kernels.wait()  # the launch goes to a queue of Atoll's own
        plus_one.over(COUNT)(out)
    want = 2 * (np.arange(COUNT, dtype=np.float32) + 20) + 1
    found = out.numpy()
    return bool((found == want).all()), f"{int((found != want).sum())} differ"


def tensors(own_stream: bool) -> tuple[bool, str]:
    import torch

    stream: Any = torch.cuda.Stream() if own_stream else torch.cuda.current_stream()  # type: ignore[no-untyped-call]
    with torch.cuda.stream(stream):
        x = torch.zeros(COUNT, device="cuda")
        out = torch.zeros(COUNT, device="cuda")
        big = torch.ones(4096, 4096, device="cuda")
        for _ in range(8):  # work that `x` comes behind, so that an order that is not kept is seen
            big = big @ big / 4096
        x += torch.arange(COUNT, device="cuda") + big[0, 0]
        kernels.scale(2.0, x, out, stream.cuda_stream or None)
        total = (out - 2 * (torch.arange(COUNT, device="cuda") + 1)).abs().max()
    stream.synchronize()
    return float(total) == 0.0, f"largest difference {float(total)}"


def views() -> tuple[bool, str]:
    x = atoll.array(np.arange(64, dtype=np.float32), device="cuda")
    out = atoll.array(np.zeros(64, np.float32), device="cuda")
    kernels.scale(2.0, x[16:32], out[48:], None)
    kernels.wait()
    return out.numpy()[48:].tolist() == [2.0 * n for n in range(16, 32)] and not out.numpy()[:48].any(), ""


def main() -> int:
    """Print a row a check; 0 where all are as they should be."""
    kernels.use("cuda")
    there = atoll.array(np.ones(8, np.float32), device="cuda")
    row("arrays of Atoll", arrays)
    row("parts of them", views)
    row("between kernels in Python", beside_a_kernel)
    try:
        import torch  # noqa: F401
    except ImportError:
        print("tensors: no PyTorch here")
    else:
        row("tensors of PyTorch, its current stream", lambda: tensors(own_stream=False))
        row("tensors of PyTorch, a stream of their own", lambda: tensors(own_stream=True))
    answers = len(ROWS)
    kernels.scale(1.0, there, there, None)
    named = kernels.device_name()
    row("it ran there", lambda: ("NVIDIA" in named, named))
    host = np.ones(8, np.float32)
    row(
        "an array in the host's memory",
        lambda: refused(
            lambda: kernels.scale(1.0, host, there, None), "`x` lies on a device of DLPack type 1"
        ),
    )
    if "vulkan" in {info.driver for info in atoll.devices()}:
        other = atoll.array(host, device="vulkan")
        row(
            "an array of another driver",
            lambda: refused(
                lambda: kernels.scale(1.0, there, other, None), "`out` lies on a device of DLPack type"
            ),
        )
    kernels.use("cpu")
    row(
        "the processor asked with an array of the GPU",
        lambda: refused(
            lambda: kernels.scale(1.0, there, there, None), "the root `cpu` takes memory of type 1"
        ),
    )
    good = sum(is_good for _, is_good, _ in ROWS)
    if sys.argv[1:] == ["bad"]:
        seen = sum(not is_good for _, is_good, _ in ROWS[:answers])
        print(f"space, changed: {seen} of {answers} answers are seen to be wrong")
        return seen != answers
    print(f"space: {good} of {len(ROWS)} as expected")
    return good != len(ROWS)


if __name__ == "__main__":
    sys.exit(main())
