"""How does one program hold several roots? Each behind a suffix, and a table that chooses at run time.

A unit of the root `cuda` is compiled with a header that renames each entry: ``app_saxpy`` is
``app_saxpy__cuda`` there. The registry defines ``app_saxpy`` itself and sends each call to the first root
that can be used, or to the named one. A Python package has its own: :mod:`atoll.boundary.python`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from atoll.boundary.cheader import GENERATED, c_declaration, header_name
from atoll.boundary.interface import Interface, InterfaceEntry
from atoll.boundary.names import module_stem
from atoll.boundary.python import c_string
from atoll.boundary.values import Entry

BODY = "registry.c"
ROOT_SYMBOL = "atoll_root_v1"


def suffixed(name: str, root: str) -> str:
    """Return the symbol of an entry in one root: ``app_saxpy__cuda``."""
    return f"{name}__{root}"


def root_header_name(module: str, root: str) -> str:
    """Return the file name of :func:`root_header`: ``app_kernels__cuda.h``."""
    return f"{module_stem(module)}__{root}.h"


def registry_header_name(interface: Interface) -> str:
    """Return the file name of :func:`registry_header`: ``app_kernels_roots.h``."""
    return f"{module_stem(interface.module)}_roots.h"


def registry_symbols(interface: Interface) -> tuple[str, ...]:
    """Return what a registry defines beside the entries."""
    stem = module_stem(interface.module)
    return (f"{stem}_roots", f"{stem}_use")


def root_header(interface: Interface, root: str) -> str:
    """Return the header that every unit of a root is compiled with: it renames the entries.

    It depends on declarations alone: a root that lacks an entry renames it too.
    """
    names = [item.name for item in interface.entries]
    return "\n".join(
        [
            f"/* The root `{root}` of `{interface.module}` in a registry. {GENERATED} */",
            *(f"#define {name} {suffixed(name, root)}" for name in names),
            f'#include "{header_name(interface.module)}"',
            "",
        ]
    )


def registry_header(interface: Interface) -> str:
    """Return the header of the table, for C11 and for C++."""
    stem = module_stem(interface.module)
    pointers = [f"    {_pointer(item.entry)};" for item in interface.entries]
    return "\n".join(
        [
            f"/* The roots of `{interface.module}`. {GENERATED} */",
            f"#ifndef ATOLL_REGISTRY_{stem.upper()}_H",
            f"#define ATOLL_REGISTRY_{stem.upper()}_H",
            f'#include "{header_name(interface.module)}"',
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            "/* One root. What `device` and `reason` return stays for the process. */",
            f"typedef struct {stem}_root {{",
            "  const char *name;",
            "  int (*available)(void);       /* 1 where it can be used on this machine */",
            '  const char *(*device)(void);  /* the device\'s own name; "" for the processor */',
            '  const char *(*reason)(void);  /* why it cannot be used; "" where it can */',
            "  struct {",
            *pointers,
            "  } entries; /* NULL where the root lacks one */",
            f"}} {stem}_root;",
            "",
            "/* Every root in the order of choice, the processor last. */",
            f"const {stem}_root *{stem}_roots(size_t *count);",
            "/* Send every later call of the process to one root; NULL: to the first available one again.",
            " * 0, or nonzero where it cannot be used, with the reason in atoll_last_error(). */",
            f"int {stem}_use(const char *root);",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "#endif",
            "",
        ]
    )


def _pointer(entry: Entry) -> str:
    head, _, parameters = c_declaration(entry).partition("(")
    result = head.removesuffix(entry.name).rstrip()
    return f"{result} (*{entry.name})({parameters}"


def registry_source(interface: Interface, built: Collection[str]) -> str:
    """Return the C text of the registry.

    Args:
        interface: The boundary.
        built: The roots that are linked with it.
    """
    stem = module_stem(interface.module)
    roots = interface.roots
    tables = [f"{suffixed(ROOT_SYMBOL, root)}" if root in built else "NULL" for root in roots]
    return "\n".join(
        [
            f"/* The registry of `{interface.module}`. {GENERATED} */",
            "#include <pthread.h>",
            "#include <stdarg.h>",
            "#include <stdatomic.h>",
            "#include <stdio.h>",
            "#include <stdlib.h>",
            "#include <string.h>",
            '#include "atoll_launch.h"',
            '#include "atoll_root.h"',
            f'#include "{registry_header_name(interface)}"',
            "",
            f"#define ATOLL_MODULE {c_string(interface.module)}",
            f"enum {{ ATOLL_ROOT_COUNT = {len(roots)} }};",
            *(f"const atoll_root *{suffixed(ROOT_SYMBOL, root)}(void);" for root in roots if root in built),
            f"static const char *const atoll_root_names[] = {{{', '.join(map(c_string, roots))}}};",
            f"static const atoll_root *(*const atoll_root_tables[])(void) = {{{', '.join(tables)}}};",
            "",
            Path(__file__).with_name(BODY).read_text(encoding="utf-8"),
            *(line for index, root in enumerate(roots) for line in _root(interface, index, root, built)),
            f"static const {stem}_root rows[] = {{",
            *(f"  {_row(interface, root, built)}," for root in roots),
            "};",
            "",
            f"ATOLL_SHOWN const {stem}_root *{stem}_roots(size_t *count) {{",
            "  *count = ATOLL_ROOT_COUNT;",
            "  return rows;",
            "}",
            "",
            f"ATOLL_SHOWN int {stem}_use(const char *root) {{ return atoll_use(root); }}",
            "",
            *(line for item in interface.entries for line in _entry(item)),
        ]
    )


def _defines(item: InterfaceEntry, root: str, built: Collection[str]) -> bool:
    return root in built and root not in item.lacking


def _root(interface: Interface, index: int, root: str, built: Collection[str]) -> Iterator[str]:
    yield f"static int available__{root}(void) {{ return (int)atoll_open({index})->available; }}"
    yield f"static const char *device__{root}(void) {{ return atoll_open({index})->device; }}"
    yield f"static const char *reason__{root}(void) {{ return atoll_open({index})->reason; }}"
    for item in interface.entries:
        if _defines(item, root, built):
            symbol = suffixed(item.name, root)
            yield f"{_renamed(item.entry, symbol)};"
            yield f"static {_renamed(item.entry, f'call_{symbol}')} {{"
            yield "  atoll_begin();"
            yield f"  {_returns(item.entry)}{symbol}({_passed(item.entry)});"
            yield "}"
    yield ""


def _renamed(entry: Entry, name: str) -> str:
    head, _, parameters = c_declaration(entry).partition("(")
    return f"{head.removesuffix(entry.name)}{name}({parameters}"


def _passed(entry: Entry) -> str:
    return ", ".join(item.name for item in entry.parameters)


def _returns(entry: Entry) -> str:
    return "" if entry.result == "void" else "return "


def _row(interface: Interface, root: str, built: Collection[str]) -> str:
    calls = [
        f"call_{suffixed(item.name, root)}" if _defines(item, root, built) else "NULL"
        for item in interface.entries
    ]
    own = f"available__{root}, device__{root}, reason__{root}"
    return f"{{{c_string(root)}, {own}, {{{', '.join(calls)}}}}}"


def _entry(item: InterfaceEntry) -> Iterator[str]:
    """Give the entry itself: with a status it fails by that; without one it stops the program."""
    entry = item.entry
    yield f"ATOLL_SHOWN {c_declaration(entry)} {{"
    yield "  const int root = atoll_pick();"
    yield f"  if (root >= 0 && rows[root].entries.{entry.name} != NULL)"
    yield f"    {_returns(entry)}rows[root].entries.{entry.name}({_passed(entry)});"
    if entry.status:
        yield f"  return atoll_refused(root, {c_string(entry.name)});"
    elif entry.result == "void":
        yield "  else"
        yield f"    atoll_stop(root, {c_string(entry.name)});"
    else:
        yield f"  atoll_stop(root, {c_string(entry.name)});"
    yield "}"
    yield ""
