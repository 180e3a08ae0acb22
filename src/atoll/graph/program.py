"""Where is the program of the package `ninja`? Beside its own files, wherever that package was installed to.

The package answers with the folder of scripts of the running Python. In the environment that pip builds in,
with `pip install --target`, or on a path that another environment's packages were added to, its program lies
elsewhere and the answer is empty: then a `ninja` of the machine would run, of any version, or none.
"""

from __future__ import annotations

from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError


def ninja_program() -> Path:
    """Return the program.

    Raises:
        BuildError: Where the package holds none.
    """
    from ninja import BIN_DIR

    found = Path(BIN_DIR) / "ninja" if BIN_DIR else _beside_its_files()
    if found is None or not found.is_file():
        raise BuildError(
            Diagnostic(
                code="ATL0620",
                message="the executor could not run the graph",
                notes=(
                    "the package `ninja` is there, and its program is not",
                    f"looked for: {found or 'bin/ninja'}",
                ),
                hint="install `ninja` anew into the environment of Atoll",
            )
        )
    return found


def _beside_its_files() -> Path | None:
    """Return the program as the record of what was installed names it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution("ninja").files or ()
    except PackageNotFoundError:
        return None
    named = (file for file in files if file.name == "ninja" and file.parent.name == "bin")
    return next((Path(str(file.locate())).resolve() for file in named), None)
