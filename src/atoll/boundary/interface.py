"""Do the roots agree, and what is everything called? Several roots in, one :class:`Interface` out.

The interface depends on the declarations alone. Which roots a build takes, and so which of them exist at
run time, is no part of it: with and without devices the generated files are byte-equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from atoll._util.values import dataclass, replace
from atoll.accel import PROCESSOR
from atoll.boundary.names import MODULE_NAMES, folded, is_identifier, safe
from atoll.boundary.roots import Root
from atoll.boundary.values import Entry, Struct
from atoll.diagnostics import Diagnostic
from atoll.errors import BoundaryError

HOST_ROOT = PROCESSOR
"""The root that is last in the order of choice, where a boundary has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterfaceEntry:
    """One entry as every language sees it.

    Attributes:
        entry: The declaration, with the namespace it has everywhere.
        short: The second name that `strip_prefix` gives, or empty.
        lacking: The roots that do not define it. Never part of a generated file.
    """

    entry: Entry
    short: str = ""
    lacking: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The authored name; the symbol."""
        return self.entry.name

    @property
    def names(self) -> tuple[str, ...]:
        """The authored name, safe in every language, and the short one where there is one."""
        return (safe(self.entry.name), *((self.short,) if self.short else ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Interface:
    """One boundary, whatever implements it.

    Attributes:
        module: The dotted name, ``thread.kernels``.
        package: The package's name as its author writes it.
        roots: Names in the order in which the first available one is taken; the host's last.
        entries: Sorted by namespace and name.
        marker: The marker's stem, which the header defines to nothing.
    """

    module: str
    package: str
    roots: tuple[str, ...]
    entries: tuple[InterfaceEntry, ...]
    marker: str = "ATOLL_EXPORT"

    @property
    def segments(self) -> tuple[str, ...]:
        """The module's name in parts."""
        return tuple(self.module.split("."))

    @property
    def structs(self) -> tuple[Struct, ...]:
        """What the entries take that is a struct, each once, by name."""
        found: dict[Struct, Struct] = {}
        for struct in (struct for item in self.entries for struct in item.entry.structs):
            if struct not in found or struct.authored:
                found[struct] = struct
        return tuple(sorted(found.values(), key=lambda struct: struct.name))

    @property
    def lacking(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Entries that some root lacks, with those roots; for a listing."""
        return tuple((item.name, item.lacking) for item in self.entries if item.lacking)


def default_module(package: str) -> str:
    """Return the module that a boundary of `package` has where the manifest names none."""
    return folded(package)


def declaration(entry: Entry) -> str:
    """Return a declaration with white space folded, as it is compared and shown."""
    parameters = ", ".join(f"{item.ctype} {item.name}".replace("* ", "*") for item in entry.parameters)
    return f"{entry.result} {entry.name}({parameters or 'void'})".replace("* ", "*")


def clause(entry: Entry) -> str:
    """Return a clause in one spelling; empty where there is none."""
    extents = [
        item.name + "".join(f"[{size}]" for size in item.extent.dimensions)
        for item in entry.parameters
        if item.extent
    ]
    returned = [f"out={item.name}" for item in entry.parameters if item.returned]
    space = ["space=device"] if entry.device_space else []
    stream = [f"stream={entry.stream}"] if entry.stream else []
    return ", ".join([*extents, *returned, *space, *stream, *(["status"] if entry.status else [])])


def compare(
    roots: Sequence[Root],
    *,
    module: str,
    package: str,
    layout_root: str = "",
    strip_prefix: str = "",
    marker: str = "ATOLL_EXPORT",
    declared: Sequence[Entry] = (),
) -> Interface:
    """Return the one interface of several roots.

    Args:
        roots: In the manifest's order. Entries that a lane generates are added by the caller.
        module: The dotted module name.
        package: The package name.
        layout_root: The root whose folders name the namespaces; the first by default.
        strip_prefix: A prefix without which each entry has a second name.
        marker: The marker's stem.
        declared: Entries that headers declare by hand: each root is taken to define them.

    Raises:
        BoundaryError: With every disagreement, each with both places and both declarations.
    """
    faults = [*_module_faults(module), *_root_faults(roots, layout_root), *_twice(roots)]
    first = next((root for root in roots if root.name == layout_root), roots[0] if roots else None)
    ordered = [*([first] if first else []), *(root for root in roots if root is not first)]
    entries: dict[str, Entry] = {}
    owners: dict[str, Root] = {}
    for root in ordered:
        for entry in root.entries:
            known = entries.setdefault(entry.name, entry)
            owner = owners.setdefault(entry.name, root)
            if owner is not root and not _agree(known, entry):
                faults.append(_differ(known, entry))
    for entry in declared:
        known = entries.setdefault(entry.name, entry)
        if known is not entry and not _agree(known, entry):
            faults.append(_differ(known, entry))
    if not entries and not faults:
        faults.append(_nothing(roots, marker))
    by_hand = frozenset(entry.name for entry in declared)
    items = tuple(_item(entry, roots, strip_prefix, by_hand) for entry in _sorted(entries.values()))
    faults += _collisions(items)
    if faults:
        raise BoundaryError(*faults)
    return Interface(module=module, package=package, roots=_order(roots), entries=items, marker=marker)


def _sorted(entries: Iterable[Entry]) -> list[Entry]:
    return sorted(entries, key=lambda entry: (entry.namespace, entry.name))


def _order(roots: Sequence[Root]) -> tuple[str, ...]:
    names = [root.name for root in roots]
    return (*(name for name in names if name != HOST_ROOT), *([HOST_ROOT] if HOST_ROOT in names else []))


def _agree(one: Entry, other: Entry) -> bool:
    same = declaration(one) == declaration(other) and clause(one) == clause(other)
    return same and one.structs == other.structs and one.domain == other.domain


def _place(entry: Entry) -> str:
    return f"{entry.span.file}:{entry.span.line}" if entry.span else f"the root {entry.root}"


def _said(entry: Entry) -> str:
    said = clause(entry)
    text = f"{declaration(entry)}" + (f"   clause: {said}" if said else "")
    for struct in entry.structs:
        text += f"   {struct.name}: {', '.join(f'{ctype} {name}' for name, ctype in struct.fields)}"
    return f"{_place(entry)}: {text}"


def _differ(known: Entry, entry: Entry) -> Diagnostic:
    return Diagnostic(
        code="ATL0307",
        message=f"`{entry.name}` is declared differently in two places"
        if entry.root == known.root
        else f"`{entry.name}` is declared differently in two roots",
        span=entry.span,
        notes=(_said(known), _said(entry)),
        hint="make both declarations and clauses equal: a linker takes either and reads the wrong arguments",
    )


def _twice(roots: Sequence[Root]) -> Iterator[Diagnostic]:
    for root in roots:
        seen: dict[str, Entry] = {}
        for entry in root.entries:
            known = seen.setdefault(entry.name, entry)
            if known is not entry:
                yield Diagnostic(
                    code="ATL0306",
                    message=f"`{entry.name}` is marked twice in the root `{root.name}`",
                    span=entry.span,
                    notes=(_said(known), _said(entry)),
                    hint="an exported name is one symbol: overloads and variants need names of their own",
                )


def _root_faults(roots: Sequence[Root], layout_root: str) -> Iterator[Diagnostic]:
    names = [root.name for root in roots]
    if layout_root and layout_root not in names:
        yield Diagnostic(
            code="ATL0314",
            message=f"the layout root `{layout_root}` is none of the roots",
            notes=(f"roots: {', '.join(names) or 'none'}",),
        )
    for index, one in enumerate(roots):
        if not is_identifier(one.name):
            yield _segment("root", one.name)
        for other in roots[index + 1 :]:
            if one.name == other.name or _overlap(one.place, other.place):
                yield Diagnostic(
                    code="ATL0308",
                    message=f"the roots `{one.name}` and `{other.name}` overlap",
                    notes=(f"one is: {one.path}", f"the other is: {other.path}"),
                    hint="a root holds one implementation: give each a folder of its own",
                )


def _overlap(one: Path | None, other: Path | None) -> bool:
    if one is None or other is None:
        return False
    return one.is_relative_to(other) or other.is_relative_to(one)


def _segment(what: str, text: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0311",
        message=f"the {what} `{text}` cannot be a segment of a name",
        notes=(f"the {what} is: {text}", "a segment is made of ASCII letters, digits and `_`"),
    )


def _module_faults(module: str) -> Iterator[Diagnostic]:
    for part in module.split("."):
        if not is_identifier(part) or safe(part) != part:
            yield Diagnostic(
                code="ATL0311",
                message=f"the module `{module}` cannot be a name in every language",
                notes=(f"the segment is: {part or 'empty'}", "it must be an identifier and no keyword"),
            )


def _nothing(roots: Sequence[Root], marker: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0309",
        message="no root has a marked entry",
        notes=tuple(f"root: {root.name} at {root.path}" for root in roots) or ("roots: none",),
        hint=f"write {marker}_C, or {marker}_AS with a clause, before each function to export",
    )


def _item(
    entry: Entry, roots: Sequence[Root], prefix: str, by_hand: frozenset[str] = frozenset()
) -> InterfaceEntry:
    lacking = tuple(
        root.name
        for root in roots
        if entry.name not in by_hand and all(other.name != entry.name for other in root.entries)
    )
    rest = entry.name.removeprefix(prefix) if prefix and entry.name.startswith(prefix) else ""
    short = safe(rest) if is_identifier(rest) and rest != entry.name else ""
    return InterfaceEntry(entry=replace(entry, root=""), short=short, lacking=lacking)


def _collisions(items: Sequence[InterfaceEntry]) -> Iterator[Diagnostic]:
    """Refuse two things that get one name in one namespace, in any language."""
    taken: dict[tuple[tuple[str, ...], str], str] = {
        ((), name): f"the module's own `{name}`" for name in sorted(MODULE_NAMES)
    }
    for item in items:
        path = item.entry.namespace
        for depth in range(len(path)):
            taken.setdefault((path[:depth], path[depth]), f"the namespace `{path[depth]}`")
    for item in items:
        for struct in item.entry.structs:
            fields = ", ".join(f"{ctype} {name}" for name, ctype in struct.fields)
            owner = f"the struct {{{fields}}}"
            known = taken.setdefault(((), struct.name), owner)
            if known != owner:
                yield _two_of_one_name(struct.name, item, known, owner)
    for item in items:
        for name in item.names:
            owner = f"`{item.name}` at {_place(item.entry)}"
            known = taken.setdefault((item.entry.namespace, name), owner)
            if known != owner:
                yield _two_of_one_name(name, item, known, owner)


def _two_of_one_name(name: str, item: InterfaceEntry, known: str, owner: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0310",
        message=f"two things are called `{name}`",
        span=item.entry.span,
        notes=(f"one is: {known}", f"the other is: {owner}"),
        hint="rename one of them, or leave `strip-prefix` out",
    )
