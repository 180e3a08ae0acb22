"""Say which kernels a file has: ``python -I -m atoll_plugins.python.describe FILE ROOT`` prints JSON.

The answer has ``kernels`` and ``files`` (what was imported of the project), or ``diagnostics``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import AtollError, CompileError
from atoll.kernels.files import kernels_of, load
from atoll.kernels.structs import StructType, StructView
from atoll_plugins.python.importing import project_files, quiet_stdout
from atoll_plugins.python.values import C_WORDS, CTYPES, Described, diagnostic_out


def describe(path: str, root: str) -> list[Described]:
    """Return the kernels of a file.

    Raises:
        AtollError: Where the file or a kernel in it is refused.
    """
    found = []
    for kernel in kernels_of(load(path, root), path):
        one = Described.of(kernel.compiled().kernel, path, kernel.__doc__)
        _refuse_unshippable(one)
        structs = [
            item.name for item in kernel.compiled().params if isinstance(item.type, StructType | StructView)
        ]
        if structs:
            raise CompileError(
                _unshippable(one, f"takes structs: {', '.join(structs)}", "launch it from Python")
            )
        found.append(one)
    return found


def _refuse_unshippable(kernel: Described) -> None:
    narrow = [param.name for param in kernel.params if param.type not in CTYPES]
    message, hint = "", ""
    if kernel.waits and not any(kernel.group):
        message, hint = "waits at a barrier and has no launch contract", "write `@kernel(block=256)`"
    elif narrow:
        message = f"has parameters of a type without a C spelling: {', '.join(narrow)}"
        hint = "take them as `u16`, or launch the kernel from Python"
    elif kernel.name in C_WORDS or not kernel.name.isascii():
        message, hint = "would be a C function of that name", "rename it"
    if message:
        raise CompileError(_unshippable(kernel, message, hint))


def _unshippable(kernel: Described, message: str, hint: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0744",
        message=f"`{kernel.name}` cannot be shipped: it {message}",
        span=Span(file=kernel.file, line=kernel.line),
        hint=hint,
    )


def main(argv: list[str]) -> int:
    """Print the answer."""
    path, root = argv
    out = quiet_stdout()
    answer: dict[str, Any]
    try:
        answer = {"kernels": [item.write() for item in describe(path, root)]}
    except AtollError as error:
        answer = {"diagnostics": [diagnostic_out(item) for item in error.diagnostics]}
    answer["files"] = project_files(root)
    with os.fdopen(out, "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
