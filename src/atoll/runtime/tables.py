"""Which table of functions stands between a driver and its library: one that counts, that logs, that fails.

Each is made of another table (:class:`atoll.runtime.native.Table`), so they stack. A *null* table has no
library at all; what its functions hand out is a backend's matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from atoll.runtime.native import Table


def counting(table: Table) -> tuple[Table, Counter[str]]:
    """Return a table that counts its calls by function, and the counts."""
    counts: Counter[str] = Counter()

    def around(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            counts[name] += 1
            return function(*arguments)

        return call

    return table.wrapped(around), counts


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the function, what it was given, and what it returned."""

    function: str
    arguments: tuple[Any, ...]
    result: Any


def tracing(table: Table, read: Mapping[str, Callable[..., Any]] | None = None) -> tuple[Table, list[Call]]:
    """Return a table that logs its calls, and the log.

    Args:
        table: What is called.
        read: For a function, what to keep of its arguments in their place: pointers say nothing afterwards.
    """
    log: list[Call] = []
    readers = read or {}

    def around(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        reader = readers.get(name)

        def call(*arguments: Any) -> Any:
            result = function(*arguments)
            log.append(Call(name, arguments if reader is None else reader(*arguments), result))
            return result

        return call

    return table.wrapped(around), log


@dataclass(slots=True)
class Fault:
    """When a function fails: from its k-th call on, or only then.

    Attributes:
        function: Its name; empty for none.
        turn: The call that fails, from 1.
        result: What it returns instead of being called.
        stays: Whether every later call fails too.
        seen: How often it was called.
    """

    function: str = ""
    turn: int = 1
    result: int = 0
    stays: bool = False
    seen: int = 0

    def fails(self, function: str) -> bool:
        """Count a call; tell whether it fails."""
        if function != self.function:
            return False
        self.seen += 1
        return self.seen == self.turn or (self.stays and self.seen > self.turn)


def faulty(
    table: Table, fault: Fault, fail: Callable[[str, int, tuple[Any, ...]], Any] | None = None
) -> Table:
    """Return a table in which a function fails as `fault` says; it may be changed at any time.

    Args:
        table: What is called otherwise.
        fault: Which call fails.
        fail: Takes a function's name, the result, and its arguments, and returns what the function returns;
            the result itself where it is None.
    """

    def around(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            if not fault.fails(name):
                return function(*arguments)
            return fault.result if fail is None else fail(name, fault.result, arguments)

        return call

    return table.wrapped(around)
