"""The body that the oracle runs: the author's own tree, with types where the compiler gave a literal one.

Nothing else is changed. A literal that is assigned to a local, returned, or one side of a conditional
takes its type there, as it does in the compiled kernel; names that Python would answer with untyped
numbers (`range`, `len`, `math.sqrt`) answer with typed ones.
"""

from __future__ import annotations

import ast
import builtins
import copy
import math
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.ir import I32, I64, SCALARS, Scalar, View
from atoll.kernels import surface
from atoll.kernels.environment import MISSING, resolve
from atoll.kernels.front.calls import MATHS
from atoll.kernels.front.compile import Compiled, Typing
from atoll.kernels.front.signature import SignedParameter, signature
from atoll.kernels.front.state import Instance, Place, place
from atoll.kernels.generics import is_variable
from atoll.kernels.oracle.structures import taken
from atoll.kernels.pointers import PointerType, pointer
from atoll.kernels.promote import promote
from atoll.kernels.scalars import Fault, Typed, checking, convert, make
from atoll.kernels.structs import StructType, StructView
from atoll.kernels.vectors import VecView

_TYPED, _TAKEN = "__atoll_typed__", "__atoll_taken__"
_TUPLE = "__atoll_tuple__"


@dataclass(frozen=True, slots=True)
class Body:
    """A function ready to run in the oracle."""

    function: types.FunctionType
    params: tuple[SignedParameter, ...]
    bindings: Mapping[str, Any]
    constants: tuple[str, ...]

    @property
    def code(self) -> types.CodeType:
        """The code object, which finds the function's frames on the stack."""
        return self.function.__code__

    def call(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """Run it, the scalars converted to the types of the parameters."""
        given = self._given(arguments, named)
        typed = {param.name: _passed(given[param.name], param.type) for param in self.params}
        return self.function(**{name: given[name] for name in self.constants}, **typed)

    def _given(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        names, defaults = self.code.co_varnames[: self.code.co_argcount], self.function.__defaults__ or ()
        left = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        return left | dict(zip(names, arguments, strict=False)) | dict(named)

    def run(self, *arguments: Any) -> Any:
        """Run it as a kernel: its constants are not among the arguments."""
        given = dict(zip((param.name for param in self.params), arguments, strict=True))
        return self.function(**given, **{name: self.bindings[name] for name in self.constants})

    def fits(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
        """Tell whether this is the instance of a generic function that some arguments ask for."""
        if not self.bindings:
            return True
        given = self._given(arguments, named)
        plain = all(_stand_in(self.bindings[name]) == given[name] for name in self.constants)
        return plain and all(_is_of(given[param.name], param.type) for param in self.params)


def _passed(value: Any, kind: Scalar | View | StructType | StructView | VecView | PointerType) -> Any:
    if isinstance(kind, StructType):
        return taken(value)
    if isinstance(kind, PointerType):
        return pointer(value)
    if isinstance(kind, View | StructView | VecView) or isinstance(value, bool):
        return value
    return make(kind, convert(value, kind))


def _is_of(value: Any, kind: Scalar | View | StructType | StructView | VecView | PointerType) -> bool:
    """Tell whether an argument has exactly a type; a literal and a bool fit any."""
    if isinstance(kind, Scalar):
        return not isinstance(value, Typed) or value.scalar == kind
    return not isinstance(kind, View) or getattr(value, "element", kind.element) == kind.element


def bodies(compiled: Compiled) -> dict[Instance, Body]:
    """Return the functions of a kernel, ready to run; its own comes first."""
    return {key: _body(key[0], typing) for key, typing in compiled.typing.items()}


def _body(function: types.FunctionType, typing: Typing) -> Body:
    node = copy.deepcopy(typing.function.node)
    node.decorator_list, node.returns, node.args.defaults = [], None, []
    for argument in (*node.args.posonlyargs, *node.args.args):
        argument.annotation = None
    tree = ast.Module([_Typer(typing.places).visit(node)], [])
    code = compile(ast.fix_missing_locations(tree), typing.function.source.file, "exec")
    names = _environment(function, typing.bindings)
    exec(code, names)  # noqa: S102 - the author's own function
    names[node.name].__defaults__ = function.__defaults__
    signed = signature(typing.function, typing.bindings, defaults=True)
    return Body(names[node.name], signed.params, typing.bindings, signed.constants)


class _Typer(ast.NodeTransformer):
    """Wraps the expressions to which the front end gave a type."""

    def __init__(self, places: Mapping[Place, Scalar | StructType]) -> None:
        self.places = places

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.expr) and not isinstance(getattr(node, "ctx", None), ast.Store):
            where = place(node)
            inner = self.generic_visit(node)
            if where in self.places and not isinstance(node, ast.Tuple):
                return _wrapped(inner, self.places[where])
            return inner
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            plain = ast.Assign(targets=[node.target], value=node.value)
            return self.visit(ast.copy_location(plain, node))
        inner = self.generic_visit(node)
        if isinstance(inner, ast.Assign):
            inner.value = _whole(inner)
        return inner


def _whole(node: ast.Assign) -> ast.expr:
    """Return the value of an assignment, a tuple for several names as one object.

    CPython 3.11.2, Debian 12's, stores `a, a = 1, 2` in the wrong order: it swaps the stores in place of the
    values where the values are a display. The last one has to win.
    """
    if not isinstance(node.value, ast.Tuple) or any(isinstance(each, ast.Name) for each in node.targets):
        return node.value
    call = ast.Call(ast.Name(_TUPLE, ast.Load()), node.value.elts, [])
    return ast.fix_missing_locations(ast.copy_location(call, node.value))


def _several(*values: Any) -> tuple[Any, ...]:
    return values


def _wrapped(node: Any, kind: Scalar | StructType) -> ast.expr:
    if isinstance(kind, StructType):
        call = ast.Call(ast.Name(_TAKEN, ast.Load()), [node], [])
    else:
        call = ast.Call(ast.Name(_TYPED, ast.Load()), [node, ast.Constant(kind.name)], [])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def _give_type(value: Any, name: str) -> Any:
    """Return a value as the type that the compiled kernel gives it; the front end saw that it fits."""
    scalar = SCALARS[name]
    if isinstance(value, Typed):
        return value if value.scalar == scalar else make(scalar, value.value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return make(scalar, convert(value, scalar))
    return value


# --- names -----------------------------------------------------------------------------------------


def _environment(function: types.FunctionType, bindings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names a function sees, with typed stand-ins for what Python would leave untyped."""
    names = dict(function.__globals__)
    code = function.__code__
    for name in (*code.co_names, *code.co_freevars):
        found = resolve(function, name)
        if is_variable(found):
            found = bindings.get(found.__name__, found)
        if found is not MISSING:
            names[name] = _stand_in(found)
    names[_TYPED], names[_TAKEN] = _give_type, taken
    names[_TUPLE] = _several
    return names


def _stand_in(found: Any) -> Any:
    if found is math:
        return _MATH
    if found is builtins.range:
        return _range
    if found is builtins.len:
        return _length
    if found is builtins.print:
        return _print
    if type(found).__module__ == "numpy" and hasattr(found, "dtype") and getattr(found, "ndim", 1) == 0:
        return _numpy(found)
    return _SURFACE.get(found, found) if type(found) is types.BuiltinFunctionType else found


def _numpy(found: Any) -> Any:
    from atoll.kernels.arguments import scalar_of_dtype

    scalar = scalar_of_dtype(found.dtype)
    return found if scalar is None else make(scalar, found.item())


def _of_float(function: Callable[[float], bool]) -> Callable[[Any], bool]:
    return lambda value: function(float(value))


_SURFACE: dict[Any, Any] = {
    target: next(function for function, other in surface.MATHS.items() if other is operation)
    for target, operation in MATHS.items()
    if target not in surface.MATHS
}
_SURFACE |= {
    math.fabs: abs,
    math.isnan: _of_float(math.isnan),
    math.isinf: _of_float(math.isinf),
    math.isfinite: _of_float(math.isfinite),
}
_MATH = types.SimpleNamespace(
    **{name: _SURFACE.get(value, value) for name, value in vars(math).items() if callable(value)},
    pi=math.pi,
    e=math.e,
    tau=math.tau,
    inf=math.inf,
    nan=math.nan,
)


def _range(*bounds: Any) -> Iterator[Typed]:
    scalar: Scalar | None = None
    for bound in bounds:
        if isinstance(bound, Typed):
            scalar = bound.scalar if scalar is None else promote(scalar, bound.scalar)
    used = scalar or I32
    steps = [int(bound) for bound in bounds]
    if len(steps) == 3 and steps[2] == 0:
        raise Fault("ATL0754", "the step of a range is zero")
    return (make(used, value) for value in range(*steps))


def _print(*values: Any) -> None:
    """Print what a checked kernel prints, with its work-item."""
    item = surface.running.item
    if checking.on and item is not None:
        shown = " ".join(str(value.value if isinstance(value, Typed) else value) for value in values)
        print(item.shown(item.global_ids), shown)  # noqa: T201 - what the kernel's author asked for


def _length(array: Any) -> Typed:
    return make(I64, len(array))
