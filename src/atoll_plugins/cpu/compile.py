"""Which C compiler makes kernels run here, and where is what it made kept.

A compiled kernel lies in the cache folder under the SHA-256 of its text, the compiler and the flags,
beside a checksum that is checked before it is loaded. Files appear whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from atoll.plugin.tools import (
    ask,
    cache_folder,
    find_program,
    fingerprint,
    note_miss,
    programs_like,
    write_atomic,
)

#: Contraction stays off so that the processor gives what every other device gives.
FLAGS = ("-std=c11", "-O2", "-fPIC", "-shared", "-ffp-contract=off", "-fno-math-errno", "-w")
#: More of them, where a kernel says its lines: a debugger and a profiler then find them.
DEBUG = ("-g",)
LIBRARIES = ("-lm",)
SECONDS = 120


class CompilationError(Exception):
    """The compiler refused the text, or did not end in time; the text is its own."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C compiler: its path, the first line it says of itself, the SHA-256 of its bytes."""

    path: Path
    version: str
    digest: str


def find_compiler(environment: Mapping[str, str]) -> Compiler | None:
    """Return the first of cc, gcc and clang (then those with a version in their name) that answers."""
    for name in ("cc", "gcc", "clang"):
        path = find_program(name, environment)
        compiler = _read(path, environment.get("PATH", "")) if path else None
        if compiler is not None:
            return compiler
    for path in programs_like(r"(gcc|clang)-\d+", environment):
        compiler = _read(path, environment.get("PATH", ""))
        if compiler is not None:
            return compiler
    return None


@lru_cache(maxsize=16)
def _read(path: Path, search: str) -> Compiler | None:
    said = ask((str(path), "--version"), {"PATH": search}, timeout=10.0)
    if said is None or said.status != 0 or not said.out:
        return None
    try:
        digest = fingerprint([path.resolve()])
    except OSError:
        return None
    return Compiler(path, said.out.split("\n", 1)[0], digest)


def compiled(
    text: bytes,
    compiler: Compiler,
    environment: Mapping[str, str],
    entry: str = "",
    *,
    lines: bool = False,
) -> Path:
    """Return the shared object of a kernel's C text, from the cache or compiled now.

    Args:
        text: The C text.
        compiler: What compiles it.
        environment: Whose cache folder it is.
        entry: The kernel's name, to say of what nothing was kept.
        lines: Whether the text says its lines, and the object is to.

    Raises:
        CompilationError: With the compiler's own words.
    """
    flags = (*FLAGS, *DEBUG) if lines else FLAGS
    parts = (
        text,
        compiler.digest.encode(),
        compiler.version.encode(),
        " ".join((*flags, *LIBRARIES)).encode(),
    )
    key = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    library = cache_folder(environment, "cpu") / f"{key}.so"
    if _is_whole(library):
        return library
    built = _build(text, compiler, environment, flags)
    said = {
        "the code": hashlib.sha256(text).hexdigest()[:12],
        "the compiler": f"{compiler.version} ({compiler.digest[:12]})",
        "the options": " ".join((*flags, *LIBRARIES)),
    }
    try:
        note_miss(library.parent, key, entry or "a kernel", said)
        write_atomic(library, built, mode=0o755)
        write_atomic(_checksum(library), hashlib.sha256(built).hexdigest())
    except OSError:
        return _private(built)
    return library


def _checksum(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _is_whole(library: Path) -> bool:
    with suppress(OSError):
        stated = _checksum(library).read_text(encoding="ascii", errors="replace")
        return hashlib.sha256(library.read_bytes()).hexdigest() == stated.strip()
    return False


def _private(built: bytes) -> Path:
    """Keep a shared object for this process where the cache cannot be written (a read-only home)."""
    handle, name = tempfile.mkstemp(suffix=".so", prefix="atoll-")
    with os.fdopen(handle, "wb") as stream:
        stream.write(built)
    return Path(name)


def _build(text: bytes, compiler: Compiler, environment: Mapping[str, str], flags: tuple[str, ...]) -> bytes:
    folder = Path(tempfile.mkdtemp(prefix="atoll-cpu-"))
    try:
        source, out = folder / "kernel.c", folder / "kernel.so"
        source.write_bytes(text)
        command = (str(compiler.path), *flags, "-o", str(out), str(source), *LIBRARIES)
        kept = {name: environment[name] for name in ("PATH", "HOME", "TMPDIR") if name in environment}
        done = subprocess.run(
            command,
            env={**kept, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
        )
        if done.returncode != 0:
            raise CompilationError(done.stderr.decode(errors="replace").replace(f"{folder}/", "").strip())
        return out.read_bytes()
    except subprocess.TimeoutExpired as error:
        raise CompilationError(f"it did not end in {SECONDS} seconds") from error
    except OSError as error:
        raise CompilationError(f"it could not be run: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
