"""From a function to a verified KIR module."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir import Kernel, Module, Parameter, Scalar, is_reserved
from atoll.ir import nodes as n
from atoll.ir.verify import verify
from atoll.kernels.environment import Captures
from atoll.kernels.front.checks import BUFFER, Check, Checks
from atoll.kernels.front.inline import bind_constants
from atoll.kernels.front.pointers import entered
from atoll.kernels.front.signature import SignedParameter, assigned_names, signature
from atoll.kernels.front.state import Frame, Instance, LocalBinding, Place, State, instance_key
from atoll.kernels.front.statements import lower_body
from atoll.kernels.front.structures import struct_parameters
from atoll.kernels.front.values import PointerValue, ViewValue
from atoll.kernels.intrinsics.lookup import HOST
from atoll.kernels.pointers import PointerType
from atoll.kernels.source import Function, find
from atoll.kernels.structs import StructType, StructView
from atoll.kernels.vectors import VecView
from atoll.plugin import Target


@dataclass(frozen=True, slots=True)
class Typing:
    """What the front end learned about a function that the oracle needs: where literals take a type."""

    function: Function
    places: Mapping[Place, Scalar | StructType]
    bindings: Mapping[str, Any]


@dataclass(frozen=True)
class Compiled:
    """A kernel as KIR, the parameters of its source, the numbers it captured, and what the oracle needs."""

    module: Module
    params: tuple[SignedParameter, ...] = field(compare=False)
    captures: Captures = field(compare=False)
    #: By what was lowered: a function with what it binds. The kernel's own comes first.
    typing: Mapping[Instance, Typing] = field(compare=False)
    #: What a checked kernel checks, by number.
    checks: tuple[Check, ...] = ()
    #: The intrinsics that it calls, with what was found for the target; and the refusals of the others.
    looked: Mapping[str, str] = field(default_factory=dict, compare=False)
    missing: tuple[Diagnostic, ...] = field(default=(), compare=False)
    #: What it calls that has no body, with why that is left out.
    skipped: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def plain(self) -> bool:
        """Whether the arguments of a launch are those of KIR: no struct is spread, no row has a length."""
        return not any(isinstance(item.type, StructType | StructView | VecView) for item in self.params)

    @property
    def kernel(self) -> Kernel:
        """The one kernel of the module."""
        return self.module.kernels[0]

    @cached_property
    def optimised(self) -> Module:
        """The module after the passes: what every emitter gets."""
        from atoll.ir.passes import optimise

        return optimise(self.module)


def _check_name(found: Function) -> None:
    """Refuse a name that is ours, or that no code for a device could export."""
    span = found.source.span(found.node)
    if is_reserved(found.name):
        raise CompileError(
            Diagnostic(
                code="ATL0722",
                message=f"`{found.name}` lies under the reserved root `atoll_v`",
                span=span,
                hint="choose another name",
            )
        )
    if not found.name.isascii():
        raise CompileError(
            Diagnostic(
                code="ATL0722",
                message=f"the kernel's name `{found.name}` is not ASCII",
                span=span,
                notes=("code for a device exports it",),
                hint="rename the kernel; the names inside it may stay",
            )
        )


def compile_kernel(
    function: types.FunctionType,
    group: tuple[int, int, int] = (0, 0, 0),
    bindings: tuple[tuple[str, Any], ...] = (),
    exported: str = "",
    checked: int = 0,
    target: Target = HOST,
    *,
    contract: bool = False,
) -> Compiled:
    """Return the KIR of a function.

    Args:
        function: The function.
        group: The work-group size of its launch contract, or zeros.
        bindings: What an instance of a generic kernel binds.
        exported: The kernel's name; by default the function's.
        checked: The words of the buffer that a checked kernel reports to; 0 for one without checks.
        target: What intrinsics are looked up for.
        contract: Whether products may be fused with the sums they go into.

    Raises:
        CompileError: With a place and a plain sentence, for anything a kernel cannot hold.
    """
    found = find(function)
    _check_name(found)
    known = dict(bindings)
    frame = Frame(found, (found,), assigned=assigned_names(found.node), kernel=True, bindings=known)
    state = State(frame, target=target)
    whole = signature(found, known)
    signed = whole.params
    bind_constants(frame, whole, known)
    params = _parameters(state, found, signed)
    if checked:
        signed, params = _reporting(state, found, checked, signed, params)
    lower_body(state, found.node.body)
    kernel = Kernel(
        name=exported or found.name,
        params=params,
        locals=tuple(state.locals),
        shared=tuple(state.shared),
        arrays=tuple(state.arrays),
        externs=tuple(state.externs),
        body=tuple(state.out),
        group=group,
        contract=contract,
        span=found.source.span(found.node),
    )
    frames = {instance_key(frame): frame, **state.devices}
    typing = {key: Typing(item.function, dict(item.typed), item.bindings) for key, item in frames.items()}
    checks = () if state.checks is None else tuple(state.checks.found)
    module = verify(Module(kernels=(kernel,)))
    looked, lacking = dict(state.looked), tuple(state.missing)
    return Compiled(module, signed, state.captures, typing, checks, looked, lacking, state.skipped)


def _reporting(
    state: State,
    found: Function,
    capacity: int,
    signed: tuple[SignedParameter, ...],
    params: tuple[Parameter, ...],
) -> tuple[tuple[SignedParameter, ...], tuple[Parameter, ...]]:
    """Return the parameters of a checked kernel: the buffer that it reports to comes last."""
    name = state.unique("report")
    state.checks = Checks(name, capacity)
    place = ast.copy_location(ast.arg(arg=name), found.node)
    own = Parameter(name, BUFFER, found.source.span(found.node))
    return (*signed, SignedParameter(name, BUFFER, place)), (*params, own)


def _parameters(state: State, found: Function, signed: tuple[SignedParameter, ...]) -> tuple[Parameter, ...]:
    params: list[Parameter] = []
    for item in signed:
        span = found.source.span(item.node)
        if isinstance(item.type, StructType | StructView | VecView):
            params += struct_parameters(state, item, span)
            continue
        name = state.unique(item.name)
        if isinstance(item.type, PointerType):
            params.append(Parameter(name, item.type.array, span))
            start = PointerValue(ViewValue(name, item.type.array), None)
            entered(state, state.frame, item.name, start, span)
            continue
        params.append(Parameter(name, item.type, span))
        if not isinstance(item.type, Scalar):
            state.frame.names[item.name] = ViewValue(name, item.type)
        elif item.name in state.frame.assigned:
            local = state.new_local(item.name, item.type, span)
            state.emit(n.Assign(local, n.Param(name, item.type, span), span))
            state.frame.names[item.name] = LocalBinding(local, item.type, span)
        else:
            state.frame.names[item.name] = n.Param(name, item.type, span)
    return tuple(params)
