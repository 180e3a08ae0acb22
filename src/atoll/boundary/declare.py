"""What does one marked declaration say? A syntax node in, an :class:`Entry` out, or every reason why not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from atoll._util.values import dataclass, field, replace
from atoll.boundary.clauses import Clause, ClauseFault, read_clause
from atoll.boundary.lex import Marked, tokens
from atoll.boundary.names import is_identifier, is_reserved
from atoll.boundary.scalars import Kind, has_c_abi, kind
from atoll.boundary.values import Access, Entry, Extent, Parameter, Struct
from atoll.diagnostics import Diagnostic, Span

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFINITION = "function_definition"
_CLIMB = frozenset({_DEFINITION, "declaration", "field_declaration", "template_declaration", "ERROR"})
_OUTSIDE = frozenset(
    {"translation_unit", "linkage_specification", "declaration_list", "ERROR"}
    | {f"preproc_{part}" for part in ("if", "ifdef", "else", "elif", "elifdef")}
)
_BESIDE = frozenset(
    {"type_qualifier", "attribute_specifier", "attribute_declaration", "ms_declspec_modifier", "comment"}
)
_RESTRICT = frozenset({"restrict", "__restrict", "__restrict__"})
_CONTEXTS = {
    "namespace_definition": "it stands inside a namespace",
    "field_declaration_list": "it is a member of a class",
    "template_declaration": "it is a template",
    "compound_statement": "it stands inside a function",
}
_EXPECTED = "expected: one function definition at file scope that C can call"
_LISTS = "can cross: a list of parameters whose number and types are fixed"
_WRONG = "ATL0301"
_CLAUSE = "ATL0302"
_CLAUSE_NAME = "ATL0303"
_ABI = "ATL0304"
_FORM = "ATL0305"


@dataclass(slots=True)
class Source:
    """One file under scan, for places in diagnostics.

    Attributes:
        path / text: Its name as shown, and its bytes.
        faults: What was refused in it so far.
        structs: The structs that it defines; one that cannot cross as the reason.
        elsewhere: Asks for those of the headers that it includes, at the first name that is none of its own.
        by_hand: Whether it is a header that declares entries, and so holds no definition.
    """

    path: str
    text: bytes
    faults: list[Diagnostic] = field(default_factory=list)
    structs: dict[str, Struct | str] = field(default_factory=dict)
    elsewhere: Callable[[], dict[str, Struct | str]] = dict
    by_hand: bool = False

    def struct(self, name: str) -> Struct | str | None:
        """Return the struct of a name, or why it cannot cross; None where nothing defines it."""
        if name not in self.structs and is_identifier(name) and not has_c_abi(name):
            self.structs = {**self.elsewhere(), **self.structs}
            self.elsewhere = dict
        return self.structs.get(name)

    def span(self, start: int, end: int | None = None) -> Span:
        """Return the place of a byte range, cut at the end of its first line."""
        begin = self.text.rfind(b"\n", 0, start) + 1
        stop = self.text.find(b"\n", start)
        stop = len(self.text) if stop < 0 else stop
        column = len(_decoded(self.text[begin:start])) + 1
        width = len(_decoded(self.text[start : min(end or start + 1, stop)]))
        line = self.text.count(b"\n", 0, start) + 1
        shown = _decoded(self.text[begin : min(stop, begin + 400)]).rstrip("\r")
        return Span(file=self.path, line=line, column=column, end_column=column + max(1, width), text=shown)

    def fault(self, code: str, message: str, span: Span, *notes: str, hint: str | None = None) -> None:
        """Keep a fault; scanning goes on."""
        self.faults.append(Diagnostic(code=code, message=message, span=span, notes=notes, hint=hint))


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _text(node: Node) -> str:
    """Return the code of a node with white space folded: tokens joined, a star set apart."""
    parts = [token.text.decode("ascii", "replace") for token in tokens(node.text or b"")]
    return " ".join(parts).replace(" : : ", "::").removeprefix(": : ")


def entry_at(source: Source, tree: Node, marked: Marked) -> Entry | None:
    """Return the entry that a marker marks; None where it is refused, with the reasons in `source`."""
    place = source.span(marked.start, marked.end)
    if marked.opened is not None:
        spot = source.span(marked.opened)
        source.fault(
            _WRONG,
            "a parenthesis after the marker is never closed",
            spot,
            "found: no `)` before the next brace, the next `;` or the end",
            "expected: the `)` of a clause or of a parameter list",
        )
        return None
    found = f"found: {_line(source.text, marked.follows)}"
    node = _declaration(tree, marked.follows)
    if node is None or marked.follows >= len(source.text):
        source.fault(_WRONG, "no function definition follows the marker", place, found, _EXPECTED)
        return None
    if refused := _context(node, source.by_hand):
        message = f"the marked declaration cannot be exported: {refused}"
        source.fault(_FORM, message, place, found, _EXPECTED)
        return None
    declarator = _declarator(node)
    if declarator is not None and declarator.end_byte <= marked.follows:
        source.fault(_WRONG, "no function definition follows the marker", place, found, _EXPECTED)
        return None
    if declarator is None or _broken(node, declarator):
        source.fault(_WRONG, "the marked declaration could not be parsed", place, found, _EXPECTED)
        return None
    return _entry(source, node, declarator, marked)


def _line(text: bytes, start: int) -> str:
    """Return the first line of code at an offset, for a note."""
    end = text.find(b"\n", start)
    shown = _short(_decoded(text[start : len(text) if end < 0 else min(end, start + 400)]))
    return f"`{shown}`" if shown else "the end of the file"


def _declaration(tree: Node, offset: int) -> Node | None:
    """Return the definition, declaration or template that the code at `offset` begins or belongs to."""
    node = tree.descendant_for_byte_range(offset, offset + 1)
    while node is not None and node.type not in _CLIMB:
        body = node.child_by_field_name("body") if node.type == "linkage_specification" else None
        if body is not None and body.type == _DEFINITION:
            return body
        node = node.parent
    return None if node is None or node.type == "ERROR" else node


def _context(node: Node, by_hand: bool) -> str:
    if by_hand and node.type == _DEFINITION:
        return "it has a body; a header that declares by hand has none"
    if node.type != ("declaration" if by_hand else _DEFINITION):
        return _CONTEXTS.get(node.type, "it has no body; the marker stands at the definition")
    if len(node.children_by_field_name("declarator")) > 1:
        return "it declares two things"
    above = node.parent
    while above is not None:
        if above.type in _CONTEXTS:
            return _CONTEXTS[above.type]
        if above.type not in _OUTSIDE:
            return f"it stands inside a {above.type.replace('_', ' ')}"
        above = above.parent
    for child in node.children:
        if child == node.child_by_field_name("declarator"):
            break
        if child != node.child_by_field_name("type") and child.type not in _BESIDE:
            return f"it is declared `{_text(child)}`"
    return ""


def _declarator(node: Node) -> Node | None:
    """Return the function declarator below the pointers of the result."""
    inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type == "pointer_declarator":
        inner = inner.child_by_field_name("declarator")
    if inner is None or inner.type != "function_declarator":
        return None
    name = inner.child_by_field_name("declarator")
    return inner if name is not None and name.type == "identifier" else None


def _broken(node: Node, declarator: Node) -> bool:
    """Tell whether the parser had to guess before the body."""
    spine: list[Node] = []
    inner: Node | None = node
    while inner is not None and inner != declarator:
        body = inner.child_by_field_name("body")
        spine += [child for child in inner.children if child != body]
        inner = inner.child_by_field_name("declarator")
    heads = [child for child in spine if child.type != "pointer_declarator"]
    return any(child.has_error or child.is_missing for child in heads)


def _entry(source: Source, node: Node, declarator: Node, marked: Marked) -> Entry | None:
    before = len(source.faults)
    clause = _clause(source, marked)
    name_node = declarator.child_by_field_name("declarator")
    list_node = declarator.child_by_field_name("parameters")
    assert name_node is not None
    assert list_node is not None
    for child in declarator.children:
        if child.type not in ("identifier", "parameter_list", "noexcept", "comment"):
            source.fault(
                _FORM,
                f"the marked declaration cannot be exported: it has `{_text(child)}` after its parameters",
                source.span(child.start_byte, child.end_byte),
                f"found: `{_text(child)}`",
                "can stand there: `noexcept`",
            )
    result = _typed(source, node, name_node)
    parameters = _parameters(source, list_node, clause)
    span = source.span(name_node.start_byte, name_node.end_byte)
    name = _text(name_node)
    _check_name(source, name_node)
    if is_reserved(name):
        source.fault(
            _FORM,
            f"the marked declaration cannot be exported: `{name}` is a name of the generated code",
            span,
            f"found: `{name}`",
            "reserved: names that begin with `atoll_` or `PyInit_`, and `main`",
        )
    if clause.status and result != "int":
        source.fault(
            _CLAUSE_NAME,
            "`status` needs a function that returns `int`",
            span,
            f"`{name}` returns: {result}",
        )
    if len(source.faults) > before:
        return None
    doc = _doc(source, marked.start)
    return Entry(
        name=name,
        result=result,
        parameters=parameters,
        status=clause.status,
        device_space=clause.space == "device",
        stream=clause.stream,
        result_struct=_struct_of(source, result),
        span=span,
        doc=doc,
    )


def _check_name(source: Source, node: Node) -> None:
    """Refuse a name that some compiler, linker or language takes differently."""
    if is_identifier(_text(node)):
        return
    source.fault(
        _FORM,
        "the marked declaration cannot be exported: a name in it is not ASCII",
        source.span(node.start_byte, node.end_byte),
        f"found: `{_short(_decoded(node.text or b''))}`",
        "can stand: a name of ASCII letters, digits and `_`",
    )


def _clause(source: Source, marked: Marked) -> Clause:
    if marked.clause is None:
        if source.text[marked.start : marked.end].endswith(b"_AS"):
            place = source.span(marked.start, marked.end)
            written = _decoded(source.text[marked.start : marked.end])
            source.fault(
                _CLAUSE,
                "the marker takes a clause in parentheses and has none",
                place,
                f"found: {written}",
                f"with a clause: {written}(x[n]); without one: {written.removesuffix('_AS')}_C",
            )
        return Clause()
    text, start = marked.clause
    try:
        return read_clause(_decoded(text))
    except ClauseFault as fault:
        source.fault(
            _CLAUSE,
            f"the clause cannot be understood at `{fault.item}`",
            source.span(start, start + len(text)),
            f"reason: {fault.reason}",
        )
        return Clause()


def _typed(source: Source, node: Node, leaf: Node) -> str:
    """Return the C type of a declaration, and refuse one without a C ABI."""
    span = source.span(node.start_byte, leaf.end_byte)
    type_node = node.child_by_field_name("type")
    qualifiers = [_text(child) for child in node.children if child.type == "type_qualifier"]
    base = _text(type_node).removeprefix("std::") if type_node is not None else ""
    struct = source.struct(base.removeprefix("struct "))
    base = base.removeprefix("struct ") if struct is not None else base
    for qualifier in qualifiers:
        if qualifier != "const":
            source.fault(
                _FORM,
                f"`{qualifier}` cannot stand in a marked declaration",
                span,
                f"found: `{_short(_decoded(node.text or b'').split('{')[0])}`",
                "can stand: `const`, and `restrict` on a pointer",
            )
    declarator = node.child_by_field_name("declarator")
    stars: list[str] = []
    while declarator is not None and declarator.type in (
        "pointer_declarator",
        "abstract_pointer_declarator",
    ):
        marks = ["*", *(_text(child) for child in declarator.children if child.type == "type_qualifier")]
        stars.append(" ".join(mark for mark in marks if mark not in _RESTRICT))
        declarator = declarator.child_by_field_name("declarator")
    written = " ".join([*(["const"] if qualifiers else []), base, *stars]).replace("* *", "**")
    returned = node.type != "parameter_declaration"
    expected = "function_declarator" if returned else "identifier"
    odd = declarator is None or declarator.type != expected
    if not odd and isinstance(struct, str):
        source.fault(_ABI, f"the struct `{base}` cannot cross a boundary", span, f"reason: {struct}")
    elif odd or type_node is None or not (has_c_abi(base) or isinstance(struct, Struct)):
        shown = _decoded((node.text or b"").split(b"{")[0]).strip() if odd else written
        source.fault(
            _ABI,
            f"the type `{_short(shown)}` has no C ABI that a boundary knows",
            span,
            f"declared: {_short(_decoded(node.text or b'').split('{')[0])}",
            "can cross: numbers, pointers to them, and structs of numbers that this file defines, or a "
            "header that it includes by quotes",
        )
    return written


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:79] + "…"


def _parameters(source: Source, node: Node, clause: Clause) -> tuple[Parameter, ...]:
    found: list[Parameter] = []
    children = [child for child in node.named_children if child.type != "comment"]
    if len(children) == 1 and _text(children[0]) == "void":
        children = []
    if "..." in [child.type for child in node.children]:
        place = source.span(node.start_byte, node.end_byte)
        found_list = f"found: `{_short(_text(node))}`"
        message = "a variadic parameter list has no C ABI that a boundary knows"
        source.fault(_ABI, message, place, found_list, _LISTS)
    for child in children:
        parameter = _parameter(source, child, clause)
        if parameter is not None:
            found.append(parameter)
    _check_clause(source, node, clause, found)
    return tuple(found)


def _parameter(source: Source, node: Node, clause: Clause) -> Parameter | None:
    span = source.span(node.start_byte, node.end_byte)
    found = f"found: `{_short(_decoded(node.text or b''))}`"
    if node.type == "variadic_parameter_declaration":
        message = "a variadic parameter list has no C ABI that a boundary knows"
        source.fault(_ABI, message, span, found, _LISTS)
        return None
    if node.type == "optional_parameter_declaration":
        message = "the marked declaration cannot be exported: a parameter has a default"
        source.fault(_FORM, message, span, found, "can cross: parameters that every caller gives")
        return None
    leaf = node.child_by_field_name("declarator")
    while leaf is not None and leaf.type == "pointer_declarator":
        leaf = leaf.child_by_field_name("declarator")
    if leaf is None:
        message = "a parameter of a marked declaration has no name"
        source.fault(_FORM, message, span, found, "expected: a type and a name, which clause and Python use")
        return None
    if node.type != "parameter_declaration":
        source.fault(_WRONG, "the marked declaration could not be parsed", span, found, _EXPECTED)
        return None
    before = len(source.faults)
    ctype = _typed(source, node, leaf)
    if leaf.type == "identifier":
        _check_name(source, leaf)
    if len(source.faults) > before:
        return None
    return replace(_made(_text(leaf), ctype, clause), struct=_struct_of(source, ctype))


def _struct_of(source: Source, ctype: str) -> Struct | None:
    """Return the struct that a type is, or points to."""
    base = ctype.partition("*")[0].removeprefix("const ").removesuffix(" const").strip()
    struct = source.struct(base)
    return struct if isinstance(struct, Struct) else None


def _made(name: str, ctype: str, clause: Clause) -> Parameter:
    head, star, _ = ctype.rpartition("*")
    if not star:
        return Parameter(name=name, ctype=ctype)
    head = head.rstrip()
    element = head.removeprefix("const ")
    read = head.startswith("const ") if "*" not in head else head.endswith("const")
    extent = clause.extents.get(name)
    return Parameter(
        name=name,
        ctype=ctype,
        element=element,
        access=Access.READ if read else Access.WRITE,
        extent=None if extent is None else Extent(dimensions=extent),
        returned=name in clause.returned,
    )


def _check_clause(source: Source, node: Node, clause: Clause, found: list[Parameter]) -> None:
    """Hold the clause against the parameters; report every name that does not fit."""
    span = source.span(node.start_byte, node.end_byte)
    by_name = {parameter.name: parameter for parameter in found}
    listed = f"parameters: {', '.join(by_name) or 'none'}"
    if len(by_name) < len(found):
        source.fault(_WRONG, "two parameters of a marked declaration have one name", span, listed)
    if source.faults and not found:
        return
    for name, dimensions in clause.extents.items():
        if name not in by_name:
            source.fault(_CLAUSE_NAME, f"the clause names `{name}`, which is no parameter", span, listed)
        elif not by_name[name].element:
            source.fault(
                _CLAUSE_NAME, f"the clause gives an extent to `{name}`, which is no pointer", span, listed
            )
        for size in dimensions:
            _check_size(source, span, by_name, name, size)
    for name in (*clause.returned, *((clause.stream,) if clause.stream else ())):
        if name not in by_name:
            source.fault(_CLAUSE_NAME, f"the clause names `{name}`, which is no parameter", span, listed)
    for name in clause.returned:
        given = by_name.get(name)
        if given is not None and (not given.element or given.access is Access.READ or given.extent is None):
            source.fault(
                _CLAUSE_NAME,
                f"`{name}` cannot be allocated and returned",
                span,
                f"it is: {given.ctype}{'' if given.extent else ', without an extent'}",
                hint="return a pointer that is not const and has an extent",
            )


def _check_size(source: Source, span: Span, by_name: dict[str, Parameter], name: str, size: str) -> None:
    if size.isdigit():
        return
    given = by_name.get(size)
    if given is None:
        message = f"the extent of `{name}` names `{size}`, which is no parameter"
        source.fault(_CLAUSE_NAME, message, span, f"parameters: {', '.join(by_name) or 'none'}")
    elif given.element or kind(given.ctype.removeprefix("const ")) not in (Kind.SIGNED, Kind.UNSIGNED):
        source.fault(
            _CLAUSE_NAME,
            f"the extent of `{name}` names `{size}`, which is no integer",
            span,
            f"it is: {given.ctype}",
        )


def _doc(source: Source, start: int) -> str:
    """Return the comment that ends on the line above, without its marks."""
    lines = _decoded(source.text[max(0, start - 8192) : start]).split("\n")[:-1]
    kept: list[str] = []
    if lines and lines[-1].rstrip().endswith("*/"):
        while lines:
            line = lines.pop().strip()
            kept.append(line.removesuffix("*/").lstrip("/*").strip())
            if line.startswith("/*"):
                break
        else:
            return ""
    else:
        while lines and lines[-1].lstrip().startswith("//"):
            kept.append(lines.pop().strip().lstrip("/!").strip())
    return "\n".join(reversed(kept)).strip()
