"""How is an installed library described to CMake and to pkg-config? Text that can be moved.

Both start from where they lie, and no folder of this machine is named. An archive states what its users must
link; a shared library holds that already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from atoll._util.values import dataclass
from atoll.plugin import FoundPackage


@dataclass(frozen=True, slots=True)
class Shared:
    """A shared library that an archive needs and that its prefix does not hold.

    Attributes:
        file: Its file name, which the loader asks for too.
        requirement: The distribution that brings it (PEP 508); empty where none is known.
    """

    file: str
    requirement: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the description of one library says.

    Attributes:
        name: The library; also its package and, twice with `::`, its target.
        package / description / version: Of the project.
        file: Its file in ``lib``.
        kind: ``static`` or ``shared``.
        headers: Whether the prefix has headers of it.
        words: What linking an archive needs, in the linker's spelling.
        brought: Archives beside it in ``lib``.
        shared: Shared libraries that words name and that lie elsewhere on every machine.
        packages: The libraries of the machine that it names.
        uses: The libraries of the same prefix that it names.
        runtime: The C++ library, as the linker names it; empty for C alone.
    """

    name: str
    package: str
    description: str = ""
    version: str = "0.0.0"
    file: str
    kind: str
    headers: bool = False
    words: tuple[str, ...] = ()
    brought: tuple[str, ...] = ()
    shared: tuple[Shared, ...] = ()
    packages: tuple[FoundPackage, ...] = ()
    uses: tuple[str, ...] = ()
    runtime: str = ""


def release(version: str) -> str:
    """Return the numbers of a version, as CMake compares them."""
    found = re.match(r"(?:\d+!)?(\d+(?:\.\d+){0,3})", version)
    return found[1] if found else "0"


def cmake_version(needs: Needs) -> str:
    """Return ``NAMEConfigVersion.cmake``: the same major version and at least what is asked."""
    version = release(needs.version)
    return f"""\
# Written by atoll.
set(PACKAGE_VERSION "{version}")
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(NOT PACKAGE_FIND_VERSION OR (PACKAGE_FIND_VERSION_MAJOR EQUAL {version.partition(".")[0]}
    AND PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION))
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
"""


def cmake_config(needs: Needs) -> str:
    """Return ``NAMEConfig.cmake``, which defines the imported target ``NAME::NAME``."""
    found = dict(_dependencies(needs)) if needs.kind == "static" else {}
    linked = [*found.values(), *(_cmake_word(needs, word) for word in needs.words)]
    searched = needs.shared if needs.kind == "static" else ()
    linked = [*(f"{name}::{name}" for name in needs.uses), *linked] if needs.kind == "static" else []
    own = _own(needs)
    lines = [
        "# Written by atoll.",
        f'get_filename_component({own} "${{CMAKE_CURRENT_LIST_DIR}}/../../.." ABSOLUTE)',
        *(("include(CMakeFindDependencyMacro)",) if found or linked else ()),
        *found,
        *(_sibling(own, name) for name in (needs.uses if linked else ())),
        *(_searched(needs, item) for item in searched),
        f"if(NOT TARGET {needs.name}::{needs.name})",
        f"  add_library({needs.name}::{needs.name} {needs.kind.upper()} IMPORTED)",
        f"  set_target_properties({needs.name}::{needs.name} PROPERTIES",
        f'    IMPORTED_LOCATION "${{{own}}}/lib/{needs.file}"',
        *((f'    IMPORTED_SONAME "{needs.file}"',) if needs.kind == "shared" else ()),
        *(('    IMPORTED_LINK_INTERFACE_LANGUAGES "CXX"',) if needs.runtime else ()),
        *((f'    INTERFACE_INCLUDE_DIRECTORIES "${{{own}}}/include"',) if needs.headers else ()),
        *((f'    INTERFACE_LINK_LIBRARIES "{";".join(linked)}"',) if linked else ()),
        "  )",
        "endif()",
        f"unset({own})",
    ]
    return "\n".join(lines) + "\n"


