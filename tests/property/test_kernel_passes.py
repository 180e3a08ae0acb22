"""The passes change nothing that a kernel computes, and a wrong rewrite is found. Seeds are printed."""

from __future__ import annotations

import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

from atoll.errors import CompileError, LaunchError
from atoll.ir import Module, Scalar, View
from atoll.ir import vector as v
from atoll.ir.interpret import ViewArgument, interpret
from atoll.ir.nodes import bits_of, value_of
from atoll.ir.parse import parse
from atoll.ir.passes import PASSES, REWRITES, optimise
from atoll.ir.passes.rules import Rules
from atoll.ir.text import canonical, text
from atoll.ir.verify import verify
from atoll.kernels.show import target_named
from atoll.testing.evaluate import ViewValue
from atoll.testing.program import Program
from atoll.testing.programs import programs
from atoll.testing.random_kernels import random_program
from atoll.testing.shrink import shrink, smaller_modules
from kernel_text import kernel_from
from property.kernel_mutants import MUTANTS, Mutant

SAMPLE, WHOLE = 40, 500
#: Wrong rewrites in the default run, of all; how many kernels are tried for one.
FEW, TRIES = 5, 1500
SECONDS = 20


class NeverEndsError(Exception):
    """A kernel ran far longer than it should."""


@contextmanager
def within(seconds: int) -> Iterator[None]:
    def stop(_: int, __: FrameType | None) -> None:
        raise NeverEndsError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answer(program: Program, module: Module) -> dict[str, bytes] | str:
    """Return what a module writes in the interpreter, or how it fails; NaN are one, zeros have signs."""
    kernel = module.kernels[0]
    given: dict[str, bool | int | float | ViewArgument] = {}
    held: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {}
    for param in kernel.params:
        value = program.arguments()[param.name]
        if isinstance(value, ViewValue):
            assert isinstance(param.type, View)
            element = param.type.element
            bits = [bits_of(element, number) for number in value.data]
            data = np.array(bits, f"u{element.nbytes}").view(v.memory_dtype(element))
            held[param.name] = data
            given[param.name] = ViewArgument(data, value.shape, value.strides, value.offset)
        else:
            given[param.name] = value
    try:
        with within(SECONDS):
            interpret(kernel, given, program.groups, program.group, program.domain)
    except LaunchError as error:
        return str(error.diagnostics[0].message)
    except NeverEndsError:
        return "never ends"
    return {name: _bytes(data) for name, data in held.items()}


