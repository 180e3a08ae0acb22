"""What do the C++ languages for GPUs share? Types, and headerless spelling of bits."""

from __future__ import annotations

#: C++ types that need no header.
TYPES = {
    "bool": "bool", "i8": "signed char", "i16": "short", "i32": "int", "i64": "long long",
    "u8": "unsigned char", "u16": "unsigned short", "u32": "unsigned int", "u64": "unsigned long long",
    "f16": "unsigned short", "bf16": "unsigned short", "f32": "float", "f64": "double",
}  # fmt: skip
LONG = "ll"
#: A value's bits as another type of its size; a compiler's own, so no header is needed.
BIT_CAST = "__builtin_bit_cast({kind}, {text})"
