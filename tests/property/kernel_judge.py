"""Does a random kernel give one answer everywhere? Judged here or, where a device may hang, in a child."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from atoll.errors import AtollError, CompileError
from atoll.ir.interpret import ViewArgument, interpret
from atoll.ir.passes import optimise
from atoll.ir.subgroups import emulated
from atoll.ir.walk import has_subgroups
from atoll.kernels.definition import KernelFunction
from atoll.plugin import DriverDevice, Emitter, registry
from atoll.testing.emitters import answers_are_right
from atoll.testing.random_kernels import random_program
from atoll.testing.shrink import shrink, smaller_sources
from atoll_plugins.cpu.driver import CpuDriver
from kernel_text import kernel_from
from property.kernel_programs import COMMON, ITEMS

NAMES = ("x", "u", "w", "f", "oi", "ou", "ow", "of", "c")
#: A program takes a second of the processor at the most; a device that takes this many never comes back. The
#: child's own seconds count and not the clock's: on a full machine a compiler took longer than half a minute.
SECONDS = 30
#: So many times that by the clock, for one that waits and computes nothing.
PATIENCE = 10


@dataclass(frozen=True)
class Verdict:
    """What came of one program.

    Attributes:
        wrong: How the device differs from the oracle, or an empty text.
        refused: Why the front end refuses it, or an empty text.
        hung: Whether the device never came back.
    """

    wrong: str = ""
    refused: str = ""
    hung: bool = False


def arguments(seed: int) -> tuple[Any, ...]:
    chance = np.random.default_rng(seed)
    x = chance.integers(-(1 << 31), 1 << 31, ITEMS).astype(np.int32)
    u = chance.integers(0, 1 << 32, ITEMS).astype(np.uint32)
    w = chance.integers(-(1 << 63), (1 << 63) - 1, ITEMS)
    f = (chance.standard_normal(ITEMS) * 10.0 ** chance.integers(-3, 12, ITEMS)).astype(np.float32)
    x[::5], u[::7], w[::3] = np.arange(-6, 7), np.arange(10), np.arange(-11, 11)
    zeros = (np.zeros_like(x), np.zeros_like(u), np.zeros_like(w), np.zeros_like(f))
    return x, u, w, f, *zeros, np.zeros(COMMON + ITEMS, np.int32)


def copies(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(array.copy() for array in given)


def same(one: Any, other: Any) -> bool:
    """Tell whether two arrays are equal bit for bit, NaN and the sign of zero aside."""
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def _without_nan(mine: Any, expected: Any, device: DriverDevice) -> Any:
    """Return what a device gave; llvmpipe makes `x * 0.0` a zero even of an infinity: no NaN is compared."""
    if mine.dtype.kind != "f" or not device.info.name.startswith("llvmpipe"):
        return mine
    return np.where(np.isnan(expected), expected, mine)


def opened(device: str) -> DriverDevice | None:
    """Return an open device, None where there is none; `interpreter` is the one without a compiler."""
    driver = CpuDriver({"PATH": "/nowhere"}) if device == "interpreter" else registry().drivers[device]
    return driver.open(0) if driver.devices() else None


_widths: dict[str, int] = {}


def width_on(device: DriverDevice) -> int:
    """Return how many work-items a sub-group of a device has."""
    known = _widths.get(device.info.name)
    if known is not None:
        return known
    found = kernel_from(
        f"@kernel(block={ITEMS})\ndef k(out: view[i32]):\n    i = atoll.global_id(0)\n"
        "    out[i] = atoll.subgroup_size()\n"
    )
    out = np.zeros(ITEMS, np.int32)
    found.over(ITEMS, device=device)(out)
    return _widths.setdefault(device.info.name, int(out[0]))


def judge(source: str, seed: int, device: DriverDevice, *, races: bool = False) -> Verdict:
    """Compare a device with the oracle; the interpreter also without the passes.

    With `races` the oracle refuses a program whose answer depends on who comes first.
    """
    found = kernel_from(source)
    try:
        found.compiled()
    except CompileError as error:
        return Verdict(refused=str(error))
    given = arguments(seed)
    expected = copies(given)
    subgroup = width_on(device) if has_subgroups(found.compiled().kernel) else 0
    found.python(ITEMS, seed=seed, races=races, subgroup=subgroup)(*expected)
    try:
        mine = copies(given)
        found.over(ITEMS, device=device)(*mine)
        answers = {"": mine}
        if "interpreter" in device.info.name:
            answers[" without the passes"] = _plainly(found, copies(given))
    except AtollError as error:
        return Verdict(wrong=f"{device.info.name}: {error}")
    for how, answer in answers.items():
        for name, a, b in zip(NAMES, answer, expected, strict=True):
            if not same(_without_nan(a, b, device), b):
                return Verdict(wrong=f"{name} on {device.info.name}{how}\n{a}\nthe oracle:\n{b}")
    return Verdict()


def judge_kir(
    seed: int, device: DriverDevice, emitter: Emitter, *, passes: bool, signed_zeros: bool = True
) -> Verdict:
    """Compare a random KIR kernel on a device with the reference."""
    program = random_program(seed)
    if passes:
        program = replace(program, module=optimise(program.module))
    try:
        answers_are_right(emitter, device, program, ulp=0, signed_zeros=signed_zeros)
    except AssertionError as error:
        return Verdict(wrong=str(error))
    return Verdict()


def _plainly(found: KernelFunction, given: tuple[Any, ...]) -> tuple[Any, ...]:
    views = {name: ViewArgument(array, array.shape, (1,)) for name, array in zip(NAMES, given, strict=True)}
    kernel = found.compiled().kernel
    kernel = emulated(kernel, (ITEMS, 1, 1)) if has_subgroups(kernel) else kernel
    interpret(kernel, views, (1, 1, 1), (ITEMS, 1, 1))
    return given


@dataclass
class Child:
    """A process that judges programs on one device, and is ended where it never comes back."""

    device: str
    process: subprocess.Popen[bytes] | None = field(default=None)

    def judge(self, source: str, seed: int, seconds: float = SECONDS) -> Verdict:
        """Judge a Python program."""
        return self.ask(["python", source, seed], seconds)

    def judge_kir(self, seed: int, *, passes: bool) -> Verdict:
        """Judge a random KIR kernel."""
        return self.ask(["kir", passes, seed], SECONDS)

    def ask(self, question: list[Any], seconds: float) -> Verdict:
        if self.process is None or self.process.poll() is not None:
            roots = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
            self.process = subprocess.Popen(
                [sys.executable, "-m", "property.kernel_judge", self.device],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": roots},
            )
            self.read(120)  # that it is ready
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(question).encode() + b"\n")
        self.process.stdin.flush()
        line = self.read(seconds)
        if line is None:
            self.close()
            return Verdict(hung=True)
        return Verdict(**json.loads(line)) if line else Verdict(wrong="the process ended")

    def read(self, seconds: float) -> bytes | None:
        """Return a line, None where the child used so many seconds of the processor and gave none."""
        assert self.process is not None
        assert self.process.stdout is not None
        since, start = time.monotonic(), self.used()
        while not select.select([self.process.stdout], [], [], min(1, seconds))[0]:
            if self.used() - start > seconds or time.monotonic() - since > PATIENCE * seconds:
                return None
        return self.process.stdout.readline()

    def used(self) -> float:
        """Return the seconds of the processor that the child used, all its threads together."""
        assert self.process is not None
        with suppress(psutil.Error):
            times = psutil.Process(self.process.pid).cpu_times()
            return float(times.user + times.system)
        return 0.0

    def close(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                if pipe is not None:
                    pipe.close()
            self.process = None


def least(source: str, seed: int, device: DriverDevice, tries: int = 400) -> str:
    """Return the least text that still gives a wrong answer."""

    def fails(text: str) -> bool:
        try:
            return bool(judge(text, seed, device, races=True).wrong)
        except Exception:
            # What is left need not be a program: a name is gone, the oracle refuses an index.
            return False

    return shrink(source, smaller_sources, fails, tries)


def main() -> None:
    """Judge what stands on stdin, a line each, and say what came of it."""
    device = opened(sys.argv[1])
    print("ready", flush=True)
    for line in sys.stdin:
        kind, asked, seed = json.loads(line)
        assert device is not None
        if kind == "python":
            found = judge(asked, seed, device)
        else:
            found = judge_kir(seed, device, registry().emitters[sys.argv[1]], passes=asked)
        print(
            json.dumps({"wrong": found.wrong, "refused": found.refused, "hung": found.hung}),
            flush=True,
        )


if __name__ == "__main__":
    main()
