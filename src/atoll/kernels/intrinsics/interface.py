"""What do the marks make: interfaces, intrinsics, implementations? Everything is checked where it is written.

Words: an *intrinsic* is a function of an interface that is looked up for the target; an *implementation* is a
function of a class bound to a platform; a *portable* body is the author's own, right everywhere. A body of an
implementation is a device function, which may hold :func:`asm`, :func:`snippet` or :func:`operations`.
"""

from __future__ import annotations

import inspect
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError, LaunchError
from atoll.ir import Scalar
from atoll.kernels.definition import DeviceFunction

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])
#: The platform whose bodies are Python: what the oracle and CPython run.
HOST_PLATFORM = "cpu"
#: How often implementations of a platform were added; a compiled kernel remembers it.
_added: Counter[str] = Counter()


@dataclass(frozen=True, slots=True)
class Implementation:
    """What an intrinsic is on a platform, from an architecture on.

    Attributes:
        arch: The floor, or an empty text for every target of the platform.
    """

    device: DeviceFunction
    owner: str
    platform: str
    arch: str

    @property
    def target(self) -> str:
        """How the target is written: ``cuda:sm_35``, ``vulkan``."""
        return f"{self.platform}:{self.arch}".rstrip(":")

    @property
    def place(self) -> Span:
        """Where it is written."""
        return place_of(self.device.function)

    def __str__(self) -> str:
        return f"{self.owner}.{self.device.__name__}, {where(self.device.function)}"


@dataclass(eq=False, slots=True)
class Intrinsic:
    """One function of an interface, looked up at compile time; in CPython it runs its body for the processor.

    Attributes:
        portable: Whether its own body is right everywhere.
        absent: For a platform that has no implementation, why.
    """

    owner: str
    device: DeviceFunction
    portable: bool
    implementations: dict[tuple[str, str], Implementation] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """How it is called: ``Target.ldcs``."""
        return f"{self.owner}.{self.device.__name__}"

    def __repr__(self) -> str:
        return f"<intrinsic {self.name}>"

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the body for the processor, inside a running kernel of the oracle."""
        from atoll.kernels.intrinsics.lookup import on_host

        return on_host(self)(*arguments, **named)


def added(platform: str) -> int:
    """Return how often implementations of a platform were added in this process."""
    return _added[platform]


def is_implementation(function: types.FunctionType) -> bool:
    """Tell whether a function may hold inline code: it is bound to a platform."""
    return hasattr(function, "__atoll_platform__")


# --- marks ---------------------------------------------------------------------------------------


def intrinsic(function: _Function) -> _Function:
    """Mark one function of an interface as looked up for the target."""
    plain(function).__atoll_intrinsic__ = True  # type: ignore[attr-defined]
    return function


def portable(function: _Function) -> _Function:
    """Say that a function's own body is right on every platform that has no better one."""
    plain(function).__atoll_portable__ = True  # type: ignore[attr-defined]
    return function


def interface(made: _Class) -> _Class:
    """Make a class an interface: its functions marked ``@intrinsic`` are looked up, no others."""
    return _interface(made, every=False)


def intrinsics(made: _Class) -> _Class:
    """Make a class an interface of which every static function is an intrinsic."""
    return _interface(made, every=True)


def _interface(made: _Class, *, every: bool) -> _Class:
    for name, function in static_functions(made):
        device = DeviceFunction(function)
        marked = every or hasattr(function, "__atoll_intrinsic__")
        found = (
            Intrinsic(made.__name__, device, hasattr(function, "__atoll_portable__")) if marked else device
        )
        setattr(made, name, staticmethod(found))
    made.__atoll_interface__ = True  # type: ignore[attr-defined]
    return made


def implements(of: type, *, platform: str, arch: str = "") -> Callable[[_Class], _Class]:
    """Bind a class to a platform: its static functions implement those of an interface with their names.

    Args:
        of: The interface.
        platform: The accel backend (``cuda``); ``cpu`` for the processor and the oracle.
        arch: The floor from which it serves (``sm_35``); every target of the platform by default.

    Raises:
        CompileError: For a name or a signature that is not the interface's, and for a second one.
    """
    if not hasattr(of, "__atoll_interface__"):
        raise _misused(
            f"`{getattr(of, '__name__', of)}` is no interface", None, "mark it with `@atoll.interface`"
        )
    if not platform:
        raise _misused("an implementation names its platform", None, 'write `platform="…"`')

    def bound(made: _Class) -> _Class:
        found = [
            _implementation(of, made, name, function, platform, arch)
            for name, function in static_functions(made)
        ]
        for implemented, implementation in found:
            implemented.implementations[platform, arch] = implementation
            setattr(made, implementation.device.__name__, staticmethod(_Hidden(implemented, implementation)))
        _added[platform] += 1
        return made

    return bound


