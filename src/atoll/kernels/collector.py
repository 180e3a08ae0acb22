"""What is there to compile? The kernels that are asked for, and what they reach.

Entries are found by their reserved symbols (:mod:`atoll.ir.names`), and from each the front end walks the
calls: every instance (function, types, constants) once. What has no body here, an extern or a function of
`atoll`, is listed as skipped; a generic definition is not collected, its instances are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from atoll.ir.names import Role, base_name, is_entry, symbol
from atoll.kernels.definition import KernelFunction

#: What follows an exported name: how its code is entered.
SUFFIXES = {Role.KERNEL: ".entry", Role.DEVICE: ".func"}


@dataclass(frozen=True, slots=True)
class Collected:
    """A function that is compiled.

    Attributes:
        role: Whether it is a kernel or a device function.
        symbol: Its reserved name.
        place: Where it is defined.
    """

    role: Role
    symbol: str
    place: str

    @property
    def name(self) -> str:
        """What its author called it; an instance: with ``__`` and its arguments."""
        return base_name(self.symbol)

    @property
    def exported(self) -> str:
        """Its name with how it is entered: ``saxpy.entry``, ``half.func``."""
        return self.name + SUFFIXES[self.role]


@dataclass(frozen=True, slots=True)
class Collection:
    """Everything that some kernels compile, in the order it is found, and what was skipped with why."""

    found: tuple[Collected, ...]
    skipped: dict[str, str]

    def lines(self) -> Iterator[str]:
        """Give what `-v` prints, a line each."""
        for item in self.found:
            yield f"{item.role}: {item.exported} ({item.symbol}, {item.place})"
        for name, reason in sorted(self.skipped.items()):
            yield f"skipped: {name} ({reason})"


def collect(kernels: Iterable[KernelFunction]) -> Collection:
    """Return what some kernels compile.

    Raises:
        CompileError: Where one of them cannot be compiled.
    """
    found: dict[tuple[object, object], Collected] = {}
    skipped: dict[str, str] = {}
    for kernel in kernels:
        compiled = kernel.compiled()
        entry, *devices = compiled.typing
        assert is_entry(compiled.kernel.symbol)
        found.setdefault(entry, Collected(Role.KERNEL, compiled.kernel.symbol, _place(entry[0])))
        for key in devices:
            found.setdefault(key, Collected(Role.DEVICE, _device_symbol(*key), _place(key[0])))
        skipped |= compiled.skipped
    return Collection(tuple(found.values()), skipped)


def _device_symbol(function: object, bindings: tuple[tuple[str, type, object], ...]) -> str:
    from atoll.kernels.generics import spelled

    name: str = function.__name__  # type: ignore[attr-defined]
    parts = [getattr(value, "__name__", None) or spelled(value) for _, _, value in bindings]
    return symbol(Role.DEVICE, f"{name}__{'_'.join(parts)}" if parts else name)


def _place(function: object) -> str:
    code = function.__code__  # type: ignore[attr-defined]
    return f"{code.co_filename}:{code.co_firstlineno}"
