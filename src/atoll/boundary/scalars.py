"""What is this C type to Python? A class of values and the C spelling; widths are left to the C compiler."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """How a C scalar is read from Python: one letter, as the generated table spells it."""

    SIGNED = "i"
    UNSIGNED = "u"
    FLOAT = "f"
    BOOL = "b"
    CHAR = "c"


_SIZED = frozenset({"signed", "unsigned", "short", "long", "int", "char"})
_WIDTHS = ("8", "16", "32", "64", "ptr", "max")
_NAMED = {
    **{f"int{width}_t": Kind.SIGNED for width in _WIDTHS},
    **{f"uint{width}_t": Kind.UNSIGNED for width in _WIDTHS},
    "ptrdiff_t": Kind.SIGNED,
    "size_t": Kind.UNSIGNED,
    "float": Kind.FLOAT,
    "double": Kind.FLOAT,
    "bool": Kind.BOOL,
    "_Bool": Kind.BOOL,
}
_C_ONLY = frozenset({"void", "long double", "wchar_t"})


def kind(ctype: str) -> Kind | None:
    """Return how Python passes a scalar of this type, or None where it cannot."""
    words = ctype.split()
    if not words or not _SIZED.issuperset(words):
        return _NAMED.get(ctype)
    if "unsigned" in words:
        return Kind.UNSIGNED
    return Kind.CHAR if words == ["char"] else Kind.SIGNED


def has_c_abi(base: str) -> bool:
    """Tell whether a type name without pointers and qualifiers is a C type that the boundary knows."""
    return kind(base) is not None or base in _C_ONLY
