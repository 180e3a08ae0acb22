"""Does an emitter keep its door's promises? One suite for every emitter, ours or not.

Use it from any test runner, without a device and, where there is one, with an open device of its driver::

    @pytest.mark.parametrize("check", EMITTER_CHECKS, ids=lambda check: check.__name__)
    def test_my_emitter(check): check(MyEmitter())

    @pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
    def test_my_emitter_computes(program): answers_are_right(MyEmitter(), device, program)

or at once: :func:`emitter_suite`. Each check raises AssertionError with what was wrong. An emitter may refuse
what its target lacks, by a CompileError that names every such place; it may not make something similar of it.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import count
from typing import Any, TypeVar

from atoll.diagnostics import Span
from atoll.errors import CompileError
from atoll.ir import Kernel, Module, Scalar, View, has_barrier, is_entry, layout, nodes
from atoll.plugin import DriverDevice, Emitted, Emitter, Target
from atoll.testing.evaluate import Number, ViewValue, evaluate
from atoll.testing.launching import launch
from atoll.testing.programs import Program, programs

EmitterCheck = Callable[[Emitter], None]
T = TypeVar("T")

#: What every emitter carries; without these no example runs.
CORE = ("saxpy",)
_GROUP_PLACES = 3


# --- without a device ---------------------------------------------------------------------------


def it_names_itself(emitter: Emitter) -> None:
    """Backend and stage are names that a set and a command line can spell."""
    for name in (emitter.backend, emitter.stage):
        assert name, "a name is empty"
        assert name == name.lower(), f"{name!r} is not in lower case"
        assert name.replace("-", "").isalnum(), f"{name!r} is no name"


def its_target_is_its_backend(emitter: Emitter) -> None:
    """Without an entry it has a default target, of its own backend, that prints as one word."""
    target = emitter.target(None)
    assert target.backend == emitter.backend, f"the default target is {target}"
    assert " " not in str(target), f"{str(target)!r} is more than a word"
    assert emitter.target(None) == target, "two default targets differ"


def it_emits_the_core(emitter: Emitter) -> None:
    """What every emitter carries is not refused."""
    for program in programs():
        if program.name in CORE:
            emitter.emit(program.module, program.name, emitter.target(None), program.group)


def code_says_what_it_is(emitter: Emitter) -> None:
    """Target, stage, suffix and entry are as asked; the entry's name stands in the code; text is UTF-8."""
    target = emitter.target(None)
    for program, code in emitted(emitter, target):
        assert code.target == target, f"{program.name} was emitted for {code.target}"
        assert code.stage == emitter.stage, f"{program.name} is of the stage {code.stage}"
        assert code.suffix.startswith("."), f"the suffix {code.suffix!r} has no dot"
        assert is_entry(code.entry), f"{code.entry} is no reserved name of a kernel"
        assert code.entry == program.module.kernel(program.name).symbol, f"the entry is {code.entry}"
        assert code.entry.encode() in code.code, f"{code.entry} does not stand in the code of {program.name}"
        if code.text:
            code.code.decode("utf-8")
            assert b"\0" not in code.code, "text holds a zero byte"


def the_layout_is_the_launch_abi(emitter: Emitter) -> None:
    """Buffers, accesses, fields and the block's size are those of the launch ABI, for every program."""
    for program, code in emitted(emitter, emitter.target(None)):
        kernel = program.module.kernel(program.name)
        wanted = layout(kernel, code.layout.group)
        assert code.layout.buffers == wanted.buffers, f"{program.name}: buffers {code.layout.buffers}"
        assert code.layout.access == wanted.access, f"{program.name}: accesses {code.layout.access}"
        assert code.layout.fields == wanted.fields, f"{program.name}: fields {code.layout.fields}"
        assert code.layout.block_bytes == wanted.block_bytes, (
            f"{program.name}: {code.layout.block_bytes} bytes"
        )
        assert code.layout.shared_bytes >= wanted.shared_bytes, (
            f"{program.name} states too little shared memory"
        )
        assert code.layout.group in ((0, 0, 0), program.group), f"{program.name}: group {code.layout.group}"
        if has_barrier(kernel):
            assert code.layout.group == program.group, f"{program.name} waits, and its group is not fixed"


def the_same_bytes_come_twice(emitter: Emitter) -> None:
    """Emitting has no memory: the same kernel gives the same code, whatever was emitted between."""
    target = emitter.target(None)
    first = {program.name: code for program, code in emitted(emitter, target)}
    second = {program.name: code for program, code in reversed(list(emitted(type(emitter)(), target)))}
    for name, code in first.items():
        assert second[name] == code, f"{name} was emitted twice with different results"


def spans_do_not_change_the_code(emitter: Emitter) -> None:
    """Where a kernel was written is no part of its code, so that a cache may serve it."""
    target = emitter.target(None)
    for program, code in emitted(emitter, target):
        again = emitter.emit(with_spans(program.module), program.name, target, program.group)
        assert again.code == code.code, f"{program.name} depends on its spans"


