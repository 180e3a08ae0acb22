"""Does the C++ library in use bring the modules `std` and `std.compat`, and how are they built?

libc++ lists them in ``libc++.modules.json``, which the compiler finds among its own files; libstdc++ 12 has
none. Their module files are made only where a scanned unit asks for one (docs/decisions/0160): building
them takes seconds and tens of megabytes for each set of flags. No object of theirs is linked: both only name
declarations of the library that the program links anyway.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from atoll.graph import Action, Role
from atoll.plugin import LaneRequest, ToolChoice
from atoll.plugin.options import list_option
from atoll.plugin.tools import ask, output_path
from atoll.plugin.values import dataclass
from atoll_plugins.formats.host_compilers import Compiler, stages

NAMES = ("std", "std.compat")
_MANIFEST = "libc++.modules.json"
_NOT_FOUND = f"it finds no {_MANIFEST}"
_MEMORY = 768 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryModule:
    """One module of the C++ library.

    Attributes:
        name: ``std`` or ``std.compat``.
        source: Its interface, absolute.
        includes: Folders that compiling it needs, absolute.
        bmi: Its module file, relative to the project root.
        requires: The modules of the library that it imports.
    """

    name: str
    source: str
    includes: tuple[str, ...]
    bmi: str
    requires: tuple[str, ...]

    @property
    def row(self) -> str:
        """What the collation reads of it."""
        return json.dumps([self.name, self.source, self.bmi, list(self.requires)])


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryModules:
    """What the library brings.

    Attributes:
        modules: Its modules, in the order of their imports.
        actions: How their module files are made.
        tools: What `resolution.json` says of it.
        inputs: The files that say so.
        why_none: Why there are none, for the refusal of an import; empty where there are.
        hint: What to do then.
    """

    modules: tuple[LibraryModule, ...] = ()
    actions: tuple[Action, ...] = ()
    tools: tuple[ToolChoice, ...] = ()
    inputs: tuple[str, ...] = ()
    why_none: str = ""
    hint: str = "include the headers instead"


def library_modules(request: LaneRequest, compiler: Compiler, common: Action) -> LibraryModules:
    """Return the modules of the C++ library of a build.

    Args:
        request: The build.
        compiler: Its compiler.
        common: A compilation of the build, for what all of them have: environment and key.
    """
    if compiler.family == "gcc":
        why = f"the C++ library of {compiler.cxx.name} {compiler.version} is used without its modules"
        return LibraryModules(why_none=why)
    if "-stdlib=libc++" not in request.cxxflags:
        why = "the C++ library in use, libstdc++, brings no modules"
        hint = 'include the headers instead, or take libc++: `[build] cxxflags = ["-stdlib=libc++"]`'
        return LibraryModules(why_none=why, hint=hint)
    listed = _manifest(request, compiler)
    if isinstance(listed, str):
        package = f"libc++-{compiler.major}-dev"
        hint = f"install them (Debian: apt-get install {package}), or include the headers instead"
        why = f"libc++ of {compiler.cxx.name} {compiler.version} brings no modules: {listed}"
        return LibraryModules(why_none=why, hint=hint)
    path, rows = listed
    modules = tuple(_module(request, path, row) for row in rows)
    return LibraryModules(
        modules=modules,
        actions=tuple(_action(request, compiler, common, module, modules) for module in modules),
        tools=(
            ToolChoice(
                name="library modules", path=str(path), version="", why=f"{compiler.cxx.name} names it"
            ),
        ),
        inputs=(str(path),),
    )


def _manifest(request: LaneRequest, compiler: Compiler) -> tuple[Path, list[Mapping[str, Any]]] | str:
    """Return where the library's list lies and what it holds, or what is wrong."""
    command = (str(compiler.cxx), "-stdlib=libc++", f"-print-file-name={_MANIFEST}")
    answer = ask(command, request.environment)
    named = Path(answer.out.strip() if answer and answer.status == 0 else _MANIFEST)
    # Debian's clang 22 names a link in a folder from which the list's own paths lead nowhere.
    beside = compiler.cxx.resolve().parent.parent / "lib" / _MANIFEST
    found = [_read(path) for path in dict.fromkeys((named, beside)) if path.is_absolute() and path.is_file()]
    # Where it finds none the compiler repeats the bare name.
    wrong = [each for each in found if isinstance(each, str)]
    return next((each for each in found if not isinstance(each, str)), "; ".join(wrong) or _NOT_FOUND)


def _read(path: Path) -> tuple[Path, list[Mapping[str, Any]]] | str:
    # The paths in it are relative to where it is found, and not to what a link there leads to.
    path = Path(os.path.normpath(path))
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["modules"]
        rows = {str(row["logical-name"]): row for row in found if row.get("is-std-library")}
        wanted = [rows[name] for name in NAMES if name in rows]
        sources = [_below(path, row["source-path"]) for row in wanted]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return f"{path} cannot be read"
    lost = [source for source in sources if not Path(source).is_file()]
    if lost or not wanted:
        return f"{path} names {lost[0]}, which is not there" if lost else f"{path} names none"
    return path, wanted


def _below(path: Path, inside: object) -> str:
    return os.path.normpath(path.parent / str(inside))


def _module(request: LaneRequest, path: Path, row: Mapping[str, Any]) -> LibraryModule:
    name = str(row["logical-name"])
    given = row.get("local-arguments") or {}
    folders = [_below(path, item) for item in given.get("system-include-directories", ())]
    return LibraryModule(
        name=name,
        source=_below(path, row["source-path"]),
        includes=tuple(folders),
        bmi=output_path(request.build, "host", ".modules", "library", f"{name}.bmi"),
        # [std.modules]: std.compat exports what std does, and imports it.
        requires=() if name == NAMES[0] else NAMES[:1],
    )


def _action(
    request: LaneRequest,
    compiler: Compiler,
    common: Action,
    module: LibraryModule,
    modules: tuple[LibraryModule, ...],
) -> Action:
    reads = [one for one in modules if one.name in module.requires]
    depfile = f"{module.bmi}.d"
    return Action(
        name=f"module {module.name} of the C++ library",
        argv=(
            *(str(compiler.cxx), f"-std={request.cxx_standard}", *request.cxxflags),
            *(f"-O{request.optimise}", *(("-g",) if request.debug else ("-DNDEBUG",))),
            *("-ffp-contract=off", "-fPIC", *list_option("host", request, "flags")),
            "-Wno-reserved-module-identifier",
            *(word for folder in module.includes for word in ("-isystem", folder)),
            *(f"-fmodule-file={one.name}={one.bmi}" for one in reads),
            *("-MD", "-MF", depfile, "-MT", module.bmi),
            *("-x", "c++-module", "--precompile", module.source, "-o", module.bmi),
        ),
        inputs=(
            *(module.source, *(one.bmi for one in reads)),
            *(str(path) for path in stages(compiler, request.environment)),
        ),
        outputs=(module.bmi,),
        role=Role.OBJECT,
        depfile=depfile,
        env=common.env,
        key=common.key,
        memory=_MEMORY,
        on_demand=True,
        description=f"compile the module {module.name}",
    )
