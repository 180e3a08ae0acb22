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
from atoll_plugins.host.platforms import PLATFORMS, Platform, export_lines

_WRITES = str(Path(__file__).resolve().with_name("writes.py"))


def plan_link(link: LinkRequest, compiler: Compiler, tool: ToolChoice) -> LanePlan:
    """Return the actions of one link."""
    request = link.request
    key = identity(compiler, request.environment)
    programs = tuple(str(path) for path in stages(compiler, request.environment))
    if link.kind == "static":
        return _archive(link, key, compiler)
    script = _script(link)
    platform = PLATFORMS[request.host]
    args = platform.args(link.args)
    argv = (
        str(compiler.cxx),
        *platform.kinds[link.kind],
        # It chooses headers when compiling, and the library itself here.
        *(flag for flag in request.cxxflags if flag.startswith("-stdlib=")),
        *platform.words,
        *((f"{platform.exports}{script.outputs[0]}",) if script else ()),
        *_own_name(link, platform),
        *("-o", link.output),
        *platform.args(link.inputs),
        *args,
    )
    action = Action(
        name=f"link {short_name(link)}",
        argv=argv,
        inputs=(*link.inputs, *(script.outputs if script else ()), *library_files(args), *programs),
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


def _own_name(link: LinkRequest, platform: Platform) -> tuple[str, ...]:
    """Return the name a library is found by; without one the path of the build would be."""
    name = link.output.rpartition("/")[2]
    found = link.kind == "shared" and name.startswith("lib") and platform.named
    return (f"{platform.named}{name}",) if found else ()


def _archive(link: LinkRequest, key: str, compiler: Compiler) -> LanePlan:
    platform = PLATFORMS[link.request.host]
    beside = find_program(str(compiler.cxx.with_name(platform.archiver)), link.request.environment)
    ar = find_program(platform.archiver, link.request.environment) or beside
    if ar is None:
        raise LaneError(
            Diagnostic(
                code="ATL0507",
                message=f"the archiver `{platform.archiver}` is not there",
                notes=(f"PATH is: {link.request.environment.get('PATH') or '(empty)'}",),
                hint="install binutils" if platform.archiver == "ar" else "install LLVM's tools",
            )
        )
    action = Action(
        name=f"archive {short_name(link)}",
        argv=(*_python(), _WRITES, platform.archive, link.output, str(ar), *link.inputs),
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
    return Action(
        name=f"exports {short_name(link)}",
        argv=(*_python(), _WRITES, "lines", out, *export_lines(link.request.host, link.exports)),
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
