"""How does one kernel serve many types and constants? Each use is an instance of its own.

Words: a *type variable* is one of `typing`; a *constant parameter* is annotated ``atoll.const[int]``, a
function's ``Callable``; all are *open* until an instance binds them. An instance is an ordinary kernel,
exported as the base name, ``__`` and what it binds: ``scale__f32``. A launch of the generic kernel takes the
one that its arguments ask for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError, LaunchError
from atoll.kernels.definition import DeviceFunction, KernelFunction, Sizes

if TYPE_CHECKING:
    import types

    from atoll.kernels.front import Compiled

Constant = bool | int | float


@dataclass(frozen=True, slots=True)
class ConstType:
    """The annotation of a constant parameter."""

    kind: type[Constant]

    def takes(self, value: object) -> bool:
        """Tell whether a value is a constant of it: exactly its type, as Python has it."""
        return type(value) is self.kind


if TYPE_CHECKING:
    from typing import Annotated, TypeAlias, TypeVar

    C = TypeVar("C")
    #: A type checker sees the plain type: inside a kernel a constant is a number of Python.
    const: TypeAlias = Annotated[C, "constant"]
else:

    class const:  # noqa: N801 - the surface's word
        """The annotation of a parameter that is part of the code: ``n: atoll.const[int]``, bool, float."""

        def __class_getitem__(cls, kind: Any) -> Any:
            if kind not in (int, bool, float):
                raise LaunchError(
                    Diagnostic(
                        code="ATL0712",
                        message=f"no constant parameter of {kind!r}",
                        hint="write `const[int]`, `const[bool]` or `const[float]`",
                    )
                )
            return ConstType(kind)


@dataclass(frozen=True, slots=True)
class OpenView:
    """The annotation ``view[T, 2]`` of a type variable."""

    variable: Any
    rank: int = 1


@dataclass(frozen=True, slots=True)
class OpenVec:
    """The annotation ``vec[T, 3]`` of a type variable."""

    variable: Any
    size: int


def variable_of(annotation: Any) -> Any:
    """Return the type variable of an annotation that is or holds one, or None."""
    while isinstance(annotation, OpenView | OpenVec):
        annotation = annotation.variable
    return annotation if is_variable(annotation) else None


def is_variable(annotation: object) -> bool:
    """Tell whether an annotation is a type variable."""
    return type(annotation).__name__ == "TypeVar" and type(annotation).__module__ == "typing"


def is_callable(annotation: Any) -> bool:
    """Tell whether an annotation is ``Callable``, of `typing` or `collections.abc`, bare or with types."""
    return (getattr(annotation, "__origin__", None) or annotation) is Callable


def is_part(annotation: Any) -> bool:
    """Tell whether a parameter is no value at run time: ``const[int]``, or a function that is called."""
    return isinstance(annotation, ConstType) or is_callable(annotation)


def openings(function: types.FunctionType) -> dict[str, object]:
    """Return the annotation of each parameter that is open; nothing is imported to find it."""
    try:
        annotations = dict(function.__annotations__)
    except Exception:  # Python 3.14 evaluates here; what is wrong is said where the kernel is compiled
        return {}
    found = {}
    for name, annotation in annotations.items():
        if isinstance(annotation, str):
            annotation = _evaluated(function, annotation)
        if name != "return" and (variable_of(annotation) or is_part(annotation)):
            found[name] = annotation
    return found


def _evaluated(function: types.FunctionType, text: str) -> object:
    free = function.__code__.co_freevars
    closed = dict(zip(free, function.__closure__ or (), strict=False))
    try:
        once = eval(text, function.__globals__, {name: cell.cell_contents for name, cell in closed.items()})  # noqa: S307 - the author's own annotation
    except Exception:  # the front end says what is wrong with it
        return None
    return _evaluated(function, once) if isinstance(once, str) else once


# --- the generic kernel ---------------------------------------------------------------------------


class GenericKernel(KernelFunction):
    """A kernel with open types, constants or functions."""

    def __init__(
        self,
        function: types.FunctionType,
        block: tuple[int, int, int],
        requires: str | tuple[str, ...] | None,
        opened: Mapping[str, object],
        *,
        debug: bool = False,
        contract: bool = False,
    ) -> None:
        super().__init__(function, block, requires, contract=contract)
        self._asked, self._opened, self._debug = requires, opened, debug
        self._made: dict[tuple[tuple[str, type, object], ...], KernelFunction] = {}
        #: The instances that :meth:`instance` was asked for, in order: what a kernel file ships.
        self.instances: dict[str, KernelFunction] = {}

    def __repr__(self) -> str:
        return f"<generic kernel {self.__name__}>"

    @property
    def open_names(self) -> tuple[str, ...]:
        """The names that an instance binds, in the order of the signature."""
        found: dict[str, None] = {}
        for name, annotation in self._opened.items():
            found[name if is_part(annotation) else _variable(annotation)] = None
        return tuple(found)

    def instance(self, **bindings: Any) -> KernelFunction:
        """Return the kernel with what is open bound: ``scale.instance(T=f32, tile=16)``.

        Raises:
            CompileError: Where a name is missing, unknown, or bound to what it cannot be.
        """
        made = self._instance(bindings)
        self.instances[made.__name__] = made
        return made

    def _instance(self, bindings: Mapping[str, Any]) -> KernelFunction:
        names = self.open_names
        wrong = [f"`{name}` is no open name of it" for name in bindings if name not in names]
        wrong += [f"`{name}` is not bound" for name in names if name not in bindings]
        kinds = {name: item for name, item in self._opened.items() if is_part(item)}
        for name in names:
            if name in bindings:
                reason = _unfit(name, bindings[name], kinds.get(name))
                wrong += [reason] if reason else []
        if wrong:
            raise self._refusal("has no such instance", *wrong)
        ordered = tuple((name, bindings[name]) for name in names)
        key = tuple((name, type(value), value) for name, value in ordered)
        if key not in self._made:
            exported = f"{self.__name__}__{'_'.join(spelled(value) for _, value in ordered)}"
            self._made[key] = self._kind()(
                self.function,
                self.block,
                self._asked,
                bindings=ordered,
                exported=exported,
                contract=self.contract,
            )
        return self._made[key]

    def _kind(self) -> type[KernelFunction]:
        from atoll.kernels.checked import CheckedKernel

        return CheckedKernel if self._debug else KernelFunction

    def _refusal(self, what: str, *notes: str) -> CompileError:
        example = ", ".join(f"{name}={'f32' if name not in self._opened else 16}" for name in self.open_names)
        return CompileError(
            Diagnostic(
                code="ATL0730",
                message=f"the generic kernel `{self.__name__}` {what}",
                notes=(*notes, f"it leaves open: {', '.join(self.open_names)}"),
                hint=f"name one, as `{self.__name__}.instance({example})`",
            )
        )

    # --- launches take the instance that their arguments ask for ---

    def chosen(self, arguments: Sequence[Any]) -> tuple[KernelFunction, list[Any]]:
        """Return the instance of some arguments, and those that it takes: constants are in its code."""
        code = self.function.__code__
        names = code.co_varnames[: code.co_argcount]
        if len(arguments) != len(names):
            raise LaunchError(
                Diagnostic(
                    code="ATL0760",
                    message=f"`{self.__name__}` takes {len(names)} arguments, not {len(arguments)}",
                    notes=(f"its parameters: {', '.join(names)}",),
                )
            )
        bindings: dict[str, Any] = {}
        for name, value in zip(names, arguments, strict=True):
            annotation = self._opened.get(name)
            if is_part(annotation):
                bindings[name] = value
            elif annotation is not None:
                kind = type_of(value)
                if kind is not None:
                    bindings.setdefault(_variable(annotation), kind)
        parts = {name for name, item in self._opened.items() if is_part(item)}
        rest = [value for name, value in zip(names, arguments, strict=True) if name not in parts]
        return self._instance(bindings), rest

    def over(self, shape: Sizes, **how: Any) -> Any:
        """Return a launch over a domain, as :meth:`KernelFunction.over`."""
        return OpenLaunch(self, lambda kernel: kernel.over(shape, **how))

    def __getitem__(self, key: tuple[Any, ...]) -> Any:
        """Return a launch by grid, block and device, as :meth:`KernelFunction.__getitem__`."""
        return OpenLaunch(self, lambda kernel: kernel[key])

    def python(self, shape: Sizes, **how: Any) -> Any:
        """Return a launch in the oracle, as :meth:`KernelFunction.python`."""
        return OpenLaunch(self, lambda kernel: kernel.python(shape, **how))

    def tune(self, *arguments: Any, **how: Any) -> Any:
        """Tune the instance that the arguments ask for."""
        kernel, rest = self.chosen(arguments)
        return kernel.tune(*rest, **how)

    def compiled(self) -> Compiled:
        """Refuse: only an instance has code.

        Raises:
            CompileError: Always.
        """
        raise self._refusal("has no code of its own")


@dataclass(frozen=True, slots=True)
class OpenLaunch:
    """A launch whose arguments say which instance runs."""

    kernel: GenericKernel
    make: Callable[[KernelFunction], Any] = field(repr=False)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Launch the instance; see :class:`atoll.kernels.launch.Launch`."""
        if named:
            arguments = self.kernel.ordered(arguments, named)
        kernel, rest = self.kernel.chosen(arguments)
        return self.make(kernel)(*rest)


