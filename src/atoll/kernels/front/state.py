"""What the front end knows while it lowers: the output, the names, where it is."""

from __future__ import annotations

import ast
import re
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError
from atoll.ir import LocalVariable, PrivateArray, Scalar, SharedArray, is_reserved
from atoll.ir import nodes as n
from atoll.ir.module import Extern
from atoll.kernels.environment import Captures
from atoll.kernels.front.values import (
    Opaque,
    PointerValue,
    SharedValue,
    StructArray,
    StructValue,
    ViewValue,
    Weak,
)
from atoll.kernels.intrinsics.lookup import HOST
from atoll.kernels.source import Function
from atoll.kernels.structs import StructType
from atoll.plugin import Target

if TYPE_CHECKING:
    from atoll.kernels.front.checks import Checks

#: The deepest nesting of expressions and of blocks in a source.
MAX_DEPTH = 90

#: Where a node stands: what identifies it in the tree of its function.
Place = tuple[int, int, int, int]


def place(node: ast.AST) -> Place:
    """Return where a node stands."""
    return (
        int(getattr(node, "lineno", 0)),
        int(getattr(node, "col_offset", 0)),
        int(getattr(node, "end_lineno", 0) or 0),
        int(getattr(node, "end_col_offset", 0) or 0),
    )


@dataclass(slots=True)
class LocalBinding:
    """A name of the source that is a KIR local; `first` is where it was first assigned."""

    name: str
    type: Scalar
    first: Span


@dataclass(slots=True)
class StructBinding:
    """A name of the source that is a struct: a KIR local for each field, in order."""

    struct: StructType
    fields: tuple[LocalBinding, ...]
    first: Span


@dataclass(slots=True)
class PointerBinding:
    """A name of the source that is a pointer: its array, and the KIR local that says where."""

    array: ViewValue | SharedValue
    at: LocalBinding


Binding = (
    LocalBinding
    | StructBinding
    | PointerBinding
    | PointerValue
    | ViewValue
    | SharedValue
    | StructArray
    | StructValue
    | Weak
    | Opaque
    | n.Param
    | n.Const
)


@dataclass(slots=True)
class Frame:
    """One function being lowered.

    Attributes:
        function: Its source.
        names: What its parameters and locals are.
        assigned: Every name it assigns; Python makes those local to it.
        result: For an inlined function, the local that holds its result, once its type is known.
        done: For an inlined function that returns inside a loop, the local that says it returned.
        returned: Where it first returned a value.
        typed: Where a literal takes a type from its surroundings: the oracle does the same there.
        chain: The functions being lowered, outermost first.
    """

    function: Function
    chain: tuple[Any, ...]
    names: dict[str, Binding] = field(default_factory=dict)
    assigned: dict[str, ast.AST] = field(default_factory=dict)
    kernel: bool = False
    result: LocalBinding | StructBinding | None = None
    done: str | None = None
    returned: Span | None = None
    loop_depth: int = 0
    typed: dict[Place, Scalar | StructType] = field(default_factory=dict)
    #: What its type variables, constant parameters and functions that it takes are.
    bindings: dict[str, Any] = field(default_factory=dict)


#: What was lowered: a function, and what it binds.
Instance = tuple[types.FunctionType, tuple[tuple[str, type, Any], ...]]


def instance_key(frame: Frame) -> Instance:
    """Return what a frame lowers."""
    bindings = tuple((name, type(value), value) for name, value in sorted(frame.bindings.items()))
    return frame.function.function, bindings


