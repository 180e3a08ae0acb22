"""Do the programs of a payload start? Each is started once before the payload counts as there.

Starting it is also the check of its libraries: the loader's own answer names the one that is missing.
"""

from __future__ import annotations

import re
from pathlib import Path

from atoll._util.child import Ended, run
from atoll.diagnostics import Diagnostic
from atoll.errors import StoreError
from atoll.store.payload import Payload

TIMEOUT = 60.0
# A program must not start only thanks to what the caller's shell happens to have.
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"}
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
    if faults:
        raise StoreError(*faults)
    return said


def _reason(ended: Ended) -> str:
    missing = _MISSING.search(ended.output)
    if missing:
        return f"the library {missing.group(1)} is missing"
    if ended.code is None:
        return f"it did not answer within {TIMEOUT:g} s"
    return f"signal {-ended.code}" if ended.code < 0 else f"exit code {ended.code}"


def _fault(payload: Payload, program: str, reason: str, output: str) -> Diagnostic:
    printed = tuple(f"printed: {line}" for line in output.strip().splitlines()[-4:])
    return Diagnostic(
        code="ATL0585",
        message=f"`{program}` of the payload `{payload.name}` does not start",
        notes=(
            f"reason: {reason}",
            f"started with: {' '.join(payload.probe_args) or '(no argument)'}",
            *printed,
        ),
        hint="install what it needs, or name a toolchain that runs here",
    )
