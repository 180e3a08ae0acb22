"""Which clang compiles HIP, and are the programs that it starts there?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.options import text_option
from atoll.plugin.tools import ask, find_program, programs_like
from atoll_plugins.formats.host_compilers import Compiler, read_compiler
from atoll_plugins.formats.lane_refusals import named_compiler, no_compiler

_NAMES = r"clang\+\+(?:-\d+)?"
# As Debian cuts LLVM into packages.
_BRINGS = {"lld": "lld-{major}", "clang-offload-bundler": "clang-tools-{major}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clang:
    """A clang for HIP.

    Attributes:
        compiler: What it says of itself.
        why: Why this one.
        stages: The programs that it starts for device code, resolved.
    """

    compiler: Compiler
    why: str
    stages: tuple[Path, ...] = ()

    @property
    def programs(self) -> tuple[Path, ...]:
        """The driver and its stages."""
        return (self.compiler.cxx.resolve(), *self.stages)


def choose(request: LaneRequest, stages: tuple[str, ...], least: int = 0) -> Clang:
    """Return the clang that the project names, else the newest one that has all its stages.

    Args:
        request: Where it is named, and the PATH.
        stages: The programs that it has to reach.
        least: The oldest major version that can.

    Raises:
        LaneError: Where there is none, or the one that is named or the newest lacks a stage.
    """
    named = text_option("hip", request, "compiler")
    found = _named(request, named) if named else _installed(request)
    enough = [compiler for compiler in found if compiler.major >= least]
    if not enough and found:
        raise LaneError(_too_old(found[0], least))
    if not enough:
        looked = ("clang++", "clang++-N")
        raise LaneError(no_compiler("hip", "clang", looked, request, "install clang and lld of one version"))
    refused: Diagnostic | None = None
    for compiler in enough:
        resolved = {name: _stage(compiler, name, request) for name in stages}
        lacking = next((name for name, path in resolved.items() if path is None), "")
        if not lacking:
            why = f"the project names `{named}`" if named else "the newest clang on PATH that has its stages"
            paths = tuple(path.resolve() for path in resolved.values() if path is not None)
            return Clang(compiler=compiler, why=why, stages=paths)
        refused = refused or _lacks(compiler, lacking)
    assert refused is not None
    raise LaneError(refused)


def _named(request: LaneRequest, named: str) -> list[Compiler]:
    path = find_program(named, request.environment)
    compiler = read_compiler(path, request.environment) if path else None
    if compiler is None or compiler.family != "clang":
        raise LaneError(named_compiler("hip", named, "clang", request))
    return [compiler]


def _installed(request: LaneRequest) -> list[Compiler]:
    paths = programs_like(_NAMES, request.environment)
    found = (read_compiler(path, request.environment) for path in paths)
    return sorted((each for each in found if each and each.family == "clang"), key=lambda each: -each.major)


def _stage(compiler: Compiler, name: str, request: LaneRequest) -> Path | None:
    answer = ask((str(compiler.cxx), f"-print-prog-name={name}"), request.environment, lasting=True)
    return find_program(answer.out.strip(), request.environment) if answer and answer.status == 0 else None


def _lacks(compiler: Compiler, stage: str) -> Diagnostic:
    package = _BRINGS.get(stage, "the toolkit").format(major=compiler.major)
    return Diagnostic(
        code="ATL0507",
        message=f"clang lacks `{stage}`, which it needs for HIP",
        notes=(f"clang: {compiler}", f"what brings it: {package}"),
        hint=f"install {package}, or name another clang with `[lane.hip] compiler`",
    )


def _too_old(compiler: Compiler, least: int) -> Diagnostic:
    return Diagnostic(
        code="ATL0506",
        message="the clang at hand is too old for HIP on this platform",
        notes=(f"at hand: {compiler}", f"the least that serves: clang {least}"),
        hint=f"install clang-{least} or newer, or name one with `[lane.hip] compiler`",
    )
