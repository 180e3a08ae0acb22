"""Which structs does a file define that can cross by value? Plain ones: a name and fields that are numbers.

The generated header defines such a struct for everyone who calls. The island defines it itself, so for the
units of a root the header only names it (`OWN_STRUCTS`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atoll.boundary.lex import tokens
from atoll.boundary.names import is_identifier, is_keyword
from atoll.boundary.scalars import kind
from atoll.boundary.values import Struct

if TYPE_CHECKING:
    from tree_sitter import Node

LIMIT = 64
"""Fields that a struct may have."""
INSIDE = frozenset(
    {"linkage_specification", "declaration_list", "preproc_if", "preproc_ifdef", "preproc_else"}
)


def found_structs(tree: Node) -> dict[str, Struct | str]:
    """Return the structs at file scope by name; one that cannot cross as the reason."""
    found: dict[str, Struct | str] = {}
    for node in _specifiers(tree):
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None or name.type != "type_identifier":
            continue
        text = _text(name)
        made = _struct(text, node, body)
        known = found.setdefault(text, made)
        if known != made:
            found[text] = "it is defined twice, and differently"
    return found


def _specifiers(node: Node) -> Iterator[Node]:
    for child in node.named_children:
        if child.type == "struct_specifier":
            yield child
        elif child.type == "type_definition":
            inner = child.child_by_field_name("type")
            if inner is not None and inner.type == "struct_specifier":
                yield inner
        elif child.type in INSIDE:
            yield from _specifiers(child)


def _struct(name: str, node: Node, body: Node) -> Struct | str:
    if is_keyword(name):
        return "its name is a keyword"
    if not is_identifier(name):
        return "its name is not ASCII"
    if node.has_error:
        return "its definition could not be parsed"
    odd = [child.type for child in node.named_children if child.type not in (_NAMED)]
    if odd:
        return f"it has a {odd[0].replace('_', ' ')}"
    fields: list[tuple[str, str]] = []
    for child in body.named_children:
        if child.type == "comment":
            continue
        reason = _add(fields, child)
        if reason:
            return reason
    names = [field for field, _ in fields]
    if not names or len(names) > LIMIT or len(set(names)) < len(names):
        return f"it has {len(names)} fields" if len(set(names)) == len(names) else "two fields have one name"
    return Struct(name=name, fields=tuple(fields), authored=True)


_NAMED = ("type_identifier", "field_declaration_list", "comment")


def _add(fields: list[tuple[str, str]], node: Node) -> str:
    """Add the fields of one declaration; return why one of them cannot cross."""
    type_node = node.child_by_field_name("type")
    shown = " ".join((node.text or b"").decode("ascii", "replace").split()).rstrip(" ;")
    if node.type != "field_declaration" or type_node is None:
        return f"it has `{shown[:60]}`"
    ctype = _text(type_node).removeprefix("std::")
    parts = [child for child in node.named_children if child != type_node and child.type != "comment"]
    if kind(ctype) is None or any(child.type != "field_identifier" for child in parts) or not parts:
        return f"its field `{shown[:60]}` is no number"
    for child in parts:
        if is_keyword(_text(child)):
            return f"its field `{_text(child)}` is a keyword"
        if not is_identifier(_text(child)):
            return f"its field `{(child.text or b'').decode('utf-8', 'replace')}` is not ASCII"
        fields.append((_text(child), ctype))
    return ""


def _text(node: Node) -> str:
    return " ".join(token.text.decode("ascii", "replace") for token in tokens(node.text or b"")).replace(
        " : : ", "::"
    )
