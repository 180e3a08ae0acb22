"""How does inline code reach a target's text? Which languages it takes, what a constraint stands for.

An emitter says which languages it takes and, of each, what every constraint letter may hold: names of
scalars, ``ptr`` for the address of an element of a view, ``shared`` for one of an array of the group.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from atoll.diagnostics import Diagnostic, Span
from atoll.ir import SCALARS, Kernel, nodes, ops
from atoll.ir.walk import statements
from atoll.plugin import Target

#: What each constraint may hold.
Letters = Mapping[str, frozenset[str]]
Languages = Mapping[ops.Inline, Letters]
#: The constraints of languages that have types.
VALUES: Letters = {name: frozenset({name}) for name, item in SCALARS.items() if item.bits >= 32}
TYPES: Letters = {**VALUES, "ptr": frozenset({"ptr", "shared"})}
NO_INLINE: Languages = {}
_WORDS = {
    ops.Inline.ASM: "assembly",
    ops.Inline.SNIPPET: "text of a device language",
    ops.Inline.OPERATIONS: "SPIR-V instructions",
}
_PLACE = re.compile(r"\$(\$|[0-9]+)")


def inline_faults(kernel: Kernel, target: Target, languages: Languages) -> list[Diagnostic]:
    """Return what is wrong with the inline code of a kernel for a target."""
    arrays = {item.name for item in kernel.shared} | {item.name for item in kernel.arrays}
    found: list[Diagnostic] = []
    for stmt in statements(kernel.body):
        if isinstance(stmt, nodes.Inline):
            found += _faults(stmt, kernel, target, languages, arrays)
    return found


def _faults(
    stmt: nodes.Inline, kernel: Kernel, target: Target, languages: Languages, arrays: set[str]
) -> list[Diagnostic]:
    span = stmt.span or kernel.span
    if stmt.language is ops.Inline.MISSING:
        notes = (f"kernel: {kernel.name}", f"target: {target}")
        message = f"`{stmt.text}` was not looked up for `{target}`"
        return [Diagnostic(code="ATL0770", message=message, span=span, notes=notes)]
    if stmt.language not in languages:
        taken = ", ".join(_WORDS[item] for item in languages) or "none"
        notes = (f"kernel: {kernel.name}", f"inline code it takes: {taken}")
        message = f"the code for `{target}` cannot hold {_WORDS[stmt.language]}"
        hint = "write the implementation in a language that every stage of the platform takes"
        return [Diagnostic(code="ATL0788", message=message, span=span, notes=notes, hint=hint)]
    letters = languages[stmt.language]
    kinds = [
        ("shared" if base in arrays else "ptr") if base else operand.type.name
        for base, operand in zip(stmt.bases, stmt.operands, strict=True)
    ]
    pairs = list(zip(stmt.parts, kinds, strict=True))
    if stmt.result is not None and stmt.output is not None:
        held = next(item.type.name for item in kernel.locals if item.name == stmt.result)
        pairs.insert(0, (stmt.output, held))
    return [
        _wrong(at, pair, letters, span)
        for at, pair in enumerate(pairs)
        if pair[1] not in letters.get(pair[0], ())
    ]


def _wrong(at: int, pair: tuple[str, str], letters: Letters, span: Span | None) -> Diagnostic:
    constraint, kind = pair
    listed = ", ".join(sorted(letters.get(constraint, ()))) or "nothing here"
    return Diagnostic(
        code="ATL0774",
        message=f"the constraint `{constraint}` does not hold ${at}, which is {_shown(kind)}",
        span=span,
        notes=(f"`{constraint}` holds: {listed}", f"constraints: {', '.join(letters)}"),
    )


def _shown(kind: str) -> str:
    return {"ptr": "an address of a view", "shared": "an address of a shared array"}.get(kind, f"a {kind}")


def filled(text: str, names: Sequence[str], dollar: str = "$") -> str:
    """Return a text with its places filled: `$0`, `$1`; `$$` is a dollar."""
    return _PLACE.sub(lambda found: dollar if found[1] == "$" else names[int(found[1])], text)


def gnu_asm(stmt: nodes.Inline, result: str | None, operands: Sequence[str]) -> str:
    """Return inline assembly as C and C++ spell it in GNU's way."""
    escaped = stmt.text.replace("%", "%%").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    places = [f"%{at}" for at in range(len(operands) + (stmt.output is not None))]
    outputs = "" if result is None else f'"={stmt.output}"({result})'
    inputs = ", ".join(f'"{part}"({value})' for part, value in zip(stmt.parts, operands, strict=True))
    clobbers = ' : "memory"' if stmt.writes else ""
    return f'asm volatile("{filled(escaped, places)}" : {outputs} : {inputs}{clobbers});'


def c_inline(
    stmt: nodes.Inline,
    local: Callable[[str], str],
    expression: Callable[[nodes.Expr], str],
    address: Callable[..., str],
) -> list[str]:
    """Return inline code as lines of a C-like text; none where nobody asks for its result."""
    if stmt.output is not None and stmt.result is None and not stmt.writes:
        return []
    assembly = stmt.language is ops.Inline.ASM
    operands = [
        address(base, (operand,), assembly=assembly) if base else expression(operand)
        for base, operand in zip(stmt.bases, stmt.operands, strict=True)
    ]
    result = None if stmt.result is None else local(stmt.result)
    if assembly:
        return [gnu_asm(stmt, result, operands)]
    names = [*([] if stmt.output is None else [result or "(void)0"]), *(f"({item})" for item in operands)]
    return filled(stmt.text, names).split("\n")
