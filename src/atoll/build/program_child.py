"""Run one build program: ``python -m atoll.build.program_child PROGRAM REQUEST ANSWER``.

Request and answer are files of JSON; what the program prints goes where it prints it. The standard library
alone is imported, beside the interface itself.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from atoll.build import program


def answer(path: str, request: dict[str, Any]) -> dict[str, Any]:
    """Run a program and return what it declared, or how it ended."""
    made = program.hand_over(request)
    before = set(sys.modules)
    sys.path.insert(0, str(made.root / os.path.dirname(path)))  # noqa: PTH120
    sys.argv = [path]
    try:
        _run(made.root / path)
    except program.Refused as refused:
        return {"refused": refused.finding, "said": made.said}
    except SystemExit as end:
        if end.code not in (None, 0):
            return {"failed": f"it ended with {end.code!r}", "said": made.said}
    except BaseException as error:
        return {"failed": _shown(error, path), "said": made.said}
    for name in sorted(set(sys.modules) - before):
        file = getattr(sys.modules.get(name), "__file__", None)
        if isinstance(file, str) and Path(file).is_relative_to(made.root):
            made.input(Path(file).relative_to(made.root).as_posix())
    return {"said": made.said}


def _run(path: Path) -> None:
    code = compile(path.read_bytes(), str(path), "exec")
    exec(code, {"__name__": "__main__", "__file__": str(path), "__builtins__": __builtins__})  # noqa: S102


def _shown(error: BaseException, path: str) -> str:
    """Return an error with the line of the program that it came from."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(path)
    ]
    if isinstance(error, SyntaxError):
        lines = [error.lineno]
    place = f" (line {lines[-1]})" if lines and lines[-1] else ""
    return f"{type(error).__name__}: {error}{place}"


def main() -> int:
    """Read the request, run the program, write the answer."""
    sys.dont_write_bytecode = True
    path, asked, answered = sys.argv[1:]
    found = answer(path, json.loads(Path(asked).read_text(encoding="utf-8")))
    Path(answered).write_text(json.dumps(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
