"""How are the declarations of a C header known without reading them anew? A parsed header is kept as data.

Reading C takes a tenth of a second for a large interface, and every type that is named later costs as much
as a small one; what cffi makes of a header for modules without a compiler (its *ABI mode, out of line*) is
some bytes that its C part reads at once. They are kept with other things that can be made again, under a
name that says of what they were made; a file that is not whole, or cannot be written, costs time alone.
"""

from __future__ import annotations

import ast
import hashlib
import io
import marshal
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.once import once
from atoll.plugin.tools import cache_folder, write_atomic

if TYPE_CHECKING:
    from cffi import FFI

_NAME = "atoll_declarations"
_DIGEST = 32


@once
def declarations(path: Path) -> FFI:
    """Return the types, numbers and functions that a C file declares, once a process."""
    from _cffi_backend import FFI, __version__  # type: ignore[import-untyped]

    text = path.read_text(encoding="utf-8")
    of = f"{text}\n{__version__} {sys.version}"
    name = hashlib.sha256(of.encode()).hexdigest()[:32]
    file = cache_folder(os.environ, "declarations") / f"{name}.bin"
    known = _read(file)
    if known is None:
        parsed, known = _parsed(text)
        if known is None:
            return parsed
        _write(file, known)
    found: FFI = FFI(_NAME, **known)
    return found


def _parsed(text: str) -> tuple[FFI, dict[str, Any] | None]:
    """Return C text parsed, and what cffi's C part is told of it; None where this cffi says it otherwise."""
    from cffi import FFI

    parsed = FFI()
    parsed.cdef(text)
    try:
        from cffi.recompiler import make_py_source

        parsed.set_source(_NAME, None)
        source = io.StringIO()
        make_py_source(parsed, _NAME, source)
        calls = [item for item in ast.walk(ast.parse(source.getvalue())) if isinstance(item, ast.Call)]
        (call,) = calls
        return parsed, {str(item.arg): ast.literal_eval(item.value) for item in call.keywords}
    except (ImportError, TypeError, ValueError):
        return parsed, None


def _read(file: Path) -> dict[str, Any] | None:
    try:
        data = file.read_bytes()
    except OSError:
        return None
    if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
        return None
    found: dict[str, Any] = marshal.loads(data[_DIGEST:])  # noqa: S302 - what this wrote, by its hash
    return found


def _write(file: Path, known: dict[str, Any]) -> None:
    data = marshal.dumps(known)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, hashlib.sha256(data).digest() + data)
    except OSError:
        return
