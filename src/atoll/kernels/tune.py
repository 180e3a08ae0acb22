"""How long does a kernel take on a device, and which block is best there?

Measured are launches on buffers that lie on the device already: the median of several, each waited for.
An answer is kept under the kernel's KIR, the blocks, the domain and the device's own name; its file holds the
key again, which is read back before it is believed.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.files import write_atomic
from atoll._util.why import note
from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.kernels.arguments import check
from atoll.kernels.contract import hold
from atoll.kernels.definition import KernelFunction, Sizes, block_sizes
from atoll.kernels.launch import executable_for, open_device, queued, settle
from atoll.kernels.sample import sample
from atoll.kernels.shapes import Shape, check_grid, fitted, over_shape, rank_of
from atoll.kernels.structs import spread
from atoll.kernels.variants import narrowed, promises

if TYPE_CHECKING:
    from atoll.plugin import DriverDevice

Triple = tuple[int, int, int]
#: How often a launch is measured, and run before that.
REPEAT, WARM = 9, 2
#: The domain of a measurement that nobody states, by the kernel's dimensions.
DOMAINS: dict[int, tuple[int, ...]] = {1: (1 << 16,), 2: (256, 256), 3: (64, 32, 32)}


@dataclass(frozen=True, slots=True)
class Tuned:
    """What was measured on a device.

    Attributes:
        device: Its own name.
        block: The best block.
        seconds: The median time of a launch with each block.
        cached: Whether the answer came from the cache.
    """

    device: str
    block: Triple
    seconds: dict[Triple, float]
    cached: bool = False


def tune(
    kernel: KernelFunction,
    arguments: tuple[Any, ...],
    blocks: Sequence[Sizes],
    shape: Sizes | None,
    device: object,
    *,
    again: bool = False,
) -> Tuned:
    """Return the best block for a device, measured or remembered, and let launches use it.

    Raises:
        LaunchError: Where the kernel's contract fixes its block, or there is no block to try.
    """
    if any(kernel.block) or not blocks:
        raise LaunchError(
            Diagnostic(
                code="ATL0761",
                message=f"`{kernel.__name__}` has no block to choose",
                notes=("its contract fixes the block" if any(kernel.block) else "no block is named",),
            )
        )
    tried = list(dict.fromkeys(block_sizes(block) for block in blocks))
    opened = open_device(device)
    domain, given = _launch(kernel, arguments, shape)
    file, key = _place(kernel, tried, domain, opened)
    found = None if again else _read(file, key, tried, opened.info.name)
    if found is None:
        seconds = {block: measure(kernel, domain, given, opened, block) for block in tried}
        best = min(tried, key=lambda block: seconds[block])
        found = Tuned(opened.info.name, best, seconds)
        _write(file, key, found)
    kernel.tuned[found.device] = found.block
    kernel.changed()
    return found


def measure(
    kernel: KernelFunction,
    domain: Sizes,
    arguments: tuple[Any, ...],
    device: DriverDevice,
    block: Sizes | None = None,
    repeat: int = REPEAT,
) -> float:
    """Return the median seconds of a launch, arrays on the device already; the arguments are copied."""
    compiled = kernel.compiled()
    shape: Shape = fitted(over_shape(compiled.kernel, domain, block), device.info)
    checked = check(compiled.kernel, spread(compiled.params, copy.deepcopy(arguments)), device)
    hold(kernel.requires, compiled.kernel.name, checked)
    code = executable_for(kernel, device, shape.block, promises(checked.arrays, shape))
    shape = narrowed(shape) if code.wide else shape
    check_grid(shape, device.info)
    flight, again = queued(device, code.executable, code.layout, shape, checked)
    times = []
    try:
        for turn in range(WARM + repeat):
            start = time.perf_counter()
            again()
            settle(device, flight.queue)
            if turn >= WARM:
                times.append(time.perf_counter() - start)
    finally:
        flight.release()
    return statistics.median(times)


def _launch(
    kernel: KernelFunction, arguments: tuple[Any, ...], shape: Sizes | None
) -> tuple[Sizes, tuple[Any, ...]]:
    compiled = kernel.compiled()
    domain: Sizes = DOMAINS[rank_of(compiled.kernel)] if shape is None else shape
    if arguments:
        return domain, arguments
    return domain, sample(compiled, max(domain) if isinstance(domain, tuple) else domain).arguments


# --- the cache -----------------------------------------------------------------------------------


def _place(
    kernel: KernelFunction, tried: list[Triple], domain: Sizes, device: DriverDevice
) -> tuple[Path, dict[str, Any]]:
    from atoll.ir import passes
    from atoll.ir.text import fingerprint
    from atoll.plugin.tools import cache_folder

    key = {
        "name": kernel.__name__,
        "kir": fingerprint(kernel.module),
        "passes": passes.VERSION,
        "device": device.info.name,
        "driver": f"{device.info.driver} {dict(sorted(device.info.facts.facts.items()))}",
        "domain": list(domain) if isinstance(domain, tuple) else [domain],
        "blocks": [list(block) for block in tried],
    }
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return cache_folder(os.environ, "tuned") / f"{digest}.json", key


def _read(file: Path, key: dict[str, Any], tried: list[Triple], device: str) -> Tuned | None:
    """Return a kept answer, or None where there is none that can be believed."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        seconds = dict(zip(tried, map(float, kept["seconds"]), strict=True))
        good = kept["key"] == key and all(value > 0 for value in seconds.values())
    except (OSError, ValueError, TypeError, KeyError):
        return None
    if not good:
        return None
    return Tuned(device, min(tried, key=lambda block: seconds[block]), seconds, cached=True)


def _write(file: Path, key: dict[str, Any], found: Tuned) -> None:
    text = json.dumps({"key": key, "seconds": list(found.seconds.values())}, indent=1)
    with suppress(OSError):  # a cache that cannot be written is measured again
        file.parent.mkdir(parents=True, exist_ok=True)
        parts = {f"the {word}": str(value)[:60] for word, value in key.items() if word != "name"}
        note(file.parent, file.stem, key["name"], parts)
        write_atomic(file, text)
