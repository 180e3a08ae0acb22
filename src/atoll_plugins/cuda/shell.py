"""Which names may nvcc see? It starts its stages through `sh`, names between double quotes (measured, 13.0).

There `$`, a backtick, a double quote and a backslash mean something: a source called ``h$(touch x).cu`` would
run a command. A unit with such a name is compiled through a file of a tame name, which includes it or is a
copy; folders and defines with `$` or a backtick are refused. Headers' names reach no command line.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LaneRequest, Unit
from atoll.plugin.options import list_option
from atoll.plugin.tools import argument, output_path, python_program

_WILD = re.compile(r'[$`"\\]')
_EXPANDED = re.compile(r"[$`]")
_STAGE = str(Path(__file__).with_name("stage.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What nvcc is shown of one unit.

    Attributes:
        source: The file it compiles.
        out: The path of the object, without its ``.o``.
        action: What makes the source, where it is not the author's own.
        flags: What the compilation takes for it.
    """

    source: str
    out: str
    action: Action | None = None
    flags: tuple[str, ...] = ()


def seen(request: LaneRequest, unit: Unit) -> Seen:
    """Return the names under which a unit is compiled."""
    plain = output_path(request.build, "cuda", unit.target, unit.path)
    if not _WILD.search(unit.path):
        return Seen(source=argument(unit.path), out=plain)
    digest = hashlib.sha256(unit.path.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    path = PurePosixPath(_WILD.sub("_", unit.path))
    tame = output_path(request.build, "cuda", unit.target, str(path.with_suffix(f".{digest}{path.suffix}")))
    # nvcc lists a name with a double quote in a way that nobody can read: such a file is copied.
    copied = '"' in unit.path
    action = Action(
        name=f"cuda stage {unit.target} {unit.path}",
        argv=(python_program(), "-I", "-S", _STAGE, "copy" if copied else "include", tame, unit.path),
        inputs=(unit.path, _STAGE) if copied else (_STAGE,),
        outputs=(tame,),
        role=Role.SOURCE,
        description=f"give {unit.path} a name that no shell reads",
    )
    return Seen(
        source=tame,
        out=tame,
        action=action,
        flags=(f"-I{PurePosixPath(unit.path).parent}" if copied else "-I.",),
    )


def staging(request: LaneRequest) -> tuple[Action, ...]:
    """Return what makes the files of tame names."""
    actions = (seen(request, unit).action for unit in request.units)
    return tuple(dict.fromkeys(action for action in actions if action is not None))


def refuse_expanded(request: LaneRequest) -> None:
    """Refuse what nvcc's shell would expand.

    Raises:
        LaneError: With each folder, define and flag.
    """
    given = dict.fromkeys(
        (word, text)
        for unit in request.units
        for word, texts in (
            ("include folder", unit.includes),
            ("define", unit.defines),
            ("header", unit.force_include),
            ("flag", (*unit.flags, *list_option("cuda", request, "flags"))),
        )
        for text in texts
        if _EXPANDED.search(text)
    )
    folders = {str(PurePosixPath(unit.path).parent) for unit in request.units if '"' in unit.path}
    given |= {("folder of a source", path): None for path in sorted(folders) if _WILD.search(path)}
    if given:
        raise LaneError(
            *(
                Diagnostic(
                    code="ATL0524",
                    message=f"nvcc would hand a {word} to a shell that expands it",
                    notes=(
                        f"{word}: {text}",
                        "a shell reads: `$`, the backtick, and a double quote in a folder",
                    ),
                    hint="choose another name, or put the value into a header",
                )
                for word, text in given
            )
        )
