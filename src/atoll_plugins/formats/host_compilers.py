"""Which host compilers does an environment reach, which versions are they, and which one is taken?

Shared by the lanes that drive a host compiler underneath their own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from atoll.plugin.tools import KEPT, ask, asking, find_program, fingerprint, programs_like, version_numbers
from atoll.plugin.values import dataclass

_NAMES = re.compile(r"(?P<base>g\+\+|clang\+\+)(?:-(?P<suffix>\d+))?(?:\.exe)?")
_C_OF = {"g++": "gcc", "clang++": "clang"}
_MACROS = {
    "gcc": ("__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"),
    "clang": ("__clang_major__", "__clang_minor__", "__clang_patchlevel__"),
}
# What a compiler or linker may reach by name: its own stages, linkers, archivers, wrappers.
_REACHED = re.compile(
    r"(?:[\w.]+-)*(?:as|cc|c\+\+|gcc|g\+\+|cpp|clang|clang\+\+|ld|ld\.\w+|lld|mold|wild|collect2|lto-\w+"
    r"|ar|gcc-ar|ranlib|gcc-ranlib|nm|gcc-nm|objcopy|objdump|strip|opt|llc|llvm-\w+|ccache|sccache)"
    r"(?:-\d[\d.]*)?"
)
_STAGES = {"gcc": ("cc1", "cc1plus", "as", "collect2", "ld"), "clang": ("as", "ld")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiler:
    """One host compiler.

    Attributes:
        family: ``gcc`` or ``clang``.
        version: As it states it, ``12.2.0``.
        cxx: The C++ driver.
        cc: The C driver beside it, or the C++ one where there is none.
        machine: The target triple.
    """

    family: str
    version: str
    cxx: Path
    cc: Path
    machine: str = ""

    @property
    def major(self) -> int:
        """The first number of the version."""
        return version_numbers(self.version)[0]

    def __str__(self) -> str:
        return f"{self.cxx.name} {self.version} at {self.cxx}"


def read_compiler(cxx: Path, environment: Mapping[str, str]) -> Compiler | None:
    """Return what a C++ driver says of itself, or None where it is none."""
    try:
        stamp = cxx.stat().st_mtime_ns
    except OSError:
        return None
    return _read(cxx, stamp, asking(environment))


@lru_cache(maxsize=64)
def _read(cxx: Path, _stamp: int, asked: tuple[tuple[str, str], ...]) -> Compiler | None:
    environment = dict(asked)
    macros = ask((str(cxx), "-dM", "-E", "-x", "c++", os.devnull), environment, lasting=True)
    if macros is None or macros.status != 0:
        return None
    defined = dict(re.findall(r"^#define (__\w+__) (.*)$", macros.out, re.MULTILINE))
    family = "clang" if "__clang__" in defined else "gcc"
    numbers = [defined.get(name, "0") for name in _MACROS[family]]
    if not all(number.isdigit() for number in numbers) or numbers[0] == "0":
        return None
    machine = ask((str(cxx), "-dumpmachine"), environment, lasting=True)
    return Compiler(
        family=family,
        version=".".join(numbers),
        cxx=cxx,
        cc=_beside(cxx),
        machine=machine.out.strip() if machine and machine.status == 0 else "",
    )


def _beside(cxx: Path) -> Path:
    match = _NAMES.fullmatch(cxx.name)
    if match is None:
        return cxx
    suffix = f"-{match['suffix']}" if match["suffix"] else ""
    end = ".exe" if cxx.name.endswith(".exe") else ""
    other = cxx.with_name(_C_OF[match["base"]] + suffix + end)
    return other if other.is_file() else cxx


def installed(environment: Mapping[str, str]) -> Iterator[Compiler]:
    """Give the host compilers on the PATH of `environment`, the preferred one first; each is asked when due.

    ``g++`` comes first, then numbered ones from the newest down, then clang in the same way. Two names of
    one file are given once.
    """
    seen: set[Path] = set()
    for path in sorted(programs_like(_NAMES.pattern, environment), key=_preference):
        compiler = None if path.resolve() in seen else read_compiler(path, environment)
        if compiler is not None:
            seen.add(path.resolve())
            yield compiler


def _preference(path: Path) -> tuple[bool, bool, int]:
    match = _NAMES.fullmatch(path.name)
    assert match is not None
    return match["base"] != "g++", bool(match["suffix"]), -int(match["suffix"] or 0)


def choose(
    wanted: str | None, environment: Mapping[str, str], families: tuple[str, ...] = ("gcc", "clang")
) -> tuple[Compiler, str] | None:
    """Return the compiler that the project names, or the preferred one of `families`; with the reason."""
    if wanted is not None:
        path = find_program(wanted, environment)
        compiler = read_compiler(path, environment) if path else None
        good = compiler is not None and compiler.family in families
        return (compiler, f"the project names `{wanted}`") if compiler and good else None
    found = next((each for each in installed(environment) if each.family in families), None)
    return (found, "the first host compiler on PATH") if found else None


def stages(compiler: Compiler, environment: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the programs the compiler reaches, itself first; what cannot be resolved is left out."""
    known = sorted((*KEPT, "ATOLL_CACHE"))
    asked = tuple((name, environment[name]) for name in known if name in environment)
    return _stages(compiler, _stamped(compiler.cxx), asked)


def _stamped(program: Path) -> int:
    try:
        return program.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=64)
def _stages(compiler: Compiler, _stamp: int, asked: tuple[tuple[str, str], ...]) -> tuple[Path, ...]:
    environment = dict(asked)
    found = [compiler.cxx.resolve(), compiler.cc.resolve()]
    for name in _STAGES[compiler.family]:
        answer = ask((str(compiler.cxx), f"-print-prog-name={name}"), environment, lasting=True)
        path = find_program(answer.out.strip(), environment) if answer and answer.status == 0 else None
        if path is not None:
            found.append(path.resolve())
    return tuple(dict.fromkeys(found))


def tool_path(environment: Mapping[str, str]) -> str:
    """Return the folders of PATH that hold something a compiler or linker may reach, in their order.

    Commands see these alone, so that a folder without tools (an activated environment) changes no command.
    """
    folders = environment.get("PATH", "").split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder and _holds_tools(folder))


def _holds_tools(folder: str) -> bool:
    try:
        stamp = Path(folder).stat().st_mtime_ns
    except OSError:
        return False
    return _lists_tools(folder, stamp)


@lru_cache(maxsize=256)
def _lists_tools(folder: str, _stamp: int) -> bool:
    try:
        names = os.listdir(folder)  # noqa: PTH208 - a thousand names, of which few are looked at
    except OSError:
        return False
    return any(_REACHED.fullmatch(name) and os.access(f"{folder}/{name}", os.X_OK) for name in names)


def identity(compiler: Compiler, environment: Mapping[str, str]) -> str:
    """Return a hash of the compiler and of the stages it reaches."""
    return fingerprint(stages(compiler, environment), environment)
