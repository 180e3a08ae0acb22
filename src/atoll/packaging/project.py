"""What does the package say of itself? `[project]` of ``pyproject.toml`` where there is one, or the manifest.

`[project]` is read and written by `pyproject-metadata`, so that what a wheel says is what every other
build backend would say. The manifest may state name and version beside it; the two have to agree.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atoll._util.values import dataclass
from atoll.diagnostics import Diagnostic, Span
from atoll.errors import UsageError
from atoll.packaging.metadata import Metadata

if TYPE_CHECKING:
    from pyproject_metadata import StandardMetadata

# What the specification of entry points lets stand in a line of its file; a script is a file of that name.
_SCRIPT, _NAME = re.compile(r"[\w.-]*\w[\w.-]*", re.ASCII), re.compile(r"[^\s=\[\]](?:[^\r\n=]*[^\s=])?")
_GROUP = re.compile(r"\w+(?:\.\w+)*", re.ASCII)
_VALUE = re.compile(r"[\w.]+ *(?:: *[\w.]+)? *(?:\[[\w., -]*\])?")
_SCRIPTS = ("console_scripts", "gui_scripts")
LICENSES = ("LICENSE*", "LICENCE*", "COPYING*", "NOTICE*")
FILE = "pyproject.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """What the manifest states of the package; an empty text is not stated.

    Attributes:
        name / version / summary / license / python: As in the manifest.
        has_version: Whether the manifest states the version, and not only has one.
    """

    name: str
    version: str
    has_version: bool = True
    summary: str = ""
    license: str = ""
    python: str = ">=3.11"


def project_metadata(root: Path, stated: Stated, *, more: tuple[str, ...] = ()) -> Metadata:
    """Return the metadata of the project in a folder.

    Args:
        root: The project root.
        stated: What the manifest says.
        more: Requirements beside those of the project (PEP 508).

    Raises:
        UsageError: Where `[project]` breaks the standards, or says otherwise than the manifest.
    """
    table = _table(root)
    if table is None:
        return Metadata(
            name=stated.name,
            version=stated.version,
            summary=stated.summary,
            license=stated.license,
            license_files=tuple((path.name, path) for path in license_files(root)),
            python=stated.python,
            requires=more,
        )
    return _from_project(root, table, stated, more)


def license_files(root: Path) -> list[Path]:
    """Return the licence texts of a project that names none."""
    found = {path for pattern in LICENSES for path in root.glob(pattern) if path.is_file()}
    return sorted(found)


def _table(root: Path) -> Mapping[str, Any] | None:
    try:
        data = tomllib.loads((root / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(
            Diagnostic(
                code="ATL0002",
                message=f"the file `{FILE}` could not be read",
                span=Span(file=FILE),
                notes=(f"reason: {error}",),
            )
        ) from None
    return data if isinstance(data.get("project"), dict) else None


def _from_project(root: Path, data: Mapping[str, Any], stated: Stated, more: tuple[str, ...]) -> Metadata:
    from packaging.requirements import Requirement
    from packaging.version import Version

    found = _standard(root, _with_licenses(root, data))
    _check_dynamic(found, stated)
    if found.version is None:
        found.version = Version(stated.version)
        found.dynamic = []
    _check_equal(found, data["project"], stated)
    found.dependencies = [*found.dependencies, *(Requirement(text) for text in more)]
    text = bytes(found.as_rfc822())
    _check_standard(text)
    return Metadata(
        name=found.name,
        version=str(found.version),
        summary=found.description or "",
        license_files=tuple((Path(path).as_posix(), root / path) for path in found.license_files or ()),
        whole=text,
        entry_points=_entry_points(found),
    )


def _standard(root: Path, data: Mapping[str, Any]) -> StandardMetadata:
    from pyproject_metadata import ConfigurationError, StandardMetadata

    try:
        return StandardMetadata.from_pyproject(data, root, all_errors=True)
    except (ConfigurationError, ExceptionGroup) as error:
        raise UsageError(_broken(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = f"the readme or a licence text could not be read: {error}"
        raise UsageError(_broken(ValueError(reason))) from None


def _check_standard(text: bytes) -> None:
    """Hold METADATA against the rules that its writer leaves to readers."""
    from packaging.metadata import Metadata as Standard

    try:
        Standard.from_email(text)
    except ExceptionGroup as error:
        raise UsageError(_broken(error)) from None


def _broken(error: Exception) -> Diagnostic:
    reasons = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
    return Diagnostic(
        code="ATL0481",
        message=f"`[project]` of `{FILE}` breaks the standards",
        span=Span(file=FILE),
        notes=tuple(str(reason) for reason in reasons),
        hint="the standards are PEP 621 and PEP 639",
    )


def _with_licenses(root: Path, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the data with the licence files that are taken where none is named (PEP 639)."""
    project = dict(data["project"])
    old = isinstance(project.get("license"), dict)
    if "license-files" not in project and not old:
        project["license-files"] = [path.name for path in license_files(root)]
    return {**data, "project": project}


def _check_dynamic(found: StandardMetadata, stated: Stated) -> None:
    """Refuse what `[project]` leaves to the backend and nothing states: a wheel would leave it out."""
    known = ("version",) if stated.has_version else ()
    missing = [item for item in found.dynamic if item not in known]
    if missing:
        raise UsageError(
            Diagnostic(
                code="ATL0485",
                message=f"`dynamic` of `{FILE}` names what nothing states",
                span=Span(file=FILE),
                notes=(
                    f"dynamic: {', '.join(missing)}",
                    "taken from the manifest: version, where it states one",
                ),
                hint="write it into `[project]`"
                + (", or `version` into `[tool.atoll.package]`" if "version" in missing else ""),
            )
        )


def _check_equal(found: StandardMetadata, project: Mapping[str, Any], stated: Stated) -> None:
    faults = list(_differences(found, project, stated))
    if faults:
        raise UsageError(
            Diagnostic(
                code="ATL0482",
                message=f"`[project]` and the manifest say different things of `{found.name}`",
                span=Span(file=FILE),
                notes=tuple(faults),
                hint=f"state it once: the manifest in `{FILE}` takes it from `[project]`",
            )
        )


def _differences(found: StandardMetadata, project: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    from packaging.utils import canonicalize_name
    from packaging.version import Version

    if canonicalize_name(found.name) != canonicalize_name(stated.name):
        yield f"name: {found.name} in `[project]`, {stated.name} in the manifest"
    if "version" in project and found.version != Version(stated.version):
        yield f"version: {found.version} in `[project]`, {stated.version} in the manifest"


def _entry_points(found: StandardMetadata) -> str:
    """Return ``entry_points.txt``, sorted; empty where there is none."""
    groups = {"console_scripts": found.scripts, "gui_scripts": found.gui_scripts, **found.entrypoints}
    faults = [ValueError(text) for text in _odd_entry_points(groups)]
    if faults:
        raise UsageError(_broken(ExceptionGroup("entry points", faults)))
    blocks = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in sorted(rows.items()))
        for group, rows in sorted(groups.items())
        if rows
    ]
    return "\n".join(blocks)


def _odd_entry_points(groups: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Say which names would be no line of ``entry_points.txt``, or a script outside its folder."""
    for group, rows in groups.items():
        if not _GROUP.fullmatch(group):
            yield f"{group!r} cannot be a group of entry points"
        names = _SCRIPT if group in _SCRIPTS else _NAME
        for name, value in rows.items():
            if not names.fullmatch(name):
                yield f"{name!r} cannot be an entry point of {group!r}"
            if not _VALUE.fullmatch(value):
                yield f"{value!r} is no object that {name!r} of {group!r} can name"
