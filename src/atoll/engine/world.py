"""Which fused kernels does a program need? Recorded in one run, shipped as a file, and then no others exist.

A *record* is one fused kernel: its name (which the expression and its types decide, and no shape), the
expression as text, and its KIR. A *closed world* is the records of a file: an expression that is not among
them is an error that names it. Primitives are no part of it.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError, UnreadableError
from atoll.kernels.definition import KernelFunction

if TYPE_CHECKING:
    import types

FORMAT = "atoll-fused 1"
#: The largest file that is read, and the most records of one.
LARGEST, MOST = 64 << 20, 10000


@dataclass(frozen=True, slots=True)
class Record:
    """One fused kernel."""

    name: str
    expression: str
    kir: str


@dataclass(slots=True)
class World:
    """Records by name.

    Attributes:
        closed: Whether there are no others.
    """

    records: dict[str, Record] = field(default_factory=dict)
    closed: bool = False
    kernels: dict[str, KernelFunction] = field(default_factory=dict)

    def save(self, path: str | Path) -> Path:
        """Write the records to a file, in the order of their names."""
        from atoll._util.files import write_atomic

        rows = [
            {"name": item.name, "expression": item.expression, "kir": item.kir}
            for item in sorted(self.records.values(), key=lambda item: item.name)
        ]
        target = Path(path)
        write_atomic(target, (json.dumps({"format": FORMAT, "records": rows}, indent=1) + "\n").encode())
        return target

    @contextmanager
    def use(self) -> Iterator[World]:
        """Let fused functions take their kernels from here."""
        _worlds.append(self)
        try:
            yield self
        finally:
            _worlds.remove(self)

    def kernel(self, name: str, expression: str) -> KernelFunction:
        """Return the kernel of a record.

        Raises:
            LaunchError: Where there is none; it names the expression.
        """
        if name not in self.records:
            raise LaunchError(
                Diagnostic(
                    code="ATL0825",
                    message=f"the closed world has no kernel of `{expression}`",
                    notes=(f"its name would be: {name}", f"the world has {len(self.records)} fused kernels"),
                    hint="record it in a run of the program: `with record() as world: …`, `world.save(path)`",
                )
            )
        if name not in self.kernels:
            self.kernels[name] = stored(self.records[name])
        return self.kernels[name]


_worlds: list[World] = []


def current() -> World | None:
    """Return the world that is used, or None."""
    return _worlds[-1] if _worlds else None


@contextmanager
def record() -> Iterator[World]:
    """Record every fused kernel that runs: the dry run of a program, on any device."""
    world = World()
    with world.use():
        yield world


def load(path: str | Path) -> World:
    """Return the closed world of a file.

    Raises:
        UnreadableError: Where it is none.
    """
    source = Path(path)
    try:
        if source.stat().st_size > LARGEST:
            raise ValueError(f"it is larger than {LARGEST} bytes")
        read = json.loads(source.read_text(encoding="utf-8"))
        if read["format"] != FORMAT or len(read["records"]) > MOST:
            raise ValueError(f"it is not of the format `{FORMAT}`, or has more than {MOST} records")
        records = [
            Record(str(row["name"]), str(row["expression"]), str(row["kir"])) for row in read["records"]
        ]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(source, str(error) or type(error).__name__) from error
    return World({item.name: item for item in records}, closed=True)


def _unreadable(source: Path, reason: str) -> UnreadableError:
    return UnreadableError(
        Diagnostic(
            code="ATL0826",
            message=f"`{source}` holds no fused kernels",
            notes=(f"reason: {reason}",),
            hint="write one with `world.save(path)`",
        )
    )


def stored(item: Record) -> KernelFunction:
    """Return a kernel of KIR that was read and verified.

    Raises:
        CompileError: Where it is no KIR of one kernel.
    """
    from atoll.ir.parse import parse
    from atoll.ir.verify import verify
    from atoll.kernels.environment import Captures
    from atoll.kernels.front import Compiled
    from atoll.kernels.front.signature import SignedParameter

    module = verify(parse(item.kir, item.name))
    if [kernel.name for kernel in module.kernels] != [item.name]:
        raise _unreadable(Path(item.name), "its KIR is another kernel's")
    whole = module.kernels[0]
    params = tuple(SignedParameter(param.name, param.type, ast.arg(arg=param.name)) for param in whole.params)
    made: Any = KernelFunction(cast("types.FunctionType", _nothing), whole.group, exported=item.name)
    made._compiled = Compiled(module, params, Captures(), {})
    found: KernelFunction = made
    return found


def _nothing() -> None:
    """Stand for the body of a kernel that is KIR alone."""
