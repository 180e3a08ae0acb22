"""How do pip, build and uv make wheels of a project? The hooks of PEP 517 and PEP 660.

A project names this module in ``pyproject.toml``::

    [build-system]
    requires = ["atoll"]
    build-backend = "atoll.pep517"

Settings of one call come by ``--config-settings NAME=VALUE`` (:mod:`atoll.pep517.settings`). A refusal is
printed as on the command line and ends the hook; pip shows it below its own words.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from atoll.packaging import Metadata
    from atoll.pep517.settings import Settings
    from atoll.session import Session

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Given = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Given = None) -> list[str]:
    """Return nothing: what a build needs of an index stands in `requires`, and compilers are no packages."""
    return []


def get_requires_for_build_editable(config_settings: Given = None) -> list[str]:
    """Return nothing, as for a wheel."""
    return []


def get_requires_for_build_sdist(config_settings: Given = None) -> list[str]:
    """Return nothing: a source distribution takes no tool."""
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Given = None) -> str:
    """Write the ``dist-info`` of the wheel without building it, and return its name."""
    return _answered(lambda: _prepared(Path(metadata_directory), config_settings))


def prepare_metadata_for_build_editable(metadata_directory: str, config_settings: Given = None) -> str:
    """Write the ``dist-info`` of the editable wheel, and return its name."""
    return _answered(lambda: _prepared(Path(metadata_directory), config_settings, editable=True))


def build_wheel(
    wheel_directory: str, config_settings: Given = None, metadata_directory: str | None = None
) -> str:
    """Build the project, measure what was built, write the wheel and return its name."""
    return _answered(lambda: _wheel(Path(wheel_directory), config_settings))


def build_editable(
    wheel_directory: str, config_settings: Given = None, metadata_directory: str | None = None
) -> str:
    """Build the project and write a wheel that leads to it; the first import of a process builds again."""
    return _answered(lambda: _editable(Path(wheel_directory), config_settings))


def build_sdist(sdist_directory: str, config_settings: Given = None) -> str:
    """Write the source distribution and return its name."""
    return _answered(lambda: _sdist(Path(sdist_directory), config_settings))


def _answered(hook: Callable[[], str]) -> str:
    """Run a hook; print a refusal and end the process with its code."""
    from atoll.diagnostics import render
    from atoll.errors import AtollError

    try:
        return hook()
    except AtollError as error:
        for item in error.diagnostics:
            sys.stderr.write(f"{render(item)}\n")
        sys.stderr.flush()
        raise SystemExit(error.exit_code) from None


def _opened(config_settings: Given) -> tuple[Session, Settings]:
    """Return the project of the working folder, as frontends state it."""
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError
    from atoll.pep517.settings import opened, read_settings

    settings = read_settings(config_settings or {})
    here = Path.cwd()
    session = opened(here, settings)
    if session.root != here:
        raise UsageError(
            Diagnostic(
                code="ATL0208",
                message="no manifest was found",
                notes=(f"looked for: atoll.toml, or [tool.atoll] in pyproject.toml, in {here}",),
                hint="write the manifest in the folder of the project's `pyproject.toml`",
            )
        )
    return session, settings


def _prepared(folder: Path, config_settings: Given, *, editable: bool = False) -> str:
    from atoll.packaging.wheel import write_info

    session, _ = _opened(config_settings)
    return write_info(_metadata(session, editable=editable), folder)


def _metadata(session: Session, *, editable: bool) -> Metadata:
    from atoll.pep517.editable import requires

    return session.metadata(more=(*session.requirements(), *(requires() if editable else ())))


def _wheel(out: Path, config_settings: Given) -> str:
    from atoll.pep517.settings import built

    session, settings = _opened(config_settings)
    session.metadata()  # what it refuses is said before anything is compiled
    return session.pack(built(session, settings), out).path.name


def _editable(out: Path, config_settings: Given) -> str:
    from atoll.pep517.editable import write_editable
    from atoll.pep517.settings import built

    session, settings = _opened(config_settings)
    session.metadata()
    made = built(session, settings)
    return write_editable(session, made, settings, _metadata(session, editable=True), out).name


def _sdist(out: Path, config_settings: Given) -> str:
    from atoll.pep517.sdist import write_sdist

    session, _ = _opened(config_settings)
    return write_sdist(session, out).name
