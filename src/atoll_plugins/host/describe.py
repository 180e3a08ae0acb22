"""What is this host to those who build on it? Compilers, the C++ library in use, and the ABI tag."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from atoll.artifact import Abi
from atoll.plugin import HostTools, LaneRequest
from atoll.plugin.tools import ask
from atoll_plugins.formats.host_compilers import Compiler

_STANDARD = re.compile(r"(?:c|gnu)\+\+(\d\d)")


def describe(compiler: Compiler, request: LaneRequest) -> HostTools:
    """Return what a host compiler is, asked of the compiler itself with the project's flags."""
    flags = tuple(flag for flag in request.cxxflags if flag.startswith(("-stdlib", "--sysroot", "-isystem")))
    library = cxx_library(compiler.cxx, flags, request.environment.get("PATH", ""))
    return HostTools(
        cc=str(compiler.cc),
        cxx=str(compiler.cxx),
        family=compiler.family,
        version=compiler.version,
        cxx_library=library,
        abi=abi(compiler, library, request),
    )


@lru_cache(maxsize=32)
def cxx_library(cxx: Path, flags: tuple[str, ...], path: str) -> str:
    """Return the C++ library that a driver's headers are of, with its version; empty where it is not told."""
    answer = ask(
        (str(cxx), "-std=c++20", *flags, "-dM", "-E", "-x", "c++", "-include", "version", "/dev/null"),
        {"PATH": path},
    )
    if answer is None or answer.status != 0:
        return ""
    found = dict(re.findall(r"^#define (_LIBCPP_VERSION|_GLIBCXX_RELEASE) (\d+)$", answer.out, re.MULTILINE))
    if "_LIBCPP_VERSION" in found:
        number = int(found["_LIBCPP_VERSION"])
        return f"libc++ {number // 10000 if number >= 100000 else number // 1000}"
    return f"libstdc++ {found['_GLIBCXX_RELEASE']}" if "_GLIBCXX_RELEASE" in found else ""


def abi(compiler: Compiler, library: str, request: LaneRequest) -> str:
    """Return the ABI tag of what the compiler makes; empty where its machine is not told."""
    machine = compiler.machine.split("-")
    if len(machine) < 3:
        return ""
    name, _, number = library.partition(" ")
    standard = _STANDARD.fullmatch(request.cxx_standard)
    return str(
        Abi(
            arch=machine[0],
            os=request.host,
            libc="musl" if machine[-1].startswith("musl") else machine[-1].replace("-", "_"),
            compiler=f"{compiler.family}{compiler.major}",
            cxx_library=f"{name.replace('+', 'x')}{number}" if library else "",
            standard=f"c++{standard[1]}" if standard else "",
        )
    )
