"""Which kernels does a Python file define? Importing it runs it: the caller's own code, in its own process.

Words: a *kernel file* is one whose kernels are found at module level.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path, PurePosixPath
from types import ModuleType, TracebackType

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import AtollError, CompileError, UnreadableError, UsageError
from atoll.kernels.definition import KernelFunction
from atoll.kernels.generics import GenericKernel

#: The most lines of a traceback that a refusal shows.
TAIL = 12
#: What helps where a module is missing.
IMPORTS = "a kernel file imports `atoll`, the standard library and modules of the project"


def load(path: str, root: str) -> ModuleType:
    """Import a file by its path below a root, which is put first on the path.

    Raises:
        UnreadableError: Where there is no such file.
        CompileError: Where importing it fails, with the end of the traceback.
    """
    place = Path(root) / path
    if not place.is_file():
        raise UnreadableError(
            Diagnostic(
                code="ATL0002", message=f"cannot read `{path}`", notes=("reason: there is no such file",)
            )
        )
    if root not in sys.path:
        sys.path.insert(0, root)
    plain = PurePosixPath(path).with_suffix("")
    name = ".".join(part for part in plain.parts if part not in ("/", ".", ".."))
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise UsageError(
            Diagnostic(
                code="ATL0742",
                message=f"`{path}` is no Python file",
                notes=(f"its suffix: {place.suffix or 'none'}",),
            )
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except AtollError:
        raise
    except (Exception, SystemExit) as error:
        raise CompileError(_failed(path, str(place), error)) from error
    return module


def _own(error: BaseException) -> TracebackType | None:
    """Return the part of a traceback that is the file's own: what imports it comes first and says nothing."""
    trace = error.__traceback__
    while trace is not None and (
        trace.tb_frame.f_code.co_filename == __file__
        or trace.tb_frame.f_code.co_filename.startswith("<frozen importlib")
    ):
        trace = trace.tb_next
    return trace


def _failed(path: str, place: str, error: BaseException) -> Diagnostic:
    lines = "".join(traceback.format_exception(type(error), error, _own(error))).rstrip().split("\n")[-TAIL:]
    return Diagnostic(
        code="ATL0742",
        message=f"`{path}` could not be imported",
        span=Span(file=path, line=_failing_line(place, error)),
        notes=tuple(lines),
        hint=IMPORTS if isinstance(error, ImportError) else None,
    )


def _failing_line(place: str, error: BaseException) -> int:
    """Return the line of the file that failed: what does not parse, else the innermost that ran; or 1."""
    if isinstance(error, SyntaxError) and error.filename == place:
        return error.lineno or 1
    lines = [
        line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == place
    ]
    return lines[-1] if lines else 1


def kernels_of(module: ModuleType, path: str, name: str = "") -> list[KernelFunction]:
    """Return the kernels that a module defines, in the order of the file.

    Args:
        module: What was loaded.
        path: How the file is named in refusals.
        name: The one that is asked for: then another one that is generic need not list its instances.

    Raises:
        CompileError: Where it has none, or two of one name.
    """
    found = {
        id(value): value
        for held in vars(module).values()
        if isinstance(held, KernelFunction) and held.__module__ == module.__name__
        for value in _instances(held, path, name)
    }
    ordered = sorted(found.values(), key=_line)
    if not ordered:
        raise CompileError(
            Diagnostic(
                code="ATL0740",
                message=f"`{path}` defines no kernel",
                span=Span(file=path),
                notes=("looked for: functions marked with `@kernel` at module level",),
                hint="mark one, or take the file out of the sources",
            )
        )
    seen: dict[str, KernelFunction] = {}
    for kernel in ordered:
        known = seen.setdefault(kernel.__name__, kernel)
        if known is not kernel:
            raise CompileError(twice(kernel.__name__, (path, _line(known)), (path, _line(kernel))))
    return ordered


def _instances(kernel: KernelFunction, path: str, name: str) -> list[KernelFunction]:
    """Return what a kernel exports: itself, or of a generic one the instances that its file lists.

    Raises:
        CompileError: Where a generic kernel lists none.
    """
    if not isinstance(kernel, GenericKernel):
        return [kernel]
    if kernel.instances:
        return list(kernel.instances.values())
    if name and name != kernel.__name__:
        return []
    raise CompileError(
        Diagnostic(
            code="ATL0745",
            message=f"the generic kernel `{kernel.__name__}` lists no instance",
            span=Span(file=path, line=_line(kernel)),
            notes=(f"it leaves open: {', '.join(kernel.open_names)}",),
            hint=f"write `{kernel.__name__}.instance(…)` at module level, once for each",
        )
    )


def _line(kernel: KernelFunction) -> int:
    return kernel.function.__code__.co_firstlineno


def twice(name: str, first: tuple[str, int], second: tuple[str, int]) -> Diagnostic:
    """Return the refusal of two kernels that would export one name, with both places."""
    return Diagnostic(
        code="ATL0741",
        message=f"two kernels would export `{name}`",
        span=Span(file=second[0], line=second[1]),
        notes=(f"the first: {first[0]}:{first[1]}", f"the second: {second[0]}:{second[1]}"),
        hint="rename one of them",
    )


def select(text: str) -> list[KernelFunction]:
    """Return the kernels that ``FILE`` or ``FILE:NAME`` names.

    Raises:
        UnreadableError: Where there is no such file.
        UsageError: Where it has no kernel of that name.
        CompileError: Where it cannot be imported or has no kernel.
    """
    path, colon, name = text.rpartition(":")
    if not colon or Path(text).is_file():
        path, name = text, ""
    place = Path(path)
    found = kernels_of(load(place.name, str(place.parent.resolve())), path, name)
    if not name:
        return found
    chosen = [kernel for kernel in found if kernel.__name__ == name]
    if not chosen:
        raise UsageError(
            Diagnostic(
                code="ATL0763",
                message=f"`{path}` has no kernel `{name}`",
                notes=(f"its kernels: {', '.join(kernel.__name__ for kernel in found)}",),
            )
        )
    return chosen
