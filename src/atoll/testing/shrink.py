"""What is the least program that still fails? Greedy: the first smaller one that fails is the next to shrink.

:func:`shrink` knows no language; :func:`smaller_modules` gives smaller KIR, :func:`smaller_sources` smaller
Python text. A smaller KIR module is valid; a smaller Python text need not compile, so what asks whether it
fails has to answer no for one that does not.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from atoll.errors import CompileError
from atoll.ir import Kernel, Module, nodes
from atoll.ir.passes.ssa import operands_of, with_operands
from atoll.ir.verify import verify
from atoll.ir.walk import all_expressions, statements

_T = TypeVar("_T")
#: How many programs one search tries.
MAX_TRIES = 2000


def shrink(
    failing: _T,
    smaller: Callable[[_T], Iterable[_T]],
    fails: Callable[[_T], bool],
    tries: int = MAX_TRIES,
) -> _T:
    """Return a program that fails and of which nothing more can be left out, or the best of `tries`.

    Args:
        failing: A program that fails.
        smaller: Gives simpler programs than one, the simplest first.
        fails: Whether a program still fails, and in the same way.
        tries: How often it is asked.
    """
    left = tries
    found = True
    while found:
        found = False
        for candidate in smaller(failing):
            if left == 0:
                return failing
            left -= 1
            if fails(candidate):
                failing, found = candidate, True
                break
    return failing


# --- KIR ---------------------------------------------------------------------------------------


def smaller_modules(module: Module) -> Iterator[Module]:
    """Give valid modules of one kernel that are a little simpler than a module of one kernel."""
    (kernel,) = module.kernels
    for body in _blocks(kernel.body):
        try:
            yield verify(Module(kernels=(_tidy(replace(kernel, body=body)),)))
        except CompileError:  # this cut needs another one first
            continue


def _tidy(kernel: Kernel) -> Kernel:
    """Leave out locals and arrays that nothing names."""
    named = {node.base for node in all_expressions(kernel.body) if isinstance(node, nodes.Load)}
    kept: set[str | None] = {
        node.name for node in all_expressions(kernel.body) if isinstance(node, nodes.Local)
    }
    for stmt in statements(kernel.body):
        named.add(getattr(stmt, "base", ""))
        kept |= {getattr(stmt, "local", None), getattr(stmt, "result", None)}
    return replace(
        kernel,
        locals=tuple(item for item in kernel.locals if item.name in kept),
        shared=tuple(item for item in kernel.shared if item.name in named),
        arrays=tuple(item for item in kernel.arrays if item.name in named),
    )


def _blocks(block: nodes.Block) -> Iterator[nodes.Block]:
    size = len(block)
    while size:
        for at in range(0, len(block), size):
            yield block[:at] + block[at + size :]
        size //= 2
    for at, stmt in enumerate(block):
        for made in _statements(stmt):
            yield block[:at] + made + block[at + 1 :]


def _statements(stmt: nodes.Stmt) -> Iterator[nodes.Block]:
    match stmt:
        case nodes.If():
            yield stmt.then
            yield stmt.orelse
            for then in _blocks(stmt.then):
                yield (replace(stmt, then=then),)
            for orelse in _blocks(stmt.orelse):
                yield (replace(stmt, orelse=orelse),)
        case nodes.Loop():
            yield stmt.body
            for body in _blocks(stmt.body):
                yield (replace(stmt, body=body),)
    operands = operands_of(stmt)
    for at, operand in enumerate(operands):
        for made in _expressions(operand):
            yield (with_operands(stmt, (*operands[:at], made, *operands[at + 1 :])),)


def _expressions(expr: nodes.Expr) -> Iterator[nodes.Expr]:
    if isinstance(expr, nodes.Const):
        return
    yield nodes.const(expr.type, 0)
    yield nodes.const(expr.type, 1)
    operands = operands_of(expr)
    yield from (operand for operand in operands if operand.type == expr.type)
    for at, operand in enumerate(operands):
        for made in _expressions(operand):
            yield with_operands(expr, (*operands[:at], made, *operands[at + 1 :]))


# --- Python text -------------------------------------------------------------------------------


def smaller_sources(source: str) -> Iterator[str]:
    """Give texts a little simpler than a Python module's text: less statements, smaller expressions."""
    tree = ast.parse(source)
    count = sum(1 for _ in ast.walk(tree))
    for change in (_without_statement, _without_head, _with_smaller_expression):
        for at in range(count):
            for made in change(tree, at):
                yield ast.unparse(ast.fix_missing_locations(made))


def _node(tree: ast.Module, at: int) -> tuple[ast.Module, ast.AST]:
    made = copy.deepcopy(tree)
    return made, list(ast.walk(made))[at]


def _bodies(node: ast.AST) -> list[str]:
    return [name for name in ("body", "orelse") if isinstance(getattr(node, name, None), list)]


def _without_statement(tree: ast.Module, at: int) -> Iterator[ast.Module]:
    """Leave out statements of one block: many, then one."""
    original = list(ast.walk(tree))[at]
    for name in _bodies(original):
        length = size = len(getattr(original, name))
        while size:
            for first in range(0, length, size):
                made, node = _node(tree, at)
                kept = getattr(node, name)
                del kept[first : first + size]
                if not kept and name == "body":
                    kept.append(ast.Pass())
                yield made
            size //= 2


def _without_head(tree: ast.Module, at: int) -> Iterator[ast.Module]:
    """Put what stands below an `if` or a loop in its place."""
    original = list(ast.walk(tree))[at]
    for name in _bodies(original):
        for index, stmt in enumerate(getattr(original, name)):
            if isinstance(stmt, ast.If | ast.While | ast.For):
                for part in (stmt.body, stmt.orelse):
                    if part:
                        made, node = _node(tree, at)
                        getattr(node, name)[index : index + 1] = copy.deepcopy(part)
                        yield made


def _with_smaller_expression(tree: ast.Module, at: int) -> Iterator[ast.Module]:
    """Put a part of an expression, or a small number, in its place."""
    original = list(ast.walk(tree))[at]
    for name, value in ast.iter_fields(original):
        if name in ("annotation", "returns", "decorator_list", "slice", "func"):
            continue
        listed = value if isinstance(value, list) else [value]
        for index, expr in enumerate(listed):
            if not isinstance(expr, ast.expr) or isinstance(expr, ast.Constant | ast.Name):
                continue
            parts = [part for part in ast.iter_child_nodes(expr) if isinstance(part, ast.expr)]
            for part in (*parts, ast.Constant(0), ast.Constant(1)):
                made, node = _node(tree, at)
                if isinstance(value, list):
                    getattr(node, name)[index] = copy.deepcopy(part)
                else:
                    setattr(node, name, copy.deepcopy(part))
                yield made


__all__ = ["MAX_TRIES", "shrink", "smaller_modules", "smaller_sources"]
