"""Do the programs of a payload start, and do its libraries load? Once, before the payload counts as there.

Starting a program is also the check of its libraries: the loader's own answer names the one that is
missing. A library that no program of the payload uses is loaded by a process of its own.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from atoll._util.child import Ended, run
from atoll.diagnostics import Diagnostic
from atoll.errors import StoreError
from atoll.store.payload import Payload

TIMEOUT = 60.0
# A program must not start only thanks to what the caller's shell happens to have.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
_LOAD = "import ctypes, sys\ntry: ctypes.CDLL(sys.argv[1])\nexcept OSError as error: sys.exit(str(error))"
_LOADS = ("load", "loaded by: a process of its own")
_LACKS = re.compile(r"([^\s:]+): cannot open shared object file")
_MISSING = re.compile(r"error while loading shared libraries: ([^\s:]+):")


def start_all(payload: Payload, root: Path) -> dict[str, str]:
    """Start every program of a payload; return the last line that each one printed.

    Raises:
        StoreError: With every program that is not there or does not start.
    """
    said: dict[str, str] = {}
    faults: list[Diagnostic] = []
    for program in payload.programs:
        path = root / program
        if not path.is_file():
            faults.append(_fault(payload, program, "it is not in the payload", ""))
            continue
        try:
            ended = run([str(path), *payload.probe_args], env=ENVIRONMENT, timeout=TIMEOUT, cwd=root)
        except OSError as error:
            faults.append(_fault(payload, program, error.strerror or str(error), ""))
            continue
        if ended.code == 0:
            said[program] = (ended.output.strip().splitlines() or [""])[-1][:200]
        else:
            faults.append(_fault(payload, program, _reason(ended), ended.output))
    faults += [fault for library in payload.libraries for fault in _loaded(payload, library, root)]
    if faults:
        raise StoreError(*faults)
    return said


def _loaded(payload: Payload, library: str, root: Path) -> list[Diagnostic]:
    """Return what keeps a library from being loaded."""
    path = root / library
    if not path.is_file():
        return [_fault(payload, library, "it is not in the payload", "", _LOADS)]
    env = {**ENVIRONMENT, "LD_LIBRARY_PATH": os.pathsep.join(str(root / folder) for folder in payload.search)}
    try:
        ended = run([sys.executable, "-I", "-S", "-c", _LOAD, str(path)], env=env, timeout=TIMEOUT, cwd=root)
    except OSError as error:
        return [_fault(payload, library, error.strerror or str(error), "", _LOADS)]
    if ended.code == 0:
        return []
    missing = _LACKS.search(ended.output)
    reason = f"the library {missing[1]} is missing" if missing else _reason(ended)
    return [_fault(payload, library, reason, ended.output, _LOADS)]


def _reason(ended: Ended) -> str:
    missing = _MISSING.search(ended.output)
    if missing:
        return f"the library {missing.group(1)} is missing"
    if ended.code is None:
        return f"it did not answer within {TIMEOUT:g} s"
    return f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"


def _fault(
    payload: Payload, program: str, reason: str, output: str, how: tuple[str, str] | None = None
) -> Diagnostic:
    printed = tuple(f"printed: {line}" for line in output.strip().splitlines()[-4:])
    started = f"started with: {' '.join(payload.probe_args) or '(no argument)'}"
    word, looked = how or ("start", started)
    return Diagnostic(
        code="ATL0585",
        message=f"`{program}` of the payload `{payload.name}` does not {word}",
        notes=(f"reason: {reason}", looked, *printed),
        hint="install what it needs, or name a toolchain that runs here",
    )
