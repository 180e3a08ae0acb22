"""Who imports a boundary's C++20 module? A target gets the module's unit where some unit's text imports it.

A build without such an import scans nothing and compiles no module. The texts that were read are inputs of
the plan, so an import that comes or goes is seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from atoll.build.request import BuildRequest
from atoll.build.roots import Generated, generated_includes
from atoll.manifest import Shape
from atoll.plugin import Unit

if TYPE_CHECKING:
    from atoll.boundary import Interface

_CXX = frozenset((".cc", ".cpp", ".cppm", ".cxx"))
_LIMIT = 4 << 20
_IMPORT = re.compile(
    rb"^[ \t]*(?:export[ \t]+)?import[ \t]+([A-Za-z_]\w*(?:[ \t]*\.[ \t]*\w+)*)[ \t]*;", re.MULTILINE
)


def texts(units: Iterable[Unit]) -> tuple[str, ...]:
    """Return the units whose text can import a module."""
    return tuple(sorted({unit.path for unit in units if PurePosixPath(unit.path).suffix in _CXX}))


def imported(root: Path, paths: Iterable[str]) -> frozenset[str]:
    """Return the names of the modules that these texts import."""
    found: set[bytes] = set()
    for path in paths:
        try:
            with (root / path).open("rb") as stream:
                found.update(_IMPORT.findall(stream.read(_LIMIT)))
        except OSError:
            continue  # its compilation says what is wrong with it
    return frozenset(re.sub(rb"[ \t]", b"", name).decode("ascii", "replace") for name in found)


def add_cxx_module(
    request: BuildRequest, generated: Generated, target: str, interface: Interface, shape: Shape
) -> None:
    """Add the unit of a boundary's module to a target."""
    from atoll.boundary import cxx_module, cxx_module_file

    path = f"{request.plan_folder}/modules/{cxx_module_file(interface.module)}"
    generated.files[path] = cxx_module(interface, str(shape))
    generated.units.append(
        Unit(path=path, target=target, includes=generated_includes(request), hidden=True, flags=("-w",))
    )
