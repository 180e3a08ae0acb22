"""Does an island keep out of the C++ standard library? What its object leaves undefined says so.

An island is linked into a program that may have another C++ library, or another version of one. Symbols of
the library that its object needs tie it to the one that it was compiled with.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path

from atoll.diagnostics import Diagnostic, Severity
from atoll.graph import Action, Role

# Names in `std` by the Itanium C++ ABI, 5.1: members, free functions, abbreviations, tables of types.
_LIBRARY = re.compile(r"_Z(?:T[VISTN])?(?:N[KVrR]*)?S[tabsiod]")
MOST_SYMBOLS = 1 << 20
SHOWN = 3
_TWO = (
    "a program with another C++ library would hold two: what is thrown or built by one "
    "means nothing to the other"
)


def island_objects(actions: Iterable[Action], folder: str, others: Collection[str]) -> tuple[str, ...]:
    """Return the objects that lanes make, below a build folder.

    Args:
        actions: What ran.
        folder: The build folder; each lane has one of its name in it.
        others: Lanes that are left out: the host's, and those that keep inside what their units throw.
    """
    return tuple(
        output
        for action in actions
        if action.role is Role.OBJECT
        for output in action.outputs
        if output.startswith(f"{folder}/")
        and output.removeprefix(f"{folder}/").partition("/")[0] not in others
    )


def undefined(path: Path) -> tuple[str, ...]:
    """Return the symbols of the C++ library that an object needs; none where it is no readable ELF file."""
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    try:
        with path.open("rb") as file:
            table = ELFFile(file).get_section_by_name(".symtab")
            if not isinstance(table, SymbolTableSection) or table.num_symbols() > MOST_SYMBOLS:
                return ()
            named = (symbol.name for symbol in table.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF")
            return tuple(dict.fromkeys(name for name in named if _LIBRARY.match(name)))
    except (OSError, ELFError, ValueError, KeyError, IndexError, AttributeError, OverflowError):
        return ()


def notes(root: Path, objects: Iterable[str]) -> tuple[Diagnostic, ...]:
    """Return a note for each island that needs the C++ library."""
    found = []
    for path in objects:
        names = undefined(root / path)
        if names:
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            found.append(
                Diagnostic(
                    code="ATL0536",
                    severity=Severity.NOTE,
                    message=f"the island `{path}` needs the C++ standard library",
                    notes=(
                        f"undefined in it: {', '.join(names[:SHOWN])}{more}",
                        _TWO,
                    ),
                    hint="keep to plain C types in the island, and let nothing thrown leave it",
                )
            )
    return tuple(found)