def facts_are_facts(emitter: Emitter) -> None:
    """What a device must meet is stated as ``=`` or ``>=``, sorted, each once."""
    for program, code in emitted(emitter, emitter.target(None)):
        assert list(code.requires) == sorted(set(code.requires)), f"{program.name}: facts not sorted or twice"
        for fact in code.requires:
            assert fact.name, "a fact has no name"
            assert fact.relation in ("=", ">="), f"the fact {fact} has the relation {fact.relation!r}"


def a_refusal_lists_every_place(emitter: Emitter) -> None:
    """What is refused alone is refused in company too, all at once, each place with its span."""
    target = emitter.target(None)
    for program in programs():
        if "_" not in program.name or len(program.module.kernels[0].body) < _GROUP_PLACES:
            continue
        module = with_spans(program.module)
        kernel = module.kernel(program.name)
        alone: set[Span] = set()
        for stmt in kernel.body:
            if not isinstance(stmt, nodes.Assign):
                alone |= refused(emitter, _with_body(module, kernel, _needed(kernel, stmt)), program, target)
        together = refused(emitter, module, program, target)
        assert alone == together, (
            f"{program.name}: alone {len(alone)} places are refused, together {len(together)}"
        )


def an_unknown_kernel_is_refused(emitter: Emitter) -> None:
    """A name that the module does not hold is a CompileError, no KeyError."""
    program = programs()[0]
    try:
        emitter.emit(program.module, "absent", emitter.target(None), program.group)
    except CompileError as error:
        assert error.diagnostics[0].message, "the refusal says nothing"
        return
    raise AssertionError("a kernel that is not there was emitted")


def a_waiting_kernel_needs_its_group(emitter: Emitter) -> None:
    """A barrier without a known work-group size, or another size than the contract's, is refused."""
    program = next(item for item in programs() if item.name == "block_sum")
    target = emitter.target(None)
    if refused(emitter, with_spans(program.module), program, target):
        return
    kernel = program.module.kernel(program.name)
    free = Module(kernels=(replace(kernel, group=(0, 0, 0)),))
    for module, group in ((free, (0, 0, 0)), (program.module, (32, 1, 1)), (free, (4096, 4096, 1))):
        try:
            emitter.emit(module, program.name, target, group)
        except CompileError:
            continue
        raise AssertionError(f"a kernel with a barrier was emitted for the group {group}")


def names_meet_no_keyword(emitter: Emitter) -> None:
    """Parameters, locals and kernels may be called what the target's language reserves."""
    program = programs()[0]
    kernel = program.module.kernel(program.name)
    target = emitter.target(None)
    for word in ("int", "kernel", "float4", "main", "add", "ret", "g0", "p", "block", "x_size_0", "buffers"):
        renamed = _renamed(kernel, "x", word)
        code = emitter.emit(Module(kernels=(replace(renamed, name=word),)), word, target, program.group)
        assert word in code.layout.buffers, f"the buffer {word} is missing from the layout"


def emitted(emitter: Emitter, target: Target) -> Iterator[tuple[Program, Emitted]]:
    """Give every program that the emitter does not refuse, with its code."""
    for program in programs():
        try:
            yield program, emitter.emit(program.module, program.name, target, program.group)
        except CompileError:
            continue


def refused(emitter: Emitter, module: Module, program: Program, target: Target) -> set[Span]:
    """Return the places of a refusal; empty where the module is emitted."""
    try:
        emitter.emit(module, program.name, target, program.group)
    except CompileError as error:
        spans = [item.span for item in error.diagnostics]
        assert None not in spans, f"{program.name} is refused without a place: {error}"
        return {span for span in spans if span is not None}
    return set()


def with_spans(module: Module) -> Module:
    """Return a module whose every node has a span of its own, by its place in the walk."""
    return _spanned(module, count(1))


def _spanned(value: T, line: Iterator[int]) -> T:
    if isinstance(value, tuple):
        return type(value)(_spanned(item, line) for item in value)
    if not is_dataclass(value) or isinstance(value, (Scalar, View, Span, type)):
        return value
    changes: dict[str, Any] = {}
    for item in fields(value):
        if item.name == "span":
            changes["span"] = Span(file="<suite>", line=next(line))
        elif item.init:
            changes[item.name] = _spanned(getattr(value, item.name), line)
    return replace(value, **changes)


def _needed(kernel: Kernel, stmt: nodes.Stmt) -> nodes.Block:
    """Return a statement after the assignments at the head of its kernel."""
    return (*(item for item in kernel.body if isinstance(item, nodes.Assign)), stmt)


def _with_body(module: Module, kernel: Kernel, body: nodes.Block) -> Module:
    return replace(module, kernels=(replace(kernel, body=body),))


