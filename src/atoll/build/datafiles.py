"""How do bytes get behind an accessor? One object an embedded file, and one header.

What a lane made is stored by one C file of the runtime, compiled with other macros for each; what a table
names by a C file that an action writes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.spelling import this_python
from atoll._util.values import dataclass, field
from atoll.boundary import DataItem, data_header
from atoll.boundary.data import data_header_name, data_item, one_name_faults
from atoll.boundary.names import folded
from atoll.boundary.stored import PYTHON_FOLDER, python_accessors, side_folder
from atoll.build.boundaries import include_folder
from atoll.build.parts import Part, python_folder
from atoll.build.request import BuildRequest
from atoll.diagnostics import Diagnostic
from atoll.errors import BoundaryError
from atoll.graph import Action, Role
from atoll.manifest import Storage
from atoll.plugin import DataProduct, Unit
from atoll.plugin.tools import output_path
from atoll.runtime import include_folder as runtime_include_folder
from atoll.runtime import stored_source
from atoll.runtime.record import Record, stored_defines

if TYPE_CHECKING:
    from atoll.build.datatables import Embedded

_EMBED = str(Path(__file__).resolve().with_name("embed.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedFile:
    """One embedded file of one target.

    Attributes:
        product: What a lane made.
        named: The path that names its object.
        defines: The macros that say which file is stored.
        symbol: The name of its accessor and of its record.
    """

    product: DataProduct
    named: str
    defines: tuple[str, ...]
    symbol: str

    @property
    def unit(self) -> Unit:
        """What it was made from, as the libraries of its target take it."""
        return self.product.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlan:
    """All embedded files of a build.

    Attributes:
        headers: The text of each package's header, by path.
        files: What each thing that a lane made is stored by.
        tables: The files of ``[data.NAME]`` tables.
        actions: What writes the C files of tables.
        units: What compiles them.
        items: Each package's items with the file that holds the bytes, for Python.
    """

    headers: Mapping[str, str] = field(default_factory=dict)
    files: tuple[EmbeddedFile, ...] = ()
    tables: tuple[Embedded, ...] = ()
    actions: tuple[Action, ...] = ()
    units: tuple[Unit, ...] = ()
    items: Mapping[str, tuple[tuple[DataItem, str], ...]] = field(default_factory=dict)


def plan_data(request: BuildRequest, products: Sequence[DataProduct]) -> DataPlan:
    """Return the accessors of what lanes made and of what tables name; the author's paths name them.

    Raises:
        BoundaryError: Where two files become one name, or one cannot be embedded.
    """
    tables = _tables(request)
    named = {product.unit.path: _product_item(request, product) for product in products}
    items: dict[str, dict[DataItem, str]] = {}
    for product in products:
        items.setdefault(_package(request, product), {})[named[product.unit.path]] = product.path
    for one in tables:
        items.setdefault(one.package, {})
    listed = {
        package: (*found.items(), *((one.item, one.path) for one in tables if one.package == package))
        for package, found in items.items()
    }
    faults = [fault for rows in listed.values() for fault in one_name_faults(item for item, _ in rows)]
    if faults:
        raise BoundaryError(*faults)
    listed = {name: tuple(sorted(rows, key=lambda row: row[0].path)) for name, rows in listed.items()}
    files = tuple(
        _embedded(request, product, named[product.unit.path], data_header_name(_package(request, product)))
        for product in products
    )
    stored = [_stored(request, one) for one in tables if one.storage is not Storage.HEADER]
    includes = (include_folder(request), str(runtime_include_folder()))
    return DataPlan(
        headers={
            f"{include_folder(request)}/{data_header_name(package)}": data_header(
                [item for item, _ in rows], package
            )
            for package, rows in listed.items()
        },
        files=files,
        tables=tables,
        actions=tuple(action for action, _ in stored),
        units=(*data_units(files, includes), *(unit for _, unit in stored), *_anchors(tables)),
        items=listed,
    )


def _tables(request: BuildRequest) -> tuple[Embedded, ...]:
    if not request.manifest.data:
        return ()
    from atoll.build.datatables import embedded_files

    return embedded_files(request.root, request.manifest)


def _package(request: BuildRequest, product: DataProduct) -> str:
    origin = request.manifest.targets[product.unit.target].origin
    return origin.package or request.manifest.package.name


def _product_item(request: BuildRequest, product: DataProduct) -> DataItem:
    """Return the item of what a lane made: named by the author's path, or by what the build program said."""
    path, named = product.unit.path, product.unit.path
    origin = request.manifest.targets[product.unit.target].origin
    if origin.base:
        named = os.path.relpath(path, origin.base)
    for folder in (request.folder, request.plan_folder):
        inner = f"{folder}/program/{origin.package}/" if origin.package else f"{folder}/program/"
        named = path.removeprefix(inner) if path.startswith(inner) else named
    return data_item(path, named, package=_package(request, product))


