"""The root of a KIR program: a module of kernels, and what a kernel declares.

Device functions are inlined by the front end: KIR 1 has no call. Names of parameters, locals
and arrays share one namespace in a kernel and match ``[A-Za-z_][A-Za-z0-9_]*``; they may be
keywords of a target's language, so emitters give them a prefix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from atoll.diagnostics import Span
from atoll.ir.names import kernel_symbol
from atoll.ir.nodes import Block
from atoll.ir.types import Scalar, View

#: The version of the language; the first line of the text form and part of every cache key.
VERSION = 1
#: What the source of an extern is called in the text: printable, without a quotation mark.
LINK = re.compile(r"[ !#-~]{1,200}")
#: What a name looks like.
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel, a scalar or a view."""

    name: str
    type: Scalar | View
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class LocalVariable:
    """A mutable local; its value is undefined until it is assigned (verified)."""

    name: str
    type: Scalar
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Extern:
    """A function that another source defines: `link` names that source, for whoever links."""

    name: str
    params: tuple[Scalar, ...]
    result: Scalar | None
    link: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SharedArray:
    """Memory of one work-group; `length` elements, contents undefined at the start."""

    name: str
    element: Scalar
    length: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PrivateArray:
    """Memory of one work-item; `length` elements, contents undefined at the start."""

    name: str
    element: Scalar
    length: int
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """One kernel.

    Attributes:
        name: Its base name; the entry point in code is `symbol`.
        params: In the order of the signature.
        locals: Every local it assigns.
        shared: Its work-group memory.
        arrays: Arrays that each work-item has for itself.
        externs: The functions of other sources that it calls.
        body: Its statements.
        group: The work-group size that its launch contract fixes; zeros where any size serves.
        contract: Whether a product may be fused with the sum it goes into (:mod:`atoll.ir.contract`).
    """

    name: str
    params: tuple[Parameter, ...]
    locals: tuple[LocalVariable, ...] = ()
    shared: tuple[SharedArray, ...] = ()
    arrays: tuple[PrivateArray, ...] = ()
    externs: tuple[Extern, ...] = ()
    body: Block = ()
    group: tuple[int, int, int] = (0, 0, 0)
    contract: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def symbol(self) -> str:
        """The entry point's name in every emitted code."""
        return kernel_symbol(self.name)

    @property
    def views(self) -> tuple[Parameter, ...]:
        """The view parameters, in order: buffer k is view k."""
        return tuple(param for param in self.params if isinstance(param.type, View))


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """Kernels that belong together; no two have one name."""

    kernels: tuple[Kernel, ...] = ()

    def kernel(self, name: str) -> Kernel:
        """Return the kernel of a base name; KeyError where there is none."""
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise KeyError(name)