def _bytes(data: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> bytes:
    if data.dtype.kind == "f":
        data = np.where(np.isnan(data), np.full_like(data, np.nan), data)
    return bytes(data.tobytes())


def seeds(whole: bool) -> range:
    first = 0 if whole else random.SystemRandom().randrange(1 << 30)
    return range(first, first + (WHOLE if whole else SAMPLE))


def differs(program: Program, rules: Rules) -> str | None:
    """Return how a kernel differs after passes with these rewrites, None where it does not."""
    try:
        made = optimise(program.module, rules=rules)
    except CompileError as error:
        return f"refused: {error.diagnostics[0].message}"
    found = answer(program, made)
    if found == answer(program, program.module):
        return None
    return found if isinstance(found, str) else "another answer"


# --- nothing changes ---------------------------------------------------------------------------


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_program_computes_the_same_after_the_passes(program: Program) -> None:
    assert differs(program, Rules(REWRITES)) is None


def test_random_kernels_compute_the_same_and_their_text_reads_back(
    whole: bool, tell: Callable[[str], None]
) -> None:
    chosen = seeds(whole)
    for seed in chosen:
        program = random_program(seed)
        assert differs(program, Rules(REWRITES)) is None, f"seed {seed}: {least(program, Rules(REWRITES))}"
        made = optimise(program.module)
        assert parse(text(made)) == made, f"seed {seed}"
        assert canonical(optimise(program.module)) == canonical(made), f"seed {seed} is not repeatable"
    tell(f"{len(chosen)} kernels of {WHOLE} from seed {chosen[0]}")


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_may_be_left_out(name: str) -> None:
    for seed in range(5):
        program = random_program(seed)
        assert differs(program, Rules(REWRITES).without(name)) is None, f"seed {seed}"


def test_a_pass_that_does_not_exist_is_not_left_out() -> None:
    with pytest.raises(ValueError, match="no pass or rewrite is called vectorise"):
        optimise(programs()[0].module, off=["vectorise"])


# --- every rewrite does something, and a wrong one is found -------------------------------------


def first_seed(found: Callable[[Program], object]) -> int | None:
    return next((seed for seed in range(TRIES) if found(random_program(seed))), None)


def test_every_rewrite_changes_some_kernel(whole: bool, tell: Callable[[str], None]) -> None:
    """Switched off, a rewrite leaves other KIR: so the kernels of the fuzzer reach it."""
    chosen = sorted(REWRITES) if whole else random.SystemRandom().sample(sorted(REWRITES), FEW)
    rows = []
    for name in chosen:
        off = Rules(REWRITES).without(name)
        seed = first_seed(lambda program, off=off: canonical(optimise(program.module, rules=off))
                          != canonical(optimise(program.module)))  # type: ignore[misc]  # fmt: skip
        assert seed is not None, f"without {name} nothing changes"
        rows.append(f"{name} {seed + 1}")
    tell(
        f"switched off, {len(rows)} of {len(REWRITES)} rewrites; kernels until one differs: {', '.join(rows)}"
    )


def test_every_rewrite_has_a_wrong_variant() -> None:
    assert [mutant.rewrite for mutant in MUTANTS] == list(dict.fromkeys(mutant.rewrite for mutant in MUTANTS))
    assert {mutant.rewrite for mutant in MUTANTS} == set(REWRITES)


def test_a_wrong_rewrite_is_found(whole: bool, tell: Callable[[str], None]) -> None:
    chosen: list[Mutant] = list(MUTANTS) if whole else random.SystemRandom().sample(MUTANTS, FEW)
    rows = []
    for mutant in chosen:
        rules = Rules(REWRITES).instead(mutant.rewrite, mutant.rule)
        seed = first_seed(lambda program, rules=rules: differs(program, rules))  # type: ignore[misc]
        assert seed is not None, f"{mutant.rewrite}: nothing found that {mutant.about}"
        rows.append(f"{mutant.rewrite} ({mutant.about}) {seed + 1}")
    tell(f"{len(rows)} of {len(MUTANTS)} wrong rewrites; kernels until found: {'; '.join(rows)}")


def least(program: Program, rules: Rules) -> str:
    """Return the text of the least kernel that differs."""

    def fails(module: Module) -> bool:
        smaller = Program(name=program.name, about="", module=module, arguments=program.arguments,
                          groups=program.groups, group=program.group, domain=program.domain)  # fmt: skip
        return differs(smaller, rules) is not None

    return text(shrink(program.module, smaller_modules, fails, tries=1500))


def test_a_failure_is_shrunk_to_a_few_lines() -> None:
    mutant = next(item for item in MUTANTS if item.rewrite == "divide.floor")
    rules = Rules(REWRITES).instead(mutant.rewrite, mutant.rule)
    seed = next(seed for seed in range(TRIES) if differs(random_program(seed), rules))
    program = random_program(seed)
    made = least(program, rules)
    assert differs(program, rules)
    assert len(made.splitlines()) <= 12 < len(text(program.module).splitlines()), made
    assert "div_floor" in made or "rem_floor" in made


# --- what once failed ---------------------------------------------------------------------------

FAILURES = Path(__file__).parents[1] / "fixtures" / "kernel_failures"


def noise(scalar: Scalar, count: int) -> list[bool | int | float]:
    draw = random.Random(7)
    edges = [0, 1, -1, 2, 3, -3, *scalar.range] if scalar.is_integer else [0.0, -0.0, 1.5, -3.25]
    values = [draw.choice(edges) if draw.random() < 0.4 else draw.getrandbits(64) for _ in range(count)]
    return [value_of(scalar, bits_of(scalar, value)) for value in values]


@pytest.mark.parametrize("failure", sorted(FAILURES.glob("*.kir")), ids=lambda path: path.stem)
def test_what_once_failed_does_not_fail_again(failure: Path) -> None:
    module = verify(parse(failure.read_text(encoding="utf-8"), failure.name))
    (kernel,) = module.kernels
    elements = {view.name: view.type.element for view in kernel.views if isinstance(view.type, View)}
    program = Program(
        name=kernel.name,
        about="",
        module=module,
        arguments=lambda: {
            name: ViewValue(noise(element, 32), (32,), (1,)) for name, element in elements.items()
        },
        groups=(2, 1, 1),
        group=(16, 1, 1),
    )
    assert differs(program, Rules(REWRITES)) is None


# --- what they cost -----------------------------------------------------------------------------

SAXPY = """
@kernel
def k(a: f32, x: view[f32], y: view[f32], out: view[f32]):
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = a * x[i] + y[i]
"""


@pytest.mark.parametrize("target", ["vulkan", "cuda:sm_90", "opencl", "cpu"])
def test_the_passes_cost_less_than_the_rest_of_a_small_compile(
    target: str, tell: Callable[[str], None]
) -> None:
    """The rest is front end and emitter; saxpy anew each time, both ways in turn, in time of this thread."""
    emitter, wanted = target_named(target)
    times: dict[bool, list[float]] = {False: [], True: []}
    for turn in range(24):
        passes, found = bool(turn % 2), kernel_from(SAXPY)
        begun = time.thread_time()
        compiled = found.compiled()
        emitter.emit(compiled.optimised if passes else compiled.module, "k", wanted, (64, 1, 1))
        times[passes].append(time.thread_time() - begun)
    plain, passed = (statistics.median(times[passes][4:]) for passes in (False, True))
    tell(f"{target}: {passed * 1e3:.2f} ms to text, {passed / plain:.2f} of what it takes without the passes")
    assert passed < 2.5 * plain