def _own(needs: Needs) -> str:
    """Return the variable that holds the prefix; configs that this one reads have others."""
    return "_atoll_" + re.sub(r"\W", "_", needs.name)


def _sibling(own: str, name: str) -> str:
    return f'find_dependency({name} PATHS "${{{own}}}/lib/cmake/{name}" NO_DEFAULT_PATH)'


def _searched(needs: Needs, item: Shared) -> str:
    """Return how CMake finds a shared library of each machine, and what it says where there is none."""
    known, file = _place(needs, item), item.file
    lacks = f"{needs.name} needs {file}{_brought_by(item)}; name its folder in CMAKE_LIBRARY_PATH"
    return f"""\
find_library({known} NAMES "{file}")
if(NOT {known})
  set({needs.name}_FOUND FALSE)
  set({needs.name}_NOT_FOUND_MESSAGE "{lacks}")
  return()
endif()"""


def _brought_by(item: Shared) -> str:
    return f", which the Python distribution `{item.requirement}` brings" if item.requirement else ""


def _place(needs: Needs, item: Shared) -> str:
    return f"{_own(needs)}_{re.sub(r'[^A-Za-z0-9]', '_', item.file)}"


def _cmake_word(needs: Needs, word: str) -> str:
    for item in needs.shared:
        if word == f"-l:{item.file}":
            return f"${{{_place(needs, item)}}}"
    file = f"lib{word[2:]}.a"
    place = f"${{{_own(needs)}}}/lib/{file}" if word.startswith("-l") and file in needs.brought else word
    return place.replace("\\", "\\\\").replace('"', '\\"').replace(";", "\\;")


def _dependencies(needs: Needs) -> Iterator[tuple[str, str]]:
    """Give for each library of the machine how CMake finds it, and the target it is."""
    for package in needs.packages:
        if package.kind == "cmake":
            name, target = package.requires
            yield f"find_dependency({name})", target
            continue
        known = "atoll_" + re.sub(r"\W", "_", package.requires[0])
        wanted = re.sub(r"\s*([<>=!]+)\s*", r"\1", package.name)
        asked = f'pkg_check_modules({known} REQUIRED QUIET IMPORTED_TARGET GLOBAL "{wanted}")'
        yield f"find_dependency(PkgConfig)\n{asked}", f"PkgConfig::{known}"


def pkg_config(needs: Needs) -> str:
    """Return ``NAME.pc``."""
    known = [package.name for package in needs.packages if package.kind == "pkg-config"]
    other = [word for package in needs.packages if package.kind != "pkg-config" for word in package.libraries]
    required = ", ".join([*needs.uses, *known])
    words = [*needs.words, *other, *([f"-l{needs.runtime}"] if needs.runtime else [])]
    library = re.sub(r"^lib|\.(?:a|so)$", "", needs.file)
    libs = ["-L${libdir}", f"-l{library}", *(_pc_word(word) for word in words)]
    # Spaces of pcfiledir come escaped, so quotes around it would be wrong.
    lines = [
        "prefix=${pcfiledir}/../..",
        "includedir=${prefix}/include",
        "libdir=${prefix}/lib",
        "",
        f"Name: {needs.name}",
        f"Description: {' '.join(needs.description.split()) or f'{needs.name} of {needs.package}'}",
        f"Version: {needs.version}",
        *((f"Requires{'' if needs.kind == 'static' else '.private'}: {required}",) if required else ()),
        *(("Cflags: -I${includedir}",) if needs.headers else ()),
        *(
            f"# {item.file}{_brought_by(item)}: its folder is its user's to name (-L)."
            for item in (needs.shared if needs.kind == "static" else ())
        ),
        f"Libs: {' '.join(libs if needs.kind == 'static' else libs[:2])}",
    ]
    return "\n".join(lines) + "\n"


def _pc_word(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{escaped}"' if re.search(r"[^\w./+:=,@%-]", word) else word
