"""How do bytes get behind an accessor? One C file an embedded file, written by an action, and one header."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atoll._util.spelling import this_python
from atoll.boundary import DataItem, data_header, data_items
from atoll.boundary.data import data_header_name
from atoll.build.boundaries import include_folder
from atoll.build.request import BuildRequest
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, Unit
from atoll.plugin.tools import output_path

_EMBED = str(Path(__file__).resolve().with_name("embed.py"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedFile:
    """One embedded file of one target.

    Attributes:
        product: What a lane made.
        source: The C file that holds it.
        action: What writes that file.
    """

    product: DataProduct
    source: str
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlan:
    """All embedded files of a build: the header that declares them, and their C files."""

    header: str
    text: str
    files: tuple[EmbeddedFile, ...]


def plan_data(request: BuildRequest, products: Sequence[DataProduct]) -> DataPlan:
    """Return the accessors of what lanes made; the author's paths name them.

    Raises:
        BoundaryError: Where two files become one name.
    """
    package = request.manifest.package.name
    items = data_items((product.unit.path for product in products), package=package)
    by_path = {item.path: item for item in items}
    header = data_header_name(package)
    files = tuple(_embedded(request, product, by_path[product.unit.path], header) for product in products)
    return DataPlan(
        header=f"{include_folder(request)}/{header}", text=data_header(items, package), files=files
    )


def _embedded(request: BuildRequest, product: DataProduct, item: DataItem, header: str) -> EmbeddedFile:
    source = output_path(request.folder, "data", product.unit.target, product.unit.path) + ".c"
    place = {"path": item.path, "namespace": list(item.namespace), "identifier": item.identifier}
    action = Action(
        name=f"data {product.unit.target} {product.unit.path}",
        argv=(
            *(this_python(), "-I", _EMBED, product.path, source, header),
            *(json.dumps(place), json.dumps(_record(product))),
        ),
        inputs=(product.path, _EMBED),
        outputs=(source,),
        role=Role.SOURCE,
        description=f"store {product.unit.path}",
    )
    return EmbeddedFile(product=product, source=source, action=action)


def _record(product: DataProduct) -> dict[str, Any] | None:
    if not product.backend:
        return None
    entry = product.unit.entry
    return {
        "backend": product.backend,
        "kind": product.form,
        "entry": product.entry_point,
        "version": str(entry.version) if entry and entry.version else "",
        "declared": product.declared,
    }


def data_units(files: Iterable[EmbeddedFile], includes: tuple[str, ...]) -> tuple[Unit, ...]:
    """Return the units that compile the C files into their targets."""
    return tuple(
        Unit(
            path=file.source,
            target=file.product.unit.target,
            root=file.product.unit.root,
            includes=includes,
            hidden=True,
            flags=("-w",),
        )
        for file in files
    )
