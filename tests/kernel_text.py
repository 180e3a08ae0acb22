"""Kernels from text: what a test writes is what the front end sees, with line and caret."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll.kernels.definition import KernelFunction

_numbers = itertools.count()
HEAD = (
    "import math\nimport atoll\n"
    "from atoll import bool_, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64\n"
    "from atoll import fixed, kernel, device, ptr, struct, vec, view\n"
)


def namespace(text: str, future: str = "", **names: Any) -> dict[str, Any]:
    """Run a module's text, after the usual imports, so that its functions have their source."""
    file = f"<kernel {next(_numbers)}>"
    whole = future + HEAD + text
    linecache.cache[file] = (len(whole), None, whole.splitlines(keepends=True), file)
    found: dict[str, Any] = {"__name__": "kernel_text", **names}
    exec(compile(whole, file, "exec", dont_inherit=True), found)
    return found


def kernel_from(text: str, name: str = "k", **names: Any) -> KernelFunction:
    """Return the kernel `name` of a module's text."""
    found = namespace(text, **names)[name]
    assert isinstance(found, KernelFunction)
    return found


def body(lines: str, params: str = "x: view[f32], n: i32", **names: Any) -> KernelFunction:
    """Return a kernel with these lines as its body."""
    inside = "".join(f"    {line}\n" for line in lines.split("\n"))
    return kernel_from(f"@kernel\ndef k({params}):\n{inside}", **names)


def refusal(found: KernelFunction) -> Diagnostic:
    """Return the first reason for which a kernel is refused."""
    with pytest.raises(AtollError) as caught:
        found.compiled()
    return caught.value.diagnostics[0]


def refused(lines: str, code: str, at: str, params: str = "x: view[f32], n: i32", **names: Any) -> Diagnostic:
    """Compile a body that is refused; check the code and that the caret stands under `at`."""
    found = refusal(body(lines, params, **names))
    assert found.code == code, found
    assert found.span is not None
    assert found.span.end_column is not None
    shown = found.span.text[found.span.column - 1 : found.span.end_column - 1]
    assert shown == at, f"the caret stands under {shown!r}"
    assert found.message[0] in "`abcdefghijklmnopqrstuvwxyz0123456789"
    assert not found.message.endswith(".")
    return found
