"""How does the host compiler link: an executable, a shared object, an archive, a Python extension?"""

from __future__ import annotations

import posixpath
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LanePlan, LinkRequest, ToolChoice
from atoll.plugin.tools import find_program, output_path, python_program
from atoll_plugins.formats.host_compilers import Compiler, identity, stages, tool_path

_WRITES = str(Path(__file__).resolve().with_name("writes.py"))
# What a link adds by kind. A Python extension leaves the interpreter's symbols undefined; everything else
# that is shared must be whole. Symbols of static archives never leave the image.
_KIND = {
    "executable": (),
    "shared": ("-shared", "-Wl,-z,defs", "-Wl,--exclude-libs,ALL"),
    "module": ("-shared", "-Wl,--exclude-libs,ALL"),
}


def plan_link(link: LinkRequest, compiler: Compiler, tool: ToolChoice) -> LanePlan:
    """Return the actions of one link."""
    request = link.request
    key = identity(compiler, request.environment)
    programs = tuple(str(path) for path in stages(compiler, request.environment))
    if link.kind == "static":
        return _archive(link, key, compiler)
    script = _script(link)
    argv = (
        str(compiler.cxx),
        *_KIND[link.kind],
        # It chooses headers when compiling, and the library itself here.
        *(flag for flag in request.cxxflags if flag.startswith("-stdlib=")),
        "-Wl,--as-needed",
        "-Wl,--build-id=sha1",
        *((f"-Wl,--version-script={script.outputs[0]}",) if script else ()),
        *_soname(link),
        *("-o", link.output),
        *link.inputs,
        *link.args,
    )
    action = Action(
        name=f"link {short_name(link)}",
        argv=argv,
        inputs=(*link.inputs, *(script.outputs if script else ()), *library_files(link.args), *programs),
        outputs=(link.output,),
        role=Role.LINK,
        env=(("LC_ALL", "C"), ("PATH", tool_path(request.environment))),
        key=key,
        description=f"link {short_name(link)}",
    )
    return LanePlan(actions=(*((script,) if script else ()), action), tools=(tool,), planner_inputs=programs)


def library_files(args: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that arguments of a link name by absolute paths, or by folder and name."""
    folders = [word[2:] for word in args if word.startswith("-L/")]
    named = [f"lib{word[2:]}" for word in args if word.startswith("-l")]
    found = [word for word in args if word.startswith("/")]
    found += [f"{folder}/{name}{end}" for name in named for folder in folders for end in (".so", ".a")]
    return tuple(dict.fromkeys(posixpath.normpath(path) for path in found if Path(path).is_file()))


def _soname(link: LinkRequest) -> tuple[str, ...]:
    """Return the name a library is found by; without one the path of the build would be."""
    name = link.output.rpartition("/")[2]
    return (f"-Wl,-soname,{name}",) if link.kind == "shared" and name.startswith("lib") else ()


def _archive(link: LinkRequest, key: str, compiler: Compiler) -> LanePlan:
    beside = find_program(str(compiler.cxx.with_name("ar")), link.request.environment)
    ar = find_program("ar", link.request.environment) or beside
    if ar is None:
        raise LaneError(
            Diagnostic(
                code="ATL0507",
                message="the archiver `ar` is not there",
                notes=(f"PATH is: {link.request.environment.get('PATH') or '(empty)'}",),
                hint="install binutils",
            )
        )
    action = Action(
        name=f"archive {short_name(link)}",
        argv=(*_python(), _WRITES, "archive", link.output, str(ar), *link.inputs),
        inputs=(*link.inputs, str(ar.resolve()), _WRITES),
        outputs=(link.output,),
        role=Role.LINK,
        key=key,
        description=f"archive {short_name(link)}",
    )
    tool = ToolChoice(name="archiver", path=str(ar), version="", why="the one on PATH")
    return LanePlan(actions=(action,), tools=(tool,), planner_inputs=(str(ar.resolve()),))


def _script(link: LinkRequest) -> Action | None:
    if link.exports is None:
        return None
    out = output_path(link.request.build, "host", "exports", short_name(link))
    names = [f"  {name};" for name in sorted(link.exports)]
    shown = ["global:", *names] if names else []
    return Action(
        name=f"exports {short_name(link)}",
        argv=(*_python(), _WRITES, "lines", out, "{", *shown, "local: *;", "};"),
        inputs=(_WRITES,),
        outputs=(out,),
        role=Role.SOURCE,
        description=f"list the exports of {short_name(link)}",
    )


def short_name(link: LinkRequest) -> str:
    """Return the output as people name it: without the build folder."""
    return link.output.removeprefix(f"{link.request.build}/")


def _python() -> tuple[str, ...]:
    return (python_program(), "-I", "-S")
