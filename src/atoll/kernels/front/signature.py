"""What a function's parameters are, from its annotations; and which names it assigns."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError, CompileError
from atoll.ir import Scalar, View, is_reserved
from atoll.kernels.generics import OpenVec, OpenView, is_part, is_variable
from atoll.kernels.pointers import PointerType, ptr
from atoll.kernels.scalars import Typed, view
from atoll.kernels.source import Function
from atoll.kernels.structs import StructType, StructView, struct_of
from atoll.kernels.vectors import VecView, vec_type

#: `view` as what it is at run time.
_views: Any = view
_pointers: Any = ptr
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SignedParameter:
    """One parameter with its type and where it stands."""

    name: str
    type: Scalar | View | StructType | StructView | VecView | PointerType
    node: ast.arg


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters of a function, and its result where the annotation says one."""

    params: tuple[SignedParameter, ...]
    result: Scalar | StructType | None
    #: The parameters that are no value at run time: constants, and functions that a device function takes.
    constants: tuple[str, ...] = ()


def signature(
    function: Function, bindings: Mapping[str, Any] = NOTHING, *, defaults: bool = False
) -> Signature:
    """Return the signature that the annotations spell; strings and lazy ones are evaluated.

    Args:
        function: The function.
        bindings: What is bound: type variables and constant parameters by name.
        defaults: Whether a parameter may have a default, as those of device functions may.

    Raises:
        CompileError: With every parameter that has none.
    """
    arguments = function.node.args
    _refuse_other_kinds(function, arguments, defaults=defaults)
    found = annotations_of(function)
    faults: list[Diagnostic] = []
    params: list[SignedParameter] = []
    constants: list[str] = []
    for item in (*arguments.posonlyargs, *arguments.args):
        if is_part(found.get(item.arg)):
            constants.append(item.arg)
            continue
        annotation = bound(found.get(item.arg), bindings)
        kind = scalar_or_view(annotation) or structural(annotation)
        if is_reserved(item.arg):
            faults.append(
                _fault(function, "ATL0722", f"`{item.arg}` lies under the reserved root `atoll_v`", item)
            )
        if kind is None:
            why = "has no type" if item.annotation is None else f"cannot be a {ast.unparse(item.annotation)}"
            hint = "annotate it with a scalar (`f32`) or a view (`view[f32]`)"
            faults.append(_fault(function, "ATL0712", f"the parameter `{item.arg}` {why}", item, hint))
        else:
            params.append(SignedParameter(item.arg, kind, item))
    if faults:
        raise CompileError(*faults)
    returned = bound(found.get("return"), bindings)
    result = scalar_or_view(returned) or structural(returned)
    plain = result if isinstance(result, Scalar | StructType) else None
    return Signature(tuple(params), plain, tuple(constants))


def bound(annotation: Any, bindings: Mapping[str, Any]) -> Any:
    """Return an annotation with its type variables bound."""
    if isinstance(annotation, OpenVec):
        element = bindings.get(annotation.variable.__name__)
        return None if element is None else vec_type((element, annotation.size))
    if isinstance(annotation, OpenView):
        element = bound(annotation.variable, bindings)
        if element is None:
            return None
        return _views[element, annotation.rank] if annotation.rank else _pointers[element]
    return bindings.get(annotation.__name__) if is_variable(annotation) else annotation


def annotations_of(function: Function) -> dict[str, Any]:
    """Return the annotations of a function, strings evaluated.

    Raises:
        CompileError: Where one cannot be evaluated.
    """
    raw = inspect.get_annotations(function.function)
    found: dict[str, Any] = {}
    for name, value in raw.items():
        # A quoted annotation below `from __future__ import annotations` is a text of a text.
        once = _evaluated(function, value) if isinstance(value, str) else value
        found[name] = _evaluated(function, once) if isinstance(once, str) else once
    return found


def _evaluated(function: Function, text: str) -> Any:
    closed = inspect.getclosurevars(function.function).nonlocals
    try:
        return eval(text, function.function.__globals__, dict(closed))  # noqa: S307 - the author's own annotation
    except AtollError:
        raise
    except Exception as error:
        raise CompileError(
            _fault(
                function, "ATL0712", f"the annotation `{text}` cannot be evaluated: {error}", function.node
            )
        ) from error


def scalar_or_view(annotation: Any) -> Scalar | View | None:
    """Return the type that an annotation names, or None."""
    if isinstance(annotation, View):
        return annotation
    if isinstance(annotation, type) and issubclass(annotation, Typed) and annotation is not Typed:
        return annotation.scalar
    return None


def structural(annotation: Any) -> StructType | StructView | VecView | PointerType | None:
    """Return the struct or vector, or array of them, that an annotation names, or None."""
    arrays = StructView | VecView | PointerType
    return annotation if isinstance(annotation, arrays) else struct_of(annotation)


def _refuse_other_kinds(function: Function, arguments: ast.arguments, *, defaults: bool) -> None:
    for item in (arguments.vararg, arguments.kwarg):
        if item is not None:
            raise CompileError(
                _fault(function, "ATL0712", f"`*{item.arg}` has no meaning in a kernel's signature", item)
            )
    if arguments.kwonlyargs:
        raise CompileError(
            _fault(function, "ATL0712", "a kernel has no keyword-only parameters", arguments.kwonlyargs[0])
        )
    if arguments.defaults and not defaults:
        raise CompileError(
            _fault(function, "ATL0712", "a kernel's parameter has no default", arguments.defaults[0])
        )


def _fault(function: Function, code: str, message: str, node: ast.AST, hint: str | None = None) -> Diagnostic:
    return Diagnostic(code=code, message=message, span=function.source.span(node), hint=hint)


def assigned_names(node: ast.FunctionDef) -> dict[str, ast.AST]:
    """Return every name a function assigns, with the first place; Python makes those its own."""
    found: dict[str, ast.AST] = {}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            known = found.get(item.id)
            if known is None or item.lineno < getattr(known, "lineno", 0):
                found[item.id] = item
    return found
