"""Random kernels: CPython, the interpreter, the processor, Vulkan and OpenCL give one answer, bit for bit.

A seed picks a program (:mod:`property.kernel_programs`) and its arguments. What fails is shrunk; what once
failed lies in tests/fixtures/kernel_failures and is run every time.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from atoll.ir import Module, ops
from atoll.ir import nodes as n
from atoll.plugin import DriverDevice
from kernel_text import kernel_from
from property.kernel_judge import SECONDS, Child, Verdict, arguments, copies, judge, least, opened, same
from property.kernel_programs import ITEMS, PARAMS, program

SAMPLE = {"interpreter": 20, "cpu": 15, "vulkan": 12, "opencl": 8}
WHOLE = 500
DEVICES = ("interpreter", "cpu", "vulkan", "opencl")
#: A fault of the compiler of PoCL 3.1 gave endless loops (docs/decisions/0170-rint-of-a-constant-on-pocl.md).
#: What else it may have hangs a child, not this process.
HANGS = ("opencl",)
FAILURES = Path(__file__).parents[1] / "fixtures" / "kernel_failures"


def seeds(whole: bool, device: str) -> list[int]:
    stated = os.environ.get("ATOLL_FUZZ_SEED")
    if stated:
        return [int(stated)]
    first = random.SystemRandom().randrange(1 << 30)
    return list(range(first, first + (WHOLE if whole else SAMPLE[device])))


@dataclass(frozen=True)
class Court:
    """A device and what judges a program on it: in this process, or in a child where it may hang."""

    name: str
    device: DriverDevice
    child: Child | None

    def judge(self, source: str, seed: int) -> Verdict:
        return (self.child.judge if self.child else self.here)(source, seed)

    def here(self, source: str, seed: int) -> Verdict:
        return judge(source, seed, self.device)


@pytest.fixture(scope="module", params=DEVICES)
def court(request: pytest.FixtureRequest) -> Iterator[Court]:
    device = opened(request.param)
    if device is None:
        pytest.skip(f"no {request.param} device: none present")
    child = Child(request.param) if request.param in HANGS else None
    yield Court(request.param, device, child)
    if child:
        child.close()


def test_random_kernels_agree_with_the_oracle_bit_for_bit(
    court: Court, whole: bool, tell: Callable[[str], None]
) -> None:
    name = court.device.info.name
    chosen = seeds(whole, court.name)
    refused, hung = 0, []
    for seed in chosen:
        source = program(seed, arrays=bool(seed % 2), more=seed % 3 > 0)
        verdict = court.judge(source, seed)
        if verdict.refused:
            # Depth alone may refuse a program; anything else is a fault of the front end.
            assert "ATL0726" in verdict.refused, f"seed {seed}\n{source}\n{verdict.refused}"
            refused += 1
        if verdict.hung:
            hung.append(seed)
        if verdict.wrong:
            small = source if court.child else least(source, seed, court.device)
            pytest.fail(f"seed {seed}: {verdict.wrong}\n{small}")
    tell(
        f"{len(chosen)} programs of {WHOLE} on {name} from seed {chosen[0]}; "
        f"{refused} refused for depth; never came back in {SECONDS} s: {hung or 'none'}"
    )
    assert refused < len(chosen) / 4
    assert len(hung) <= len(chosen) / 20, hung


@pytest.mark.parametrize("failure", sorted(FAILURES.glob("*.kernel")), ids=lambda path: path.stem)
def test_what_once_failed_does_not_fail_again(court: Court, failure: Path) -> None:
    assert court.judge(failure.read_text(encoding="utf-8"), 1) == Verdict()


# --- seen to fail --------------------------------------------------------------------------------


def test_the_comparison_sees_one_changed_operation() -> None:
    """Plant a fault: C's division in place of Python's; the device then has to differ."""
    found = kernel_from(f"@kernel\ndef k({PARAMS}):\n    i = atoll.global_id(0)\n    oi[i] = x[i] // 7\n")
    compiled = found.compiled()
    (assigned, store) = compiled.kernel.body
    assert isinstance(store, n.Store)
    assert isinstance(store.value, n.Binary)
    changed = replace(store, value=replace(store.value, op=ops.Binary.DIV_TRUNC))
    wrong = Module(kernels=(replace(compiled.kernel, body=(assigned, changed)),))
    given = arguments(1)
    expected, right, mine = copies(given), copies(given), copies(given)
    found.python(ITEMS)(*expected)
    found.over(ITEMS, device="cpu")(*right)
    assert same(right[4], expected[4])
    found._compiled = replace(compiled, module=wrong)
    found.over(ITEMS, device="cpu")(*mine)
    assert not same(mine[4], expected[4])


def test_a_failing_text_is_shrunk_to_its_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a fault in the interpreter: `^` adds; what is left is little more than a `^`."""
    from atoll.ir import vector

    device = opened("interpreter")
    assert device is not None
    monkeypatch.setitem(vector._BINARY, ops.Binary.XOR, lambda a, b, _: a + b)
    seed = next(seed for seed in range(100) if judge(program(seed), seed, device).wrong)
    made = least(program(seed), seed, device, 600)
    kernel = made[made.index("def k(") :]
    assert "^" in made
    assert len(kernel.splitlines()) <= 4 < len(program(seed).splitlines()), made


def test_a_program_that_never_ends_ends_the_child_and_not_the_run() -> None:
    child = Child("interpreter")
    head = f"@kernel\ndef k({PARAMS}):\n    i = atoll.global_id(0)\n"
    assert child.judge(f"{head}    while x[i] == x[i]:\n        oi[i] = 1\n", 1, 3) == Verdict(hung=True)
    assert child.judge(f"{head}    oi[i] = 1\n", 1) == Verdict()
    child.close()


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("import time; time.sleep(2); print('late')", b"late\n"),
        ("print(flush=True)\nwhile True: pass", None),
    ],
)
def test_a_full_machine_is_no_device_that_never_comes_back(code: str, line: bytes | None) -> None:
    """Seed 467 of the emitter suite was said to hang on PoCL: it had waited for the processor."""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child = Child("none", process)
    if line is None:
        assert child.read(1) == b"\n"
    assert child.read(1) == line
    child.close()