def _implementation(
    of: type, made: type, name: str, function: types.FunctionType, platform: str, arch: str
) -> tuple[Intrinsic, Implementation]:
    wanted = getattr(of, name, None)
    if not isinstance(wanted, Intrinsic):
        listed = ", ".join(item.device.__name__ for item in intrinsics_of(of))
        raise _misused(f"`{of.__name__}` has no intrinsic `{name}`", function, None, f"it has: {listed}")
    found = Implementation(DeviceFunction(function), made.__name__, platform, arch)
    _same_signature(wanted, found)
    known = wanted.implementations.get((platform, arch))
    if known is not None and where(known.device.function) != where(function):
        raise CompileError(
            Diagnostic(
                code="ATL0771",
                message=f"`{wanted.name}` has two implementations for {found.target}",
                span=found.place,
                notes=(f"one is {known}", f"the other is {found}"),
                hint="remove one, or give it another architecture",
            )
        )
    function.__atoll_platform__ = platform  # type: ignore[attr-defined]
    return wanted, found


def absent(of: type, platform: str, /, **reasons: str) -> None:
    """Say why a platform has no implementation of some intrinsics; the refusal and the table repeat it."""
    for name, reason in reasons.items():
        found = getattr(of, name)
        assert isinstance(found, Intrinsic), name
        found.absent[platform] = reason


def intrinsics_of(of: type) -> Iterator[Intrinsic]:
    """Give the intrinsics of an interface, in the order written."""
    for item in vars(of).values():
        if isinstance(item, staticmethod) and isinstance(item.__func__, Intrinsic):
            yield item.__func__


@dataclass(frozen=True, slots=True)
class _Hidden:
    """What stands in an implementation's class: nobody calls it."""

    of: Intrinsic
    implementation: Implementation

    def __call__(self, *_arguments: Any, **_named: Any) -> NoReturn:
        raise LaunchError(
            Diagnostic(
                code="ATL0773",
                message=f"`{self.implementation.owner}.{self.implementation.device.__name__}` "
                "is an implementation, which nobody calls",
                hint=f"call `{self.of.name}`",
            )
        )


# --- what is written -----------------------------------------------------------------------------


def plain(function: Any) -> types.FunctionType:
    """Return the function below `staticmethod`.

    Raises:
        CompileError: Where it is no function.
    """
    found = function.__func__ if isinstance(function, staticmethod) else function
    if not isinstance(found, types.FunctionType):
        raise _misused(f"a {type(function).__name__} is marked as an intrinsic", None, "mark a function")
    return found


def static_functions(made: type) -> Iterator[tuple[str, types.FunctionType]]:
    """Give the static functions of a class.

    Raises:
        CompileError: Where it has another kind of function.
    """
    for name, item in list(vars(made).items()):
        if isinstance(item, types.FunctionType | classmethod):
            function = item if isinstance(item, types.FunctionType) else None
            raise _misused(
                f"`{made.__name__}.{name}` is no static function", function, "put `@staticmethod` above it"
            )
        if isinstance(item, staticmethod):
            yield name, plain(item)


def where(function: types.FunctionType) -> str:
    """Return where a function is written, for a note."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def place_of(function: types.FunctionType) -> Span:
    """Return where a function is written."""
    return Span(file=function.__code__.co_filename, line=function.__code__.co_firstlineno)


def _same_signature(wanted: Intrinsic, found: Implementation) -> None:
    asked, given = _spelled(wanted.device.function), _spelled(found.device.function)
    if asked != given:
        raise CompileError(
            Diagnostic(
                code="ATL0772",
                message=f"`{found.owner}.{found.device.__name__}` has not the signature of `{wanted.name}`",
                span=found.place,
                notes=(
                    f"the interface: {asked}, {where(wanted.device.function)}",
                    f"the implementation: {given}, {where(found.device.function)}",
                ),
                hint="make them equal: names, types and result",
            )
        )


def _spelled(function: types.FunctionType) -> str:
    """Return a signature as text, its types by what they are and not by how they are named."""
    code, noted = function.__code__, inspect.get_annotations(function)
    closed = inspect.getclosurevars(function).nonlocals
    shown: dict[str, str] = {}
    for name, value in noted.items():
        if isinstance(value, str):
            try:
                value = eval(value, function.__globals__, dict(closed))  # noqa: S307 - the author's own
            except Exception as error:
                message = f"the annotation `{value}` cannot be evaluated: {error}"
                raise _misused(message, function, None) from error
        scalar = getattr(value, "scalar", value)
        shown[name] = str(scalar) if isinstance(scalar, Scalar) else getattr(scalar, "__name__", str(scalar))
    names = code.co_varnames[: code.co_argcount]
    listed = ", ".join(f"{name}: {shown[name]}" if name in shown else name for name in names)
    result = shown.get("return", "None")
    return f"({listed}) -> {result}"


def _misused(
    message: str, function: types.FunctionType | None, hint: str | None, *notes: str
) -> CompileError:
    span = None if function is None else place_of(function)
    return CompileError(Diagnostic(code="ATL0773", message=message, span=span, notes=notes, hint=hint))
