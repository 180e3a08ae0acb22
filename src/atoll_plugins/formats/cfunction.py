"""How does `<atoll/target.h>` look: the standard set as functions of a C-like language?

In C each intrinsic is `Target_ldcs(p)`; in C++ it is `Target::ldcs(p)` too. Made from the registry by
`tools/headers.py`, one header a platform, and kept beside the lane that offers it. Where implementations have
floors, a condition that the language's own compiler decides picks among them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import atoll
from atoll.errors import CompileError
from atoll.ir import Kernel, LaunchLayout, View, layout, nodes, ops
from atoll.ir.walk import accesses
from atoll.kernels.intrinsics.bodies import RESULT, LoweredBody, lowered
from atoll.kernels.intrinsics.interface import Intrinsic, intrinsics_of
from atoll.kernels.intrinsics.lookup import load
from atoll.plugin import Target
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.ctext import CPrinter
from atoll_plugins.formats.inline import Languages, inline_faults

#: Intrinsics that no function of a C-like language can have, and why.
_NOT = {
    "copy_async": "its first pointer is one of the group's memory, which a plain pointer is not",
    "copy_wait": "it waits for copy_async",
    "mma": "its pointers are of the group's memory, which plain pointers are not",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionStyle:
    """How a platform's functions look.

    Attributes:
        dialect: The language.
        platform / arch: What intrinsics are looked up for.
        prefix: What stands before a function's result.
        space: What stands before a pointer's element, where memory has a name.
        head: Lines at the top: includes.
        languages: The inline code that the language takes.
        condition: For a floor, what the compiler is asked (`__CUDA_ARCH__ >= 350`); None for no floors.
    """

    dialect: Dialect
    platform: str
    arch: str = ""
    prefix: str = "static inline"
    space: str = ""
    head: tuple[str, ...] = ()
    languages: Languages
    condition: Callable[[str], str] | None = None


class _FunctionPrinter(CPrinter):
    """Prints the body of one intrinsic."""

    def __init__(self, dialect: Dialect, kernel: Kernel, found: LaunchLayout) -> None:
        super().__init__(dialect, kernel, found)

    def builtin(self, op: ops.Id, dimension: int) -> str:
        raise AssertionError(f"an intrinsic of the standard set asks for {op}")

    def barrier(self) -> None:
        raise AssertionError("an intrinsic of the standard set waits")

    def fence(self, scope: ops.Scope) -> None:
        raise AssertionError("an intrinsic of the standard set has a fence")

    def leave(self) -> None:
        """Return: nothing follows a result."""

    def atomic(self, stmt: nodes.Atomic, address: str) -> str:
        raise AssertionError("an intrinsic of the standard set is atomic")

    def parameter(self, expr: nodes.Param) -> str:
        """Return a parameter by its name."""
        return expr.name

    def element(self, base: str, indices: tuple[nodes.Expr, ...]) -> str:
        """Return an element of a pointer, or the result."""
        return RESULT if base == RESULT else f"{base}[{self.expression(indices[0])}]"

    def address(self, base: str, indices: tuple[nodes.Expr, ...], *, assembly: bool = False) -> str:
        """Return a pointer moved on."""
        return f"({base} + {self.expression(indices[0])})"


def header(style: FunctionStyle) -> str:
    """Return the text of `<atoll/target.h>` for a platform."""
    load(style.platform)
    helpers: dict[str, str] = {}
    functions: list[str] = []
    members: list[str] = []
    for item in intrinsics_of(atoll.Target):
        made, member = _intrinsic(item, style, helpers)
        functions += made
        members += member
    lines = [
        f"/* Made by tools/headers.py: the standard set of intrinsics in {style.dialect.name}. */",
        "#ifndef ATOLL_TARGET_H",
        "#define ATOLL_TARGET_H",
        *style.head,
        "",
        *(line for name in sorted(helpers) for line in (helpers[name], "")),
        *functions,
        "#ifdef __cplusplus",
        "struct Target {",
        *members,
        "};",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _intrinsic(item: Intrinsic, style: FunctionStyle, helpers: dict[str, str]) -> tuple[list[str], list[str]]:
    """Return a function, under its conditions, and its member; a comment where there is none."""
    name = item.device.__name__
    if name in _NOT:
        return [f"/* no {name}: {_NOT[name]} */", ""], []
    archs = sorted({arch for platform, arch in item.implementations if platform == style.platform and arch})
    variants = [(arch, _variant(item, style, arch, helpers)) for arch in archs if style.condition]
    plain = _variant(item, style, "", helpers)
    if plain is None:
        reason = item.absent.get(style.platform, "nobody wrote one")
        return [f"/* no {name}: {reason} */", ""], []
    head, body, member = plain
    lines, word = [f"/* {item.device.__doc__} */", head, "{"], "#if"
    for arch, made in reversed(variants):
        if made is not None and style.condition is not None:
            lines += [f"{word} {style.condition(arch)}", *made[1]]
            word = "#elif"
    lines += [*(["#else"] if word != "#if" else []), *body, *(["#endif"] if word != "#if" else []), "}", ""]
    return lines, [member]


def _variant(
    item: Intrinsic, style: FunctionStyle, arch: str, helpers: dict[str, str]
) -> tuple[str, list[str], str] | None:
    """Return the head, the body and the member of a function for one floor, or None."""
    target = Target(backend=style.platform, arch=arch or style.arch)
    found = lowered(item, target)
    if found is None:
        return None
    faults = inline_faults(found.kernel, target, style.languages)
    if faults:
        raise CompileError(*faults)
    printer = _FunctionPrinter(style.dialect, found.kernel, layout(found.kernel))
    printer.depth = 0
    printer.block(found.kernel.body)
    helpers |= printer.helpers
    declared = [f"  {style.dialect.value(local.type)} l_{local.name} = 0;" for local in found.kernel.locals]
    views = {param.name: param.type for param in found.kernel.params if isinstance(param.type, View)}
    result = style.dialect.value(views[RESULT].element) if RESULT in views else "void"
    given = _parameters(found, style)
    unused = [f"  (void){name};" for name in found.names if not any(name in line for line in printer.lines)]
    body = [*declared, *printer.lines, *unused]
    if result != "void":
        body = [f"  {result} {RESULT};", *body, f"  return {RESULT};"]
    name = item.device.__name__
    typed, call = ", ".join(given.values()) or "void", f"{item.owner}_{name}({', '.join(given)})"
    prefix = style.prefix if style.prefix.startswith("static") else f"static {style.prefix}"
    inside = ", ".join(given.values())
    member = f"  {prefix} {result} {name}({inside}) {{ {'' if result == 'void' else 'return '}{call}; }}"
    return f"{style.prefix} {result} {item.owner}_{name}({typed})", body, member


def _parameters(found: LoweredBody, style: FunctionStyle) -> Mapping[str, str]:
    """Return the parameters by name, typed; what is only read is const."""
    how, given = accesses(found.kernel), {}
    for param in found.kernel.params:
        if param.name == RESULT:
            continue
        if isinstance(param.type, View):
            const = "" if "write" in how[param.name] or how[param.name] == "both" else "const "
            space = f"{style.space} " if style.space else ""
            given[param.name] = f"{space}{const}{style.dialect.element(param.type.element)} *{param.name}"
        else:
            given[param.name] = f"{style.dialect.value(param.type)} {param.name}"
    return given
