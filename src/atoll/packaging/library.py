"""How is a library shipped? Its installed prefix as a folder, with an index of what was measured in it.

The folder holds what CMake, pkg-config and `[dependencies]` of another project read. Its ``index.json`` lists
one artifact a library, with the set measured in it, and the folder of headers.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll._util.values import dataclass
from atoll.accel import AccelSet, BackendRules
from atoll.artifact import Abi, Descriptor, Index
from atoll.diagnostics import Diagnostic
from atoll.errors import ArtifactMismatchError, UsageError
from atoll.packaging.measuring import report
from atoll.packaging.metadata import Metadata
from atoll.packaging.pack import faults, named, together

INDEX = "index.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedLibrary:
    """A written folder.

    Attributes:
        path: The folder.
        index: What its ``index.json`` says.
    """

    path: Path
    index: Index


def pack_library(
    prefix: Path,
    libraries: Iterable[str],
    metadata: Metadata,
    out: Path,
    *,
    abi: str = "",
    declared: AccelSet | None = None,
    rules: Mapping[str, BackendRules] | None = None,
) -> PackedLibrary:
    """Measure installed libraries, check them, and write the folder ``NAME-VERSION`` below `out`.

    Args:
        prefix: The installed prefix.
        libraries: Its libraries, relative to it.
        metadata: The project's name and version.
        out: Where the folder is written; one that an earlier call wrote is replaced.
        abi: The ABI tag of the libraries.
        declared: The set the build declares; None where it declares nothing.
        rules: What the lanes know of their backends.

    Raises:
        ArtifactMismatchError: Where device code is unknown or differs from what is declared.
        UsageError: Where the folder is there and holds something else.
    """
    measured = {name: named(report(prefix / name), prefix) for name in sorted(libraries)}
    found = faults(together(list(measured.values()), prefix.name), declared, rules or {})
    if found:
        raise ArtifactMismatchError(*found)
    provenance = f"{metadata.name} {metadata.version}"
    artifacts = [
        Descriptor(
            role="library",
            path=name,
            provenance=provenance,
            abi=Abi.parse(abi),
            accel=item.measured.accel,
            requires=item.measured.requires,
            declared=item.measured.declared,
        )
        for name, item in measured.items()
    ]
    if (prefix / "include").is_dir():
        artifacts.append(Descriptor(role="include", path="include", provenance=provenance))
    index = Index(package=metadata.name, version=metadata.version, artifacts=tuple(artifacts))
    place = out / f"{metadata.name}-{metadata.version}"
    _replace(prefix, place, json.dumps(index.as_json(), indent=2, sort_keys=True) + "\n")
    return PackedLibrary(path=place, index=index)


def _replace(prefix: Path, place: Path, index: str) -> None:
    """Write the folder beside its place and put it there whole."""
    if place.exists() and not (place / INDEX).is_file():
        raise UsageError(
            Diagnostic(
                code="ATL0469",
                message=f"`{place}` is there and is no packed library",
                notes=(f"to be written: {INDEX} and the installed prefix", f"it has no {INDEX}"),
                hint="remove it, or name another folder with `--out`",
            )
        )
    new = place.with_name(f".{place.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(prefix, new)
    (new / INDEX).write_text(index, encoding="utf-8")
    if place.exists():
        shutil.rmtree(place)
    new.rename(place)
