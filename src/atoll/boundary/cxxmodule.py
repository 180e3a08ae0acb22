"""What does C++20 see? One module over the header: every entry in its namespace, under all of its names.

With a registry each entry is declared again in its namespace instead of being exported by a
using-declaration: g++ 12 drops an exported using-declaration in silence. C linkage makes it the same function
([dcl.link]), which clears what the last call reported before it sends the call to a root. With one root
nothing stands between a caller and the island, so the module does it: an inline function forgets, then calls
(``docs/decisions/0224-the-module-clears-before-a-call.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from atoll.boundary.cheader import GENERATED, c_declaration, header_name
from atoll.boundary.interface import Interface, InterfaceEntry
from atoll.boundary.names import module_stem

_HIDDEN = '__attribute__((visibility("hidden")))'


def cxx_module_file(module: str) -> str:
    """Return the file name of the module's unit: ``thread.kernels`` gives ``thread_kernels.cppm``."""
    return f"{module_stem(module)}.cppm"


def cxx_module(interface: Interface, shape: str = "link") -> str:
    """Return the C++20 module interface unit of a boundary.

    Args:
        interface: What `compare` answers.
        shape: ``registry`` adds `use`, which sends later calls of the process to one root.
    """
    space = "::".join(interface.segments)
    own = [
        f'extern "C" {_HIDDEN} const char *atoll_device_name(void);',
        f'extern "C" {_HIDDEN} const char *atoll_last_error(void);',
    ]
    use = f"{module_stem(interface.module)}_use"
    registry = shape == "registry"
    own += [
        f'extern "C" int {use}(const char *root);'
        if registry
        else f'extern "C" {_HIDDEN} void atoll_forget(void);'
    ]
    forget = "" if registry else f"::{space}::atoll_forget"
    lines = [
        f"// The boundary `{interface.module}` of `{interface.package}` as a C++20 module. {GENERATED}",
        "module;",
        f'#include "{header_name(interface.module)}"',
        f"export module {interface.module};",
        "",
        *_namespace("namespace", space, own),
        *_namespace("export namespace", space, _shared(interface, use if registry else "")),
    ]
    for path, items in groupby(interface.entries, key=lambda item: item.entry.namespace):
        inside = [line for item in items for line in _entry(item, forget)]
        lines += _namespace("export namespace", "::".join([space, *path]), inside)
    return "\n".join(lines)


def _namespace(head: str, name: str, inside: Sequence[str]) -> list[str]:
    return [f"{head} {name} {{", *inside, "}", ""]


def _shared(interface: Interface, use: str) -> list[str]:
    lines = [
        *(f"using {struct.name} = ::{struct.name};" for struct in interface.structs),
        "/// Returns the device that this thread's last call reported; empty where it reported none.",
        "inline const char *device_name() { return atoll_device_name(); }",
        "/// Returns the text of this thread's last failure; empty where there was none.",
        "inline const char *last_error() { return atoll_last_error(); }",
    ]
    if use:
        lines += [
            "/// Sends every later call of the process to one root; `nullptr`: to the first available one.",
            "/// Returns 0, or nonzero where it cannot be used, with the reason in `last_error()`.",
            f"inline int use(const char *root) {{ return {use}(root); }}",
        ]
    return lines


def _entry(item: InterfaceEntry, forget: str) -> Iterator[str]:
    """Give an entry under its names; where `forget` names a function, a call goes through it first."""
    yield from (f"/// {line}".rstrip() for line in item.entry.doc.replace("\\", "/").splitlines())
    if forget:
        given = ", ".join(parameter.name for parameter in item.entry.parameters)
        yield f"inline {c_declaration(item.entry)} {{ {forget}(); return ::{item.name}({given}); }}"
    else:
        yield f'extern "C" {c_declaration(item.entry)};'
    for name in item.names:
        if name != item.name:
            yield f"inline constexpr auto {name} = {item.name};"