def _stored(request: BuildRequest, one: Embedded) -> tuple[Action, Unit]:
    """Return what writes the C file of a table's file, and what compiles it."""
    source = output_path(request.folder, "data", one.target, one.item.symbol) + ".c"
    place = {
        "path": one.item.path,
        "namespace": list(one.item.namespace),
        "identifier": one.item.identifier,
        "package": one.package,
        "storage": str(one.storage),
    }
    header = data_header_name(one.package)
    action = Action(
        name=f"data {one.target} {one.path}",
        argv=(this_python(), "-I", _EMBED, _plain_path(one.path), source, header, json.dumps(place)),
        inputs=(one.path, _EMBED),
        outputs=(source,),
        role=Role.SOURCE,
        description=f"store {one.path}",
    )
    includes = (include_folder(request), str(runtime_include_folder()))
    unit = Unit(path=source, target=one.target, includes=includes, hidden=True, flags=("-w",))
    return action, unit


def _plain_path(path: str) -> str:
    """Return a path that no program takes for an option."""
    return f"./{path}" if path.startswith("-") else path


def _anchors(tables: Sequence[Embedded]) -> Iterator[Unit]:
    """Give an empty unit for each archive, which may hold no object otherwise."""
    for target in sorted({one.target for one in tables}):
        yield Unit(path=str(Path(__file__).with_name("anchor.c")), target=target, hidden=True)


def side_copies(plan: DataPlan, folder: str) -> tuple[Action, ...]:
    """Return what brings the side files beside the images of a folder."""
    if not plan.tables:
        return ()
    from atoll.build.packagetree import copy_action

    return tuple(
        copy_action(
            one.path, f"{folder}/{side_folder(one.package)}/{one.item.symbol}", f"{folder} {one.path}"
        )
        for one in plan.tables
        if one.storage is Storage.FILE
    )


def python_data(
    request: BuildRequest, plan: DataPlan, parts: Sequence[Part]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the modules of the project's embedded files, and those files, by path in a wheel.

    What a library of the package holds anyway is read there and shipped once.

    Args:
        request: The build.
        plan: Its embedded files.
        parts: The libraries of the package.

    Raises:
        BoundaryError: Where a namespace would hide a boundary's module.
    """
    package = request.manifest.package.name
    rows = plan.items.get(package, ())
    items = [item for item, _ in rows]
    modules = {tuple(table.module.split(".")): table for table in request.manifest.boundary.values()}
    faults = [
        Diagnostic(
            code="ATL0319",
            message=f"embedded files below `{'.'.join(space)}` hide the module of that name",
            span=modules[space].span,
            notes=(f"one of the files: {item.path}", f"the boundary's module: {'.'.join(space)}"),
            hint="rename the folder, or the module",
        )
        for item in items
        for space in (item.namespace[:depth] for depth in range(2, len(item.namespace) + 1))
        if space in modules
    ]
    if faults:
        raise BoundaryError(*faults)
    top = folded(package)
    inside = dict(_in_libraries(request, plan, parts))
    return python_accessors(items, package, inside), [
        (f"{top}/{PYTHON_FOLDER}/{item.symbol}", path) for item, path in rows if item.symbol not in inside
    ]


def _in_libraries(request: BuildRequest, plan: DataPlan, parts: Sequence[Part]) -> Iterator[tuple[str, str]]:
    """Give what lanes made with the first library that links its object, by path in a wheel."""
    for file in plan.files:
        taking = (part.output for part in parts if part.takes(file.unit))
        library = next(taking, None)
        if library is not None:
            yield file.symbol, library.removeprefix(f"{python_folder(request)}/")


def _embedded(request: BuildRequest, product: DataProduct, item: DataItem, header: str) -> EmbeddedFile:
    """Return what stores what a lane will make; nothing of it waits for the bytes."""
    named = output_path(request.plan_folder, "data", product.unit.target, product.unit.path) + ".c"
    entry = product.unit.entry
    record = Record(
        backend=product.backend,
        kind=product.form,
        entry=product.entry_point,
        version=str(entry.version) if entry and entry.version else "",
        declared=product.declared,
        payload=b"",
        name=item.symbol,
    )
    defines = stored_defines(item.symbol, record, product.path, header=header)
    return EmbeddedFile(product=product, named=named, defines=defines, symbol=item.symbol)


def data_units(files: Iterable[EmbeddedFile], includes: tuple[str, ...]) -> tuple[Unit, ...]:
    """Return the units that store the files in their targets."""
    source = str(stored_source())
    return tuple(
        Unit(
            path=source,
            named=file.named,
            defines=file.defines,
            target=file.product.unit.target,
            root=file.product.unit.root,
            includes=includes,
            reads=(file.product.path,),
            hidden=True,
            # What the assembler defines is not seen by the optimiser of a whole program.
            flags=("-w", "-fno-lto"),
        )
        for file in files
    )
