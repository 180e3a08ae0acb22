"""Each check of the emitters' suite is red on an emitter that breaks its promise."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir import Module
from atoll.plugin import Emitted, Target
from atoll.testing import emitters as suite
from atoll_plugins.cpu.emitter import CpuEmitter
from atoll_plugins.spirv.emitter import SpirvEmitter

Group = tuple[int, int, int]
_CALLS = count()


class Broken(CpuEmitter):
    """The processor's emitter, with one thing wrong."""

    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return code

    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        return self.wrong(super().emit(module, kernel, target, group), module, group)


class Shouts(Broken):
    @property
    def backend(self) -> str:
        return "CPU"


class ForgetsItsBackend(Broken):
    def target(self, entry: object, arch: str = "") -> Target:
        return Target(backend="toaster")


class RefusesAll(Broken):
    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        raise CompileError(Diagnostic(code="X1", message="no"))


class NamesAnotherEntry(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, entry="main")


class LosesTheEntry(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, code=code.code.replace(code.entry.encode(), b"main"))


class SaysNoFields(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, layout=replace(code.layout, fields=()))


class ForgetsTheGroup(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, layout=replace(code.layout, group=(0, 0, 0)))


class Counts(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, code=code.code + f"/* {next(_CALLS)} */".encode())


class WritesLines(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, code=code.code + f"/* {module.kernels[0].span} */".encode())


class DoublesFacts(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, requires=(Fact(name="a", relation="=", value="1"),) * 2)


class RelatesOddly(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        return replace(code, requires=(Fact(name="a", relation="~", value="1"),))


class StopsAtTheFirst(SpirvEmitter):
    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        try:
            return super().emit(module, kernel, target, group)
        except CompileError as error:
            raise CompileError(error.diagnostics[0]) from error


class SaysNoPlace(SpirvEmitter):
    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        try:
            return super().emit(module, kernel, target, group)
        except CompileError as error:
            raise CompileError(*(replace(item, span=None) for item in error.diagnostics)) from error


class Guesses(Broken):
    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        known = [item.name for item in module.kernels]
        return super().emit(module, kernel if kernel in known else known[0], target, group)


class TakesAnyGroup(Broken):
    def emit(self, module: Module, kernel: str, target: Target, group: Group) -> Emitted:
        free = replace(module, kernels=tuple(replace(item, group=(0, 0, 0)) for item in module.kernels))
        size = group if 0 < group[0] * group[1] * group[2] <= 1024 else (64, 1, 1)
        return super().emit(free, kernel, target, size)


class Mangles(Broken):
    def wrong(self, code: Emitted, module: Module, group: Group) -> Emitted:
        names = tuple("x" if name == "int" else name for name in code.layout.buffers)
        return replace(code, layout=replace(code.layout, buffers=names))


BROKEN = [
    (Shouts, suite.it_names_itself),
    (ForgetsItsBackend, suite.its_target_is_its_backend),
    (RefusesAll, suite.it_emits_the_core),
    (NamesAnotherEntry, suite.code_says_what_it_is),
    (LosesTheEntry, suite.code_says_what_it_is),
    (SaysNoFields, suite.the_layout_is_the_launch_abi),
    (ForgetsTheGroup, suite.the_layout_is_the_launch_abi),
    (Counts, suite.the_same_bytes_come_twice),
    (WritesLines, suite.spans_do_not_change_the_code),
    (DoublesFacts, suite.facts_are_facts),
    (RelatesOddly, suite.facts_are_facts),
    (StopsAtTheFirst, suite.a_refusal_lists_every_place),
    (SaysNoPlace, suite.a_refusal_lists_every_place),
    (Guesses, suite.an_unknown_kernel_is_refused),
    (TakesAnyGroup, suite.a_waiting_kernel_needs_its_group),
    (Mangles, suite.names_meet_no_keyword),
]


@pytest.mark.parametrize(
    ("broken", "check"), BROKEN, ids=lambda item: item.__name__ if hasattr(item, "__name__") else ""
)
def test_a_broken_promise_is_seen(broken: type, check: suite.EmitterCheck) -> None:
    with pytest.raises((AssertionError, CompileError)):
        check(broken())


def test_every_check_was_seen_red() -> None:
    assert {check for _, check in BROKEN} == set(suite.EMITTER_CHECKS)