def _renamed(kernel: Kernel, old: str, new: str) -> Kernel:
    """Return a kernel with a parameter called otherwise."""

    def visit(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(visit(item) for item in value)
        if not is_dataclass(value) or isinstance(value, (Scalar, View, Span, type)):
            return value
        changes = {item.name: visit(getattr(value, item.name)) for item in fields(value) if item.init}
        for name in ("base", "view", "name"):
            if changes.get(name) == old:
                changes[name] = new
        return replace(value, **changes)

    renamed: Kernel = visit(kernel)
    return replace(renamed, name=kernel.name)


EMITTER_CHECKS: tuple[EmitterCheck, ...] = (
    it_names_itself,
    its_target_is_its_backend,
    it_emits_the_core,
    code_says_what_it_is,
    the_layout_is_the_launch_abi,
    the_same_bytes_come_twice,
    spans_do_not_change_the_code,
    facts_are_facts,
    a_refusal_lists_every_place,
    an_unknown_kernel_is_refused,
    a_waiting_kernel_needs_its_group,
    names_meet_no_keyword,
)


# --- with a device ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Wrong:
    """An element that a device computed otherwise than the reference."""

    view: str
    index: int
    found: Number
    wanted: Number


def answers_are_right(
    emitter: Emitter,
    device: DriverDevice,
    program: Program,
    *,
    ulp: int | None = None,
    signed_zeros: bool = True,
) -> Emitted | None:
    """Launch a program and compare every element of every buffer with the reference.

    Args:
        emitter: The emitter.
        device: An open device of its driver.
        program: What to run.
        ulp: How far floats may be off, in units of the last place, where it is not what the program allows.
        signed_zeros: Whether 0.0 and -0.0 are two values; false only for a device known to mix them up.

    Returns:
        The code that ran, or None where the emitter refuses the program for this target.
    """
    try:
        code = emitter.emit(program.module, program.name, device.target(), program.group)
    except CompileError:
        assert program.name not in CORE, f"{program.name} is refused"
        return None
    found, wanted = dict(program.arguments()), dict(program.arguments())
    launch(device, code, program.module, program.name, found, program.groups, program.group, program.domain)
    kernel = program.module.kernel(program.name)
    evaluate(kernel, wanted, program.groups, program.group, program.domain)
    wrong = differences(kernel, found, wanted, program.ulp if ulp is None else ulp)
    if not signed_zeros:
        wrong = [one for one in wrong if not one.found == one.wanted == 0]
    text = "; ".join(f"{one.view}[{one.index}] is {one.found!r}, not {one.wanted!r}" for one in wrong[:5])
    assert not wrong, f"{program.name} on {device.info.name}: {len(wrong)} elements differ: {text}"
    return code


def differences(
    kernel: Kernel,
    found: dict[str, Number | ViewValue],
    wanted: dict[str, Number | ViewValue],
    ulp: int = 0,
) -> list[Wrong]:
    """Return the elements that differ: NaN equals NaN, zeros have signs, floats may be `ulp` apart."""
    wrong = []
    for view in kernel.views:
        assert isinstance(view.type, View)
        mine, theirs = found[view.name], wanted[view.name]
        assert isinstance(mine, ViewValue)
        assert isinstance(theirs, ViewValue)
        for index, (one, other) in enumerate(zip(mine.data, theirs.data, strict=True)):
            if not _equal(view.type.element, one, other, ulp):
                wrong.append(Wrong(view=view.name, index=index, found=one, wanted=other))
    return wrong


def _equal(scalar: Scalar, one: Number, other: Number, ulp: int) -> bool:
    if not scalar.is_float:
        return one == other
    one, other = float(one), float(other)
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return abs(_place(scalar, one) - _place(scalar, other)) <= ulp


def _place(scalar: Scalar, value: float) -> int:
    """Return a float's place among all of its type, in order; the two zeros are one step apart."""
    bits = (
        struct.unpack("<q", struct.pack("<d", value))[0]
        if scalar.bits == 64
        else nodes.bits_of(scalar, value)
    )
    sign = 1 << (scalar.bits - 1)
    bits &= (1 << scalar.bits) - 1
    return -1 - (bits ^ sign) if bits & sign else bits


def emitter_suite(emitter: Emitter, device: DriverDevice | None = None) -> dict[str, str]:
    """Run every check, and with a device every program; return what each said.

    Returns:
        For each check or program ``ok``, ``refused`` where the emitter lacks something for that program,
        or what was wrong.
    """
    said: dict[str, str] = {}
    for check in EMITTER_CHECKS:
        said[check.__name__] = _outcome(lambda check=check: check(emitter) or True)  # type: ignore[misc]
    for program in programs() if device is not None else ():
        said[program.name] = _outcome(
            lambda program=program: answers_are_right(emitter, device, program)  # type: ignore[misc, arg-type]
        )
    return said


def _outcome(check: Callable[[], object]) -> str:
    try:
        return "ok" if check() is not None else "refused"
    except AssertionError as error:
        return str(error) or "failed"
