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
from atoll_plugins.python.contract import checks
from atoll_plugins.python.importing import project_files, quiet_stdout
from atoll_plugins.python.values import (
    C_WORDS,
    CTYPES,
    Described,
    by_kernel_name,
    diagnostic_out,
    parameters,
)


def describe(path: str, root: str) -> list[Described]:
    """Return the kernels of a file.

    Raises:
        AtollError: Where the file or a kernel in it is refused.
    """
    found = []
    for kernel in kernels_of(load(path, root), path):
        one = Described.of(kernel, path)
        _refuse_unshippable(one)
        found.append(one)
    return found


def _refuse_unshippable(kernel: Described) -> None:
    narrow = [param.name for param in kernel.params if not param.fields and param.type not in CTYPES]
    fields = [(param, field) for param in kernel.params for field in param.fields]
    narrow += [f"{param.name}.{field.name}" for param, field in fields if field.type not in CTYPES]
    unnamed = [word for pair in fields for word in (pair[0].type, pair[1].name) if not _is_c_name(word)]
    message, hint = "", ""
    if kernel.waits and not any(kernel.group):
        message, hint = "waits at a barrier and has no launch contract", "write `@kernel(block=256)`"
    elif narrow:
        message = f"has parameters of a type without a C spelling: {', '.join(narrow)}"
        hint = "take them as `u16`, or launch the kernel from Python"
    elif not narrow and not unnamed and _broken_contract(kernel):
        message, hint = _broken_contract(kernel), "state it over numbers and sizes that the kernel has"
    elif unnamed:
        message, hint = f"takes a struct whose names C does not take: {unnamed[0]}", "rename it"
    elif not _is_c_name(kernel.name):
        message, hint = "would be a C function of that name", "rename it"
    if message:
        raise CompileError(_unshippable(kernel, message, hint))


def _broken_contract(kernel: Described) -> str:
    """Return what a condition of the contract asks for in vain, or nothing."""
    try:
        checks(kernel.name, kernel.requires, by_kernel_name(kernel, parameters(kernel)))
    except ValueError as error:
        return f"has a launch contract that means nothing: {error}"
    return ""


def _is_c_name(word: str) -> bool:
    return word not in C_WORDS and word.isascii()


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
