"""What must a device have for a kernel, and which place of the source asks for it? Needs no device.

An emitter states facts of the whole code. Each place is found by emitting it alone: the parameters one by
one, then each statement without what stands below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from atoll.artifact import Fact
from atoll.diagnostics import Diagnostic, Severity, Span
from atoll.errors import CompileError
from atoll.ir import F32, Kernel, Module, Parameter, View
from atoll.ir import nodes as n
from atoll.ir.walk import statements
from atoll.kernels.definition import KernelFunction
from atoll.kernels.shapes import block_for
from atoll.plugin import Emitter, Target

#: What every kernel that does anything takes.
_PLAIN = (Parameter("x", View(F32, 1)),)


def needs(kernel: KernelFunction, emitter: Emitter, target: Target) -> tuple[Diagnostic, ...]:
    """Return a note for each fact that a device must meet beyond what a view of f32 asks of it.

    Each has the first place that asks for it. What cannot be emitted is left out: the refusal names it.
    """
    found: dict[Fact, Span | None] = {}
    try:
        whole = kernel.compiled_for(target).optimised.kernels[0]
    except CompileError:
        return ()
    plain = replace(whole, params=_PLAIN, locals=(), shared=(), arrays=(), body=())
    usual = _facts(plain, emitter, target)
    for span, part in _parts(whole):
        for fact in _facts(part, emitter, target) - usual:
            found.setdefault(fact, span)
    for fact in _facts(whole, emitter, target) - usual:
        found.setdefault(fact, whole.span)
    return tuple(_note(whole.name, target, fact, found[fact]) for fact in sorted(found))


def _parts(whole: Kernel) -> Iterator[tuple[Span | None, Kernel]]:
    bare = replace(whole, shared=(), arrays=(), body=())
    for param in whole.params:
        yield param.span, replace(bare, params=(param,), locals=())
    for stmt in statements(whole.body):
        if isinstance(stmt, n.Break | n.Continue | n.Return):
            continue  # they mean something below a loop, and ask for nothing
        yield stmt.span, replace(whole, body=(_alone(stmt),))


def _alone(stmt: n.Stmt) -> n.Stmt:
    """Return a statement without the statements below it."""
    match stmt:
        case n.If():
            return replace(stmt, then=(), orelse=())
        case n.Loop():
            return replace(stmt, body=(), step=())
    return stmt


def _facts(kernel: Kernel, emitter: Emitter, target: Target) -> set[Fact]:
    try:
        return set(emitter.emit(Module(kernels=(kernel,)), kernel.name, target, block_for(kernel)).requires)
    except CompileError:
        return set()


def _note(name: str, target: Target, fact: Fact, span: Span | None) -> Diagnostic:
    return Diagnostic(
        severity=Severity.NOTE,
        code="ATL0787",
        message=f"`{name}` runs only where a device of `{target}` has {fact}",
        span=span,
    )
