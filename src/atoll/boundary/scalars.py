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


_SIGNED = (
    "signed char|short|short int|signed short|signed short int|int|signed|signed int|long|long int|signed long"
    "|signed long int|long long|long long int|signed long long|signed long long int|int8_t|int16_t|int32_t"
    "|int64_t|ptrdiff_t|ssize_t|intptr_t|intmax_t"
).split("|")
_UNSIGNED = (
    "unsigned char|unsigned short|unsigned short int|short unsigned|unsigned|unsigned int|unsigned long"
    "|unsigned long int|long unsigned|unsigned long long|unsigned long long int|long long unsigned|uint8_t"
    "|uint16_t|uint32_t|uint64_t|size_t|uintptr_t|uintmax_t"
).split("|")
_KINDS = {
    **dict.fromkeys(_SIGNED, Kind.SIGNED),
    **dict.fromkeys(_UNSIGNED, Kind.UNSIGNED),
    "float": Kind.FLOAT,
    "double": Kind.FLOAT,
    "bool": Kind.BOOL,
    "_Bool": Kind.BOOL,
    "char": Kind.CHAR,
}
_C_ONLY = frozenset({"long double", "void", "wchar_t", "char16_t", "char32_t"})
DTYPES = {
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "_Bool": "bool",
    "char": "int8",
}
"""Names of array element types in messages, where the C name does not say it."""


def kind(ctype: str) -> Kind | None:
    """Return how Python passes a scalar of this type, or None where it cannot."""
    return _KINDS.get(ctype)


def has_c_abi(base: str) -> bool:
    """Tell whether a type name without pointers and qualifiers is a C type that the boundary knows."""
    return base in _KINDS or base in _C_ONLY
