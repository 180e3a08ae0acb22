"""What does a kernel file hold? Asked of a child process with a time limit, and remembered.

The answer is kept below ``python/`` in the cache folder, with the SHA-256 of every file it depends on; it
is used as long as all of them are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.tools import KEPT, cache_folder, python_program, write_atomic
from atoll_plugins.python.values import Described, diagnostic_in

#: Seconds that importing a file may take where the manifest does not say.
TIMEOUT = 60.0


def timeout_of(request: LaneRequest) -> float:
    """Return the time limit of an import in seconds: ``[lane.python] timeout``.

    Raises:
        LaneError: Where it is no positive number.
    """
    value = request.options.get("timeout", TIMEOUT)
    if isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
        return float(value)
    raise LaneError(
        Diagnostic(
            code="ATL0512",
            message="the option `timeout` of `[lane.python]` is no positive number of seconds",
            notes=(f"the manifest has: {value!r}",),
        )
    )


def described(
    request: LaneRequest, path: str, limit: float, compiler: str
) -> tuple[tuple[Described, ...], tuple[str, ...]]:
    """Return the kernels of a file, and the project files they depend on.

    Raises:
        LaneError: Where the file is refused.
    """
    known = _memory(request, path)
    answer = _remembered(known, request.root, compiler)
    if answer is None:
        answer = _ask(request, path, limit)
        if "kernels" in answer:
            _remember(known, request.root, compiler, answer)
    if "kernels" not in answer:
        raise LaneError(*(diagnostic_in(item) for item in answer["diagnostics"]))
    kernels = tuple(Described.read(item) for item in answer["kernels"])
    return kernels, tuple(dict.fromkeys((path, *answer["files"])))


# --- the child ---


def _ask(request: LaneRequest, path: str, limit: float) -> dict[str, Any]:
    argv = (python_program(), "-I", "-B", "-m", "atoll_plugins.python.describe", path, str(request.root))
    env = {name: request.environment[name] for name in KEPT if name in request.environment}
    child = subprocess.Popen(
        argv,
        cwd=request.root,
        env={**env, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = child.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _end(child)
        raise LaneError(_too_long(path, limit)) from None
    finally:
        _end(child)
    try:
        answer = json.loads(out)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise LaneError(_died(path, child.returncode, err))
    return answer


def _end(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it started; its group is its own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()


def _too_long(path: str, limit: float) -> Diagnostic:
    return Diagnostic(
        code="ATL0743",
        message=f"importing `{path}` took longer than {limit:g} seconds and was stopped",
        span=Span(file=path),
        notes=("a kernel file is imported to learn which kernels it has",),
        hint="do no work at module level, or raise `[lane.python] timeout`",
    )


def _died(path: str, status: int, err: bytes) -> Diagnostic:
    tail = err.decode("utf-8", "replace").rstrip().split("\n")[-12:]
    return Diagnostic(
        code="ATL0742",
        message=f"`{path}` could not be imported: the process ended with status {status}",
        span=Span(file=path),
        notes=tuple(line for line in tail if line),
        hint="a kernel file does not end the process that imports it",
    )


# --- the memory ---


def _memory(request: LaneRequest, path: str) -> Path:
    """Return where the answer is kept."""
    key = hashlib.sha256(f"{request.root}/{path}".encode()).hexdigest()
    return cache_folder(request.environment, "python") / f"{key}.json"


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _remembered(known: Path, root: Path, compiler: str) -> dict[str, Any] | None:
    try:
        kept = json.loads(known.read_bytes())
        same = kept["compiler"] == compiler and kept["python"] == sys.version
        files = kept["answer"]["files"]
        if same and kept["digests"] == {name: _digest(root / name) for name in files}:
            answer: dict[str, Any] = kept["answer"]
            [Described.read(item) for item in answer["kernels"]]
            return answer
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return None


def _remember(known: Path, root: Path, compiler: str, answer: dict[str, Any]) -> None:
    kept = {
        "compiler": compiler,
        "python": sys.version,
        "digests": {name: _digest(root / name) for name in answer["files"]},
        "answer": answer,
    }
    with suppress(OSError):  # a cache that cannot be written is no reason not to build
        write_atomic(known, json.dumps(kept))
