"""How an island is called: from marked declarations to a C header, a C++20 module and a Python module.

Words: an *entry* is one exported function; an *extent* says how many elements a pointer reaches; a
*root* is a folder that holds one implementation of the entries; a *seam* is the place where an
implementation is swapped. Which roots a build takes is decided in :mod:`atoll.build`.

The way: :func:`scan` each root, :func:`compare` them to one :class:`Interface`, and write
:func:`header`, :func:`cxx_module`, :func:`python_source`, :func:`python_files`; for each root that is
built :func:`root_source`, and for a program that holds several of them :func:`registry_source`.
Names that generate or parse are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from atoll.boundary.values import Access, Entry, Extent, Parameter, Struct

if TYPE_CHECKING:
    from atoll.boundary.cheader import header, header_name, struct_text
    from atoll.boundary.data import DataItem, data_header, data_items, data_source
    from atoll.boundary.interface import (
        Interface,
        InterfaceEntry,
        clause,
        compare,
        declaration,
        default_module,
    )
    from atoll.boundary.python import module_file, python_source, root_file
    from atoll.boundary.registry import (
        registry_header,
        registry_header_name,
        registry_source,
        registry_symbols,
        root_header,
        root_header_name,
    )
    from atoll.boundary.root import root_source
    from atoll.boundary.roots import Root, scan
    from atoll.boundary.stub import python_files

_LATE = {
    "DataItem": "data",
    "Interface": "interface",
    "InterfaceEntry": "interface",
    "Root": "roots",
    "clause": "interface",
    "compare": "interface",
    "cxx_module": "cxxmodule",
    "cxx_module_file": "cxxmodule",
    "data_header": "data",
    "data_items": "data",
    "data_source": "data",
    "declaration": "interface",
    "default_module": "interface",
    "header": "cheader",
    "header_name": "cheader",
    "module_file": "python",
    "python_files": "stub",
    "python_source": "python",
    "registry_header": "registry",
    "registry_header_name": "registry",
    "registry_source": "registry",
    "registry_symbols": "registry",
    "root_file": "python",
    "root_header": "registry",
    "root_header_name": "registry",
    "root_source": "root",
    "scan": "roots",
    "struct_text": "cheader",
}

__all__ = [
    "Access",
    "DataItem",
    "Entry",
    "Extent",
    "Interface",
    "InterfaceEntry",
    "Parameter",
    "Root",
    "Struct",
    "clause",
    "compare",
    "cxx_module",
    "cxx_module_file",
    "data_header",
    "data_items",
    "data_source",
    "declaration",
    "default_module",
    "header",
    "header_name",
    "module_file",
    "python_files",
    "python_source",
    "registry_header",
    "registry_header_name",
    "registry_source",
    "registry_symbols",
    "root_file",
    "root_header",
    "root_header_name",
    "root_source",
    "scan",
    "struct_text",
]


def __getattr__(name: str) -> Any:
    """Import what generates or parses only where it is used."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
