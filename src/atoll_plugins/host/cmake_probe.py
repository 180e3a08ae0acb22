"""What does an imported target of a CMake package need? Asked of the host's CMake with a tiny project.

The project is configured and never built: CMake's file API (cmake-file-api(7)) then states includes,
defines and the link line of a program that links the target, and every file that was read to say so. The
answer is kept below the plan folder until one of those files, CMake or the compiler changes.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import ninja_program
from atoll.plugin import FoundPackage, LaneRequest
from atoll.plugin.tools import ask, find_program, fingerprint, write_atomic
from atoll_plugins.formats.host_compilers import Compiler

FORMAT = 1
_KEPT = ".atoll/plan/packages"
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]*(?:::[\w.+:-]+)?")
_SECONDS = 120.0
_VARIABLES = ("CMAKE_PREFIX_PATH",)
_PROJECT = """\
cmake_minimum_required(VERSION 3.20)
project(atoll_probe LANGUAGES C CXX)
find_package({package} REQUIRED)
set(wanted "{target}")
if(wanted AND NOT TARGET "${{wanted}}")
  find_package({package} QUIET COMPONENTS {component})
endif()
get_property(known DIRECTORY PROPERTY IMPORTED_TARGETS)
list(SORT known)
if(NOT wanted)
  list(LENGTH known count)
  if(TARGET "{package}::{package}")
    set(wanted "{package}::{package}")
  elseif(count EQUAL 1)
    set(wanted "${{known}}")
  endif()
endif()
file(WRITE "${{CMAKE_BINARY_DIR}}/known.txt" "${{{package}_VERSION}}\\n${{wanted}}\\n${{known}}\\n")
if(NOT TARGET "${{wanted}}")
  message(FATAL_ERROR "atoll: no target")