def _variable(annotation: object) -> str:
    return str(variable_of(annotation).__name__)


def _unfit(name: str, value: object, kind: object) -> str | None:
    """Return why a value cannot be bound to a name, or None."""
    from atoll.kernels.scalars import Typed, bool_
    from atoll.kernels.structs import struct_of

    if is_callable(kind):
        text = f"`{name}` is a function marked with `@atoll.device`, this is {value!r}"
        return None if isinstance(value, DeviceFunction) else text
    if isinstance(kind, ConstType):
        text = f"`{name}` is a constant {kind.kind.__name__}, this is {value!r}"
        return None if kind.takes(value) else text
    usable = isinstance(value, type) and issubclass(value, Typed) and value not in (Typed, bool_)
    return None if usable or struct_of(value) is not None else f"`{name}` is a type, this is {value!r}"


def spelled(value: object) -> str:
    """Return a bound value as a part of an exported name: ``f32``, ``16``, ``m1``, ``0p5``, ``square``."""
    if isinstance(value, DeviceFunction):
        return value.__name__
    if isinstance(value, type):
        scalar = getattr(value, "scalar", None)
        return str(scalar or value.__name__)
    text = str(value).lower().replace("-", "m").replace(".", "p").replace("+", "")
    return re.sub(r"[^a-z0-9_]", "_", text)


def type_of(value: object) -> Any:
    """Return the scalar class of an argument that has one: an array's elements, a typed number; else None."""
    from atoll.kernels.arguments import scalar_of_dtype
    from atoll.kernels.scalars import CLASSES, Typed
    from atoll.kernels.structs import struct_of

    if isinstance(value, Typed):
        return type(value)
    if struct_of(type(value)) is not None:
        return type(value)
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return None
    if hasattr(dtype, "isnative"):
        scalar = scalar_of_dtype(dtype)
        return None if scalar is None else CLASSES[scalar.name]
    # Another library's word for it, as `torch.float32`.
    word = str(dtype).rpartition(".")[2]
    short = re.sub(r"^(f|i|u)(?:loat|nt|int)(\d+)$", r"\1\2", word)
    return CLASSES.get({"bfloat16": "bf16"}.get(word, short))
