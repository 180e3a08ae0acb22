"""Which names can a GLSL compiler not take? shaderc writes a file's name into a `#line` and escapes nothing.

A double quote in the name of a source ends that text (measured, glslc 2023.2). Such a source is compiled
from a copy of another name, its own folder being an include folder.
"""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from atoll.graph import Action, Role
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.tools import output_path, python_program

_COPY = str(Path(__file__).with_name("tame_copy.py"))


def tamed(request: LaneRequest, unit: Unit) -> tuple[str, Action | None]:
    """Return the file to compile, and what makes it where it is not the author's own."""
    if '"' not in unit.path:
        return unit.path, None
    digest = hashlib.sha256(unit.path.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    path = PurePosixPath(unit.path.replace('"', "_"))
    out = output_path(
        request.build, "spirv", "copies", unit.target, str(path.with_stem(f"{path.stem}.{digest}"))
    )
    return out, Action(
        name=f"spirv copy {unit.target} {unit.path}",
        argv=(python_program(), "-I", "-S", _COPY, unit.path, out),
        inputs=(unit.path, _COPY),
        outputs=(out,),
        role=Role.SOURCE,
        description=f"copy {unit.path}",
    )


def folder_of(unit: Unit) -> str:
    """Return the folder that a copy's includes are found from."""
    return str(PurePosixPath(unit.path).parent)