endif()
add_executable(probe probe.cpp)
target_link_libraries(probe PRIVATE "${{wanted}}")
"""


def cmake_package(request: LaneRequest, compiler: Compiler, name: str) -> FoundPackage:
    """Return what the imported target of a package needs.

    Args:
        request: The build.
        compiler: What CMake is told to compile with.
        name: A package (`fmt`), whose target is `fmt::fmt` or its only one, or a target (`fmt::core`).

    Raises:
        LaneError: Where CMake is missing, does not know the package, or the target is not clear.
    """
    cmake = find_program("cmake", request.environment)
    if cmake is None:
        from atoll_plugins.host.packages import missing_tool

        raise LaneError(missing_tool("cmake", name, request.environment.get("PATH", "")))
    if not _NAME.fullmatch(name):
        raise LaneError(_unknown(name, cmake, "it is neither the name of a package nor of a target", request))
    place = request.root / _KEPT / f"{_key(request, compiler, cmake, name)}.json"
    known = _recall(place)
    if known is None:
        known = _probe(request, compiler, cmake, name)
        write_atomic(place, json.dumps({"stamps": _stamps(known.inputs), "found": asdict(known)}, indent=1))
    return known


def _key(request: LaneRequest, compiler: Compiler, cmake: Path, name: str) -> str:
    searched = [request.environment.get(variable, "") for variable in (*_VARIABLES, "PATH", "HOME")]
    programs = fingerprint((cmake.resolve(), compiler.cxx.resolve()), request.environment)
    return hashlib.sha256(json.dumps([FORMAT, name, programs, searched]).encode()).hexdigest()[:24]


def _stamps(paths: tuple[str, ...]) -> dict[str, list[int] | None]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: str) -> list[int] | None:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return [found.st_mtime_ns, found.st_size if Path(path).is_file() else 0, found.st_ino]


def _recall(place: Path) -> FoundPackage | None:
    """Return a kept answer where every file it was made from is as it was."""
    try:
        value = json.loads(place.read_text(encoding="utf-8"))
        if any(_stamp(path) != was for path, was in value["stamps"].items()):
            return None
        lists = ("flags", "libraries", "requires", "inputs")
        texts = {key: tuple(map(str, value["found"][key])) for key in lists}
        return FoundPackage(**{**value["found"], **texts})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _probe(request: LaneRequest, compiler: Compiler, cmake: Path, name: str) -> FoundPackage:
    package, _, component = name.partition("::")
    with tempfile.TemporaryDirectory(prefix="atoll-cmake-") as folder:
        source, build = Path(folder, "source"), Path(folder, "build")
        source.mkdir()
        text = _PROJECT.format(package=package, target=name if component else "", component=component)
        (source / "CMakeLists.txt").write_text(text, encoding="utf-8")
        (source / "probe.cpp").write_text("int main() {}\n", encoding="utf-8")
        for query in ("codemodel-v2", "cmakeFiles-v1"):
            path = build / ".cmake/api/v1/query" / query
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        answer = ask(
            _command(cmake, compiler, source, build),
            request.environment,
            extra=tuple((v, request.environment[v]) for v in _VARIABLES if v in request.environment),
            timeout=_SECONDS,
        )
        version, target, targets = _said(build)
        if answer is not None and answer.status == 0:
            return _read(build, name, package, version, target, cmake, Path(folder))
        if targets is not None and target not in targets:
            raise LaneError(_unclear(name, package, target, targets))
        said = answer.err if answer else f"nothing within {_SECONDS:g} s"
        raise LaneError(_unknown(name, cmake, _shortened(said, folder), request))


def _command(cmake: Path, compiler: Compiler, source: Path, build: Path) -> tuple[str, ...]:
    settings = {
        "CMAKE_MAKE_PROGRAM": str(ninja_program()),
        "CMAKE_CXX_COMPILER": str(compiler.cxx),
        "CMAKE_C_COMPILER": str(compiler.cc),
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_FLAGS_RELEASE": "",
        "CMAKE_FIND_USE_PACKAGE_REGISTRY": "OFF",
        "CMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY": "OFF",
    }
    given = [f"-D{name}={value}" for name, value in settings.items()]
    return (str(cmake), "-G", "Ninja", "-S", str(source), "-B", str(build), *given)


def _said(build: Path) -> tuple[str, str, tuple[str, ...] | None]:
    """Return the version, the target taken and all targets; None for those where it did not get so far."""
    try:
        version, target, known = (build / "known.txt").read_text(encoding="utf-8").splitlines()[:3]
    except (OSError, ValueError):
        return "", "", None
    return version, target, tuple(item for item in known.split(";") if item)


def _read(
    build: Path, name: str, package: str, version: str, target: str, cmake: Path, folder: Path
) -> FoundPackage:
    replies = build / ".cmake/api/v1/reply"
    index = json.loads(sorted(replies.glob("index-*.json"))[-1].read_text(encoding="utf-8"))
    kinds = {item["kind"]: _json(replies / item["jsonFile"]) for item in index["objects"]}
    (row,) = [item for item in kinds["codemodel"]["configurations"][0]["targets"] if item["name"] == "probe"]
    probe = _json(replies / row["jsonFile"])
    return FoundPackage(
        kind="cmake",
        name=name,
        version=version,
        flags=_flags(probe["compileGroups"][0]),
        libraries=_libraries(probe),
        requires=(package, target),
        why=f"{cmake} finds the target {target}",
        inputs=(str(cmake), *_inputs(kinds["cmakeFiles"], folder)),
    )


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _flags(group: Mapping[str, Any]) -> tuple[str, ...]:
    includes = [
        word
        for item in group.get("includes", ())
        for word in (("-isystem", item["path"]) if item.get("isSystem") else (f"-I{item['path']}",))
    ]
    defines = [f"-D{item['define']}" for item in group.get("defines", ())]
    more = [word for item in group.get("compileCommandFragments", ()) for word in _words(item["fragment"])]
    # The standard is the project's, and it is no property of a package.
    return (*includes, *defines, *(word for word in more if not word.startswith("-std=")))


def _libraries(probe: Mapping[str, Any]) -> tuple[str, ...]:
    fragments = probe.get("link", {}).get("commandFragments", ())
    wanted = [item["fragment"] for item in fragments if item["role"] in ("libraries", "libraryPath")]
    return tuple(word for fragment in wanted for word in _words(fragment))


def _words(text: str) -> list[str]:
    return shlex.split(text)


def _inputs(files: Mapping[str, Any], folder: Path) -> tuple[str, ...]:
    """Return the package's own files, and their folders, in which another version could appear."""
    paths = [item["path"] for item in files["inputs"] if item.get("isExternal") and not item.get("isCMake")]
    own = [path for path in paths if not Path(path).is_relative_to(folder)]
    return tuple(sorted({*own, *(str(Path(path).parent) for path in own)}))


def _shortened(said: str, folder: str) -> str:
    lines = [line.rstrip() for line in said.replace(folder, "").splitlines() if line.strip()]
    return "\n".join(lines[:12]) or "nothing"


def _unknown(name: str, cmake: Path, said: str, request: LaneRequest) -> Diagnostic:
    package = name.partition("::")[0]
    return Diagnostic(
        code="ATL0569",
        message=f"CMake cannot bring the package `{package}`",
        notes=(
            f"{cmake} says: {said}",
            f"CMAKE_PREFIX_PATH is: {request.environment.get('CMAKE_PREFIX_PATH') or 'not set'}",
        ),
        hint=f"install what brings `{package}Config.cmake`, or name its prefix in CMAKE_PREFIX_PATH",
    )


def _unclear(name: str, package: str, target: str, targets: tuple[str, ...]) -> Diagnostic:
    listed = ", ".join(targets[:20]) or "none"
    return Diagnostic(
        code="ATL0571",
        message=f"the CMake package `{package}` has no target `{name}`"
        if "::" in name
        else f"the CMake package `{package}` does not say which of its targets is meant",
        notes=(f"asked: {target or f'{package}::{package}, or the only one'}", f"it has: {listed}"),
        hint=f'name the target: `{{ cmake = "{targets[0]}" }}`'
        if targets
        else "take a package with a target",
    )