@dataclass(slots=True)
class State:
    """The kernel being made."""

    frame: Frame
    captures: Captures = field(default_factory=Captures)
    locals: list[LocalVariable] = field(default_factory=list)
    shared: list[SharedArray] = field(default_factory=list)
    arrays: list[PrivateArray] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    out: list[n.Stmt] = field(default_factory=list)
    #: The KIR locals that have a value here; None where this place is never reached.
    defined: frozenset[str] | None = frozenset()
    #: For each loop around this place, what is defined at its breaks.
    breaks: list[list[frozenset[str]]] = field(default_factory=list)
    depth: int = 0
    devices: dict[Instance, Frame] = field(default_factory=dict)
    externs: list[Extern] = field(default_factory=list)
    #: What is called and has no body here, with why.
    skipped: dict[str, str] = field(default_factory=dict)
    #: What is compiled for, where an intrinsic is looked up.
    target: Target = HOST
    #: The intrinsics that were looked up, with what was found; and the refusals of those that have nothing.
    looked: dict[str, str] = field(default_factory=dict)
    missing: list[Diagnostic] = field(default_factory=list)
    #: The checks of a checked kernel; None in any other.
    checks: Checks | None = None

    # --- refusals ---

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node of the current function."""
        return self.frame.function.source.span(node)

    def error(
        self, code: str, message: str, node: ast.AST, *notes: str, hint: str | None = None
    ) -> CompileError:
        """Return a refusal at a node, with the calls that lead there."""
        calls = [function.name for function in self.frame.chain]
        chain = (f"inlined by: {' -> '.join(calls)}",) if len(calls) > 1 else ()
        return CompileError(
            Diagnostic(code=code, message=message, span=self.span(node), notes=(*notes, *chain), hint=hint)
        )

    @contextmanager
    def deeper(self, node: ast.AST) -> Iterator[None]:
        """Count one level of nesting."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error("ATL0726", f"nested more than {MAX_DEPTH} deep", node)
        yield
        self.depth -= 1

    # --- output ---

    def emit(self, stmt: n.Stmt) -> None:
        """Add a statement, and note what it defines."""
        self.out.append(stmt)
        defines = stmt.local if isinstance(stmt, n.Assign) else None
        if isinstance(stmt, n.Atomic | n.SubGroup | n.ExternCall | n.Inline):
            defines = stmt.result
        if defines is not None and self.defined is not None:
            self.defined |= {defines}

    @contextmanager
    def block(self) -> Iterator[list[n.Stmt]]:
        """Collect the statements of a block of their own."""
        outer, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = outer

    @contextmanager
    def dropped(self) -> Iterator[None]:
        """Lower something that leaves no trace: it is checked as Python, and is not in the code."""
        names, arrays, taken, defined = len(self.locals), len(self.shared), set(self.taken), self.defined
        with self.block():
            yield
        del self.locals[names:], self.shared[arrays:]
        self.taken, self.defined = taken, defined

    def unique(self, wanted: str) -> str:
        """Return a KIR name like `wanted` that no other thing has."""
        plain = re.sub(r"[^A-Za-z0-9_]", lambda found: f"u{ord(found.group()):x}_", wanted)
        name, count = plain, 1
        while name in self.taken:
            count += 1
            name = f"{plain}_{count}"
        self.taken.add(name)
        return name

    def new_local(self, wanted: str, scalar: Scalar, span: Span | None = None) -> str:
        """Declare a local."""
        name = self.unique(wanted)
        self.locals.append(LocalVariable(name, scalar, span))
        return name

    def spill(self, expr: n.Expr, wanted: str = "t") -> n.Local:
        """Keep a value in a new local."""
        name = self.new_local(wanted, expr.type, expr.span)
        self.emit(n.Assign(name, expr, expr.span))
        return n.Local(name, expr.type, expr.span)

    def check_name(self, name: str, node: ast.AST) -> None:
        """Refuse a name under the reserved root."""
        if is_reserved(name):
            raise self.error(
                "ATL0722",
                f"`{name}` lies under the reserved root `atoll_v`",
                node,
                hint="choose another name",
            )


def merge(first: frozenset[str] | None, second: frozenset[str] | None) -> frozenset[str] | None:
    """Return what is defined where two ways meet."""
    if first is None or second is None:
        return second if first is None else first
    return first & second
