"""What does a library of this machine need at compile and link time? Asked of pkg-config or of CMake.

CMake packages are asked in :mod:`atoll_plugins.host.cmake_probe`. Nothing is searched here: what the tool
says is what is used, and what was read to say so makes the plan stale when it changes.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import FoundPackage, LaneRequest
from atoll.plugin.tools import Answer, ask, find_program
from atoll_plugins.formats.host_compilers import Compiler
from atoll_plugins.host.cmake_probe import cmake_package

# A name, and at most one relation: `zlib >= 1.2`. Nothing that starts like an option.
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*(?:\s*(?:>=|<=|=|!=|>|<)\s*[\w.~+-]+)?")
_VARIABLES = ("PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR")
_PROGRAMS = ("pkg-config", "pkgconf")
_MOST_REQUIRED = 200


def find_package(request: LaneRequest, compiler: Compiler, kind: str, name: str) -> FoundPackage:
    """Return what a package of this machine needs.

    Args:
        request: The build.
        compiler: What it is compiled with.
        kind: ``pkg-config`` or ``cmake``.
        name: As the manifest names it.

    Raises:
        LaneError: Where the tool is missing or does not know the package.
    """
    if kind == "cmake":
        return cmake_package(request, compiler, name)
    return _PkgConfig(request, name).found()


class _PkgConfig:
    def __init__(self, request: LaneRequest, name: str) -> None:
        self.request, self.name = request, name
        self.environment = request.environment
        program = next(filter(None, (find_program(item, self.environment) for item in _PROGRAMS)), None)
        if program is None:
            raise LaneError(missing_tool("pkg-config", name, self.environment.get("PATH", "")))
        self.program = program

    def found(self) -> FoundPackage:
        if not _NAME.fullmatch(self.name):
            raise LaneError(
                self._unknown("it is not the name of a package", "write the name of a `.pc` file")
            )
        there = self.ask("--exists", "--print-errors", self.name)
        if there is None or there.status != 0:
            said = (there.out + there.err).strip() if there else "it did not answer"
            raise LaneError(self._unknown(said, _install_hint(self.name)))
        bare = re.split(r"[\s<>=!]", self.name)[0]
        libraries = self.words("--libs")
        return FoundPackage(
            kind="pkg-config",
            name=self.name,
            version=self.text("--modversion", bare),
            flags=self.words("--cflags"),
            libraries=(*libraries, *_run_paths(libraries)),
            requires=(bare,),
            why=f"{self.program} says so from {self.text('--variable=pcfiledir', bare)}/{bare}.pc",
            inputs=(str(self.program), *self.files(bare), *self.folders()),
        )

    def ask(self, *arguments: str) -> Answer | None:
        extra = tuple((name, self.environment[name]) for name in _VARIABLES if name in self.environment)
        return ask((str(self.program), *arguments), self.environment, extra=extra, cwd=self.request.root)

    def text(self, *arguments: str) -> str:
        answer = self.ask(*arguments)
        if answer is None or answer.status != 0:
            said = answer.err.strip() if answer else "it did not answer"
            raise LaneError(self._unknown(said, _install_hint(self.name)))
        return answer.out.strip()

    def words(self, option: str) -> tuple[str, ...]:
        text = self.text(option, self.name)
        try:
            return tuple(shlex.split(text))
        except ValueError as error:
            raise LaneError(self._unknown(f"{option}: {text} ({error})", "repair its `.pc` file")) from None

    def files(self, bare: str) -> tuple[str, ...]:
        """Return the ``.pc`` files that the answer was made from."""
        todo, found = [bare], dict[str, str]()
        while todo and len(found) < _MOST_REQUIRED:
            name = todo.pop()
            if name in found:
                continue
            folder = self.ask("--variable=pcfiledir", name)
            found[name] = f"{folder.out.strip()}/{name}.pc" if folder and folder.status == 0 else ""
            listed = self.ask("--print-requires", "--print-requires-private", name)
            rows = listed.out.splitlines() if listed and listed.status == 0 else []
            todo += [row.split()[0] for row in rows if row.strip()]
        return tuple(sorted(path for path in found.values() if path))

    def folders(self) -> tuple[str, ...]:
        """Return the folders in which another file of the name would win."""
        default = self.ask("--variable=pc_path", "pkg-config")
        texts = (self.environment.get("PKG_CONFIG_PATH", ""), default.out.strip() if default else "")
        listed = [folder for text in texts for folder in text.split(":") if folder]
        return tuple(dict.fromkeys(folder for folder in listed if Path(folder).is_absolute()))

    def _unknown(self, said: str, hint: str) -> Diagnostic:
        return Diagnostic(
            code="ATL0568",
            message=f"pkg-config does not know the package `{self.name}`",
            notes=(f"{self.program} says: {said}", *self._searched()),
            hint=hint,
        )

    def _searched(self) -> tuple[str, ...]:
        given = [f"{name} is: {self.environment[name]}" for name in _VARIABLES if self.environment.get(name)]
        return tuple(given) or ("PKG_CONFIG_PATH is: not set",)


def _install_hint(name: str) -> str:
    return f"install what brings `{name.split()[0]}.pc`, or name its folder in PKG_CONFIG_PATH"


def _run_paths(libraries: tuple[str, ...]) -> tuple[str, ...]:
    """Return where the loader finds shared libraries that lie in none of its own folders."""
    names = [word[2:] for word in libraries if word.startswith("-l")]
    folders = [word[2:] for word in libraries if word.startswith("-L")]
    needed = [folder for folder in folders if any(Path(folder, f"lib{name}.so").exists() for name in names)]
    return tuple(f"-Wl,-rpath,{folder}" for folder in dict.fromkeys(needed))


def missing_tool(tool: str, name: str, path: str) -> Diagnostic:
    """Return the refusal of a package whose tool is not there."""
    return Diagnostic(
        code="ATL0570",
        message=f"{tool} is not there to be asked for the package `{name}`",
        notes=(f"PATH is: {path or '(empty)'}",),
        hint=f"install {tool} (Debian: apt-get install {tool})",
    )
