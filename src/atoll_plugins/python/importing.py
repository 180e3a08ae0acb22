"""Import a kernel file by its path, in this process, which exists for that alone.

What the file prints goes to stderr: stdout belongs to the caller.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import AtollError, CompileError
from atoll.ir.names import is_reserved
from atoll.kernels.definition import KernelFunction

#: The most lines of a traceback that a refusal shows.
TAIL = 12


def quiet_stdout() -> int:
    """Send everything that is printed to stderr; return a descriptor of the true stdout."""
    sys.stdout.flush()
    true = os.dup(1)
    os.dup2(2, 1)
    return true


def load(path: str, root: str) -> ModuleType:
    """Import a file of a project, the project's root first on the path.

    Raises:
        CompileError: With the end of the traceback.
    """
    sys.path.insert(0, root)
    plain = PurePosixPath(path).with_suffix("")
    name = ".".join(part for part in plain.parts if part not in ("/", "."))
    spec = importlib.util.spec_from_file_location(name, Path(root) / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except AtollError:
        raise
    except (Exception, SystemExit) as error:
        lines = "".join(traceback.format_exception(error)).rstrip().split("\n")[-TAIL:]
        raise CompileError(
            Diagnostic(
                code="ATL0742",
                message=f"`{path}` could not be imported",
                span=Span(file=path),
                notes=tuple(lines),
                hint="a kernel file imports `atoll`, the standard library and modules of the project",
            )
        ) from error
    return module


def kernels_of(module: ModuleType, path: str) -> list[KernelFunction]:
    """Return the kernels that a module defines, in the order of the file.

    Raises:
        CompileError: Where it has none, or a name that is reserved.
    """
    found: dict[int, KernelFunction] = {}
    for value in vars(module).values():
        if isinstance(value, KernelFunction) and value.__module__ == module.__name__:
            found[id(value)] = value
    ordered = sorted(found.values(), key=lambda item: item.function.__code__.co_firstlineno)
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
    _refuse_twice(ordered, path)
    return ordered


def _refuse_twice(kernels: list[KernelFunction], path: str) -> None:
    seen: dict[str, int] = {}
    for kernel in kernels:
        line, name = kernel.function.__code__.co_firstlineno, kernel.__name__
        if name in seen or is_reserved(name):
            raise CompileError(
                Diagnostic(
                    code="ATL0741",
                    message=f"two kernels would export `{name}`",
                    span=Span(file=path, line=line),
                    notes=(f"the first: {path}:{seen.get(name, line)}", f"the second: {path}:{line}"),
                    hint="rename one of them",
                )
            )
        seen[name] = line


def project_files(root: str) -> list[str]:
    """Return every file below the root that this process imported, relative to it."""
    base = Path(root).resolve()
    found: set[str] = set()
    for module in list(sys.modules.values()):
        file: Any = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).resolve().is_relative_to(base):
            inside = Path(file).resolve().relative_to(base)
            if not any(part in (".venv", "site-packages") for part in inside.parts):
                found.add(inside.as_posix())
    return sorted(found)
