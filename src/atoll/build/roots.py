"""What does each linked part hold beside its objects? The runtime core, launchers, a root's table.

Everything here is generated source that the host lane compiles; nothing is decided by a vendor's name:
a driver is found by the root it is named like, or by the backend of what the part embeds.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.values import dataclass, field
from atoll.accel import PROCESSOR as HOST_ROOT
from atoll.build.boundaries import include_folder
from atoll.build.parts import MODULE, ROOT_SYMBOL, Part
from atoll.build.request import BuildRequest
from atoll.manifest import Shape
from atoll.plugin import Unit
from atoll.plugin.memories import memories
from atoll.runtime import core_source
from atoll.runtime import include_folder as runtime_include_folder

if TYPE_CHECKING:
    from atoll.boundary import Interface


@dataclass(slots=True)
class Generated:
    """Sources that the planner writes, and the units that compile them.

    Attributes:
        files: Text by path relative to the root.
        units: For the host lane.
        libraries: What a part's link takes for them, by the part's output.
    """

    files: dict[str, str] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)
    libraries: dict[str, tuple[str, ...]] = field(default_factory=dict)


def driver_of(request: BuildRequest, root: str, backends: Iterable[str]) -> str:
    """Return the driver that a root's code is launched through, or an empty text.

    It is the one named like the root; else that of the one backend whose code the root holds.
    """
    if root in request.registry.drivers:
        return root
    named = sorted(set(backends) & set(request.registry.drivers))
    return named[0] if len(named) == 1 else ""


def add_runtime(request: BuildRequest, generated: Generated, part: Part, drivers: Iterable[str]) -> None:
    """Add the core and the launchers of `drivers` to a part."""
    libraries: list[str] = []
    sources = {str(core_source()): None}
    for driver in sorted(set(drivers)):
        launcher = request.registry.drivers[driver].launcher()
        if launcher is None:
            continue
        path = f"{request.plan_folder}/launchers/{driver}.c"
        generated.files[path] = launcher.text
        sources[path] = None
        libraries += launcher.libraries
    for path in sources:
        _add_unit(request, generated, part, path)
    generated.libraries[part.output] = tuple(dict.fromkeys(libraries))


def add_root(
    request: BuildRequest,
    generated: Generated,
    part: Part,
    interface: Interface,
    driver: str,
    *,
    registry: bool = False,
    declared: bool = False,
) -> None:
    """Add the table that the root's library exports; behind its suffix where a registry holds several.

    `declared` is whether nothing in the root's bytes says which devices they are for.
    """
    from atoll.boundary import root_source
    from atoll.boundary.registry import suffixed

    path = f"{request.plan_folder}/roots/{part.target}/{part.root}.c"
    processor = driver in ("", HOST_ROOT)
    generated.files[path] = root_source(
        interface,
        part.root,
        carried=None if processor else request.accel.get(driver),
        version=request.manifest.package.version,
        driver="" if processor else driver,
        place=f"{part.target}: {part.root}" if registry else "",
        declared=declared,
    )
    forced = (root_header_path(request, interface.module, part.root),) if registry else ()
    defines = (f"{ROOT_SYMBOL}={suffixed(ROOT_SYMBOL, part.root)}",) if registry else ()
    _add_unit(request, generated, part, path, force_include=forced, defines=defines)


def root_header_path(request: BuildRequest, module: str, root: str) -> str:
    """Return where the header stands that renames the entries of a root, relative to the project."""
    from atoll.boundary import root_header_name

    return f"{include_folder(request)}/{root_header_name(module, root)}"


def registry_files(request: BuildRequest, interface: Interface) -> dict[str, str]:
    """Return the headers of a registry: its table, and one for each root."""
    from atoll.boundary import registry_header, registry_header_name, root_header

    table = f"{include_folder(request)}/{registry_header_name(interface)}"
    renaming = {
        root_header_path(request, interface.module, root): root_header(interface, root)
        for root in interface.roots
    }
    return {table: registry_header(interface), **renaming}


def add_registry(
    request: BuildRequest, generated: Generated, part: Part, interface: Interface, roots: Iterable[str]
) -> None:
    """Add what chooses among the roots of a program."""
    from atoll.boundary import registry_source

    path = f"{request.plan_folder}/registries/{part.target}.c"
    generated.files[path] = registry_source(interface, tuple(roots))
    _add_unit(request, generated, part, path)
    generated.libraries[part.output] = (*generated.libraries.get(part.output, ()), "-lpthread")


def add_module(
    request: BuildRequest, generated: Generated, part: Part, interface: Interface, shape: Shape, python: str
) -> None:
    """Add the source of a Python extension module; `python` is the folder of ``Python.h``."""
    from atoll.boundary import python_source

    path = f"{request.plan_folder}/modules/{interface.module}.c"
    # Only what takes device memory asks drivers: the others are not loaded for it.
    asked = interface.roots if any(item.entry.device_space for item in interface.entries) else ()
    known = memories(request.registry.drivers, asked)
    generated.files[path] = python_source(interface, str(shape), known)
    includes = (python, *_split_headers(request, generated, Path(python)))
    _add_unit(request, generated, part, path, includes=includes, root=part.root or MODULE)


def _split_headers(request: BuildRequest, generated: Generated, python: Path) -> tuple[str, ...]:
    """Return the folder of a header that leads to Python's configuration, where that lies apart.

    Debian's ``pyconfig.h`` includes ``<x86_64-linux-gnu/python3.11/pyconfig.h>``, which the machine's own
    compilers find beside the rest and one that brings its own C library does not.
    """
    import sysconfig

    place = f"{sysconfig.get_config_var('MULTIARCH')}/{python.name}/pyconfig.h"
    apart = python.parent / place
    if not apart.is_file():
        return ()
    folder = f"{request.plan_folder}/python"
    generated.files[f"{folder}/{place}"] = f'#include "{apart.as_posix()}"\n'
    return (folder,)


def _add_unit(
    request: BuildRequest,
    generated: Generated,
    part: Part,
    path: str,
    *,
    includes: tuple[str, ...] = (),
    force_include: tuple[str, ...] = (),
    defines: tuple[str, ...] = (),
    root: str | None = None,
) -> None:
    generated.units.append(
        Unit(
            path=path,
            target=part.target,
            root=part.root if root is None else root,
            includes=(*includes, *generated_includes(request)),
            force_include=force_include,
            defines=defines,
            hidden=True,
            flags=("-w",),
        )
    )


def generated_includes(request: BuildRequest) -> tuple[str, ...]:
    """Return the include folders of generated sources."""
    return (include_folder(request), str(runtime_include_folder()))
