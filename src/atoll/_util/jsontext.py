"""How are many short texts written as JSON? Joined, and looked at once, where nothing in them is escaped."""

from __future__ import annotations

import json
from collections.abc import Sequence

_ascii = json.JSONEncoder().encode
_wide = json.JSONEncoder(ensure_ascii=False).encode

# What is escaped in a text of ASCII letters, quotes apart.
_ESCAPED = bytes(range(32)) + b"\\\x7f"


def is_plain(text: str) -> bool:
    """Tell whether nothing but quotes is escaped in a text."""
    if not text.isascii():
        return False
    raw = text.encode()
    return len(raw.translate(None, _ESCAPED)) == len(raw)


def quoted(text: str, *, wide: bool = False) -> str:
    """Return a text as `json.dumps` does; with `wide`, without ``ensure_ascii``."""
    if '"' not in text and is_plain(text):
        return f'"{text}"'
    return _wide(text) if wide else _ascii(text)


def listed(words: Sequence[str], *, wide: bool = False) -> str:
    """Return a list of texts as `json.dumps` does; with `wide`, without ``ensure_ascii``."""
    text = '", "'.join(words)
    # A quote that a word has is one more than those between words.
    if text.count('"') == 2 * len(words) - 2 and is_plain(text):
        return f'["{text}"]'
    return _wide(list(words)) if wide else _ascii(list(words))
