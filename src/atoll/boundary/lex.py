"""Where in a C++ text do marker tokens stand? Comments, strings and directives are skipped whole.

This is only the lexical part: it says where a marker *token* is and how far its clause reaches, so that
both can be blanked to spaces of equal length before the real parser reads the file. One regular
expression, linear in the text whatever the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from atoll._util.values import dataclass

MARKER_LIMIT = 1024
"""Markers that one file may have."""
LONGEST_LIST = 4096
"""Tokens that a clause or a parameter list may have; a longer one counts as never closed."""
_TOKEN = re.compile(
    rb"""
      (?P<skip>
          //(?:\\\r?\n|[^\n])*
        | /\*.*?(?:\*/|\Z)
        | (?:u8|[uUL])?R"(?P<delimiter>[^\s()\\"]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
        | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*"?
        | (?:u8|[uUL])?'(?:\\.|[^'\\\n])*'?
        | (?m:^)[ \t]*\#(?:/\*.*?(?:\*/|\Z)|//(?:\\\r?\n|[^\n])*|\\\r?\n|[^\n])*
        | [ \t\r\f\v]+ | \n
      )
    | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\.?[0-9](?:'?\w|\.)*)
    | (?P<mark>.)
    """,
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or punctuation mark of code, by byte offset."""

    start: int
    end: int
    text: bytes
    word: bool


@dataclass(frozen=True, slots=True)
class Marked:
    """One marker in code.

    Attributes:
        start: Where the marker begins.
        end: After the marker and its clause.
        clause: The text between the clause's parentheses, and where it begins; None without a clause.
        follows: Where the declaration begins; the end of the text where nothing follows.
        opened: Where a parenthesis opens that is never closed: of the clause or of the parameter list.
    """

    start: int
    end: int
    clause: tuple[bytes, int] | None
    follows: int
    opened: int | None


def tokens(text: bytes) -> Iterator[Token]:
    """Give the tokens of code; comments, literals of text, directives and white space are left out."""
    for match in _TOKEN.finditer(text):
        if match.lastgroup is None or match["skip"] is not None:
            continue
        yield Token(match.start(), match.end(), match[0], match["word"] is not None)


def find_markers(text: bytes, with_clause: bytes, without: bytes) -> tuple[Marked, ...]:
    """Return the markers of a text, in order; one more than the limit where there are more."""
    code = list(tokens(text))
    places = [k for k, token in enumerate(code) if token.word and token.text in (with_clause, without)]
    return tuple(
        _marked(text, code, place, code[place].text == with_clause) for place in places[: MARKER_LIMIT + 1]
    )


def _marked(text: bytes, code: list[Token], index: int, takes_clause: bool) -> Marked:
    start, end, clause, following, opened = code[index].start, code[index].end, None, index + 1, None
    if takes_clause and following < len(code) and code[following].text == b"(":
        close = _closing(code, following)
        if close is None:
            opened = code[following].start
        else:
            clause = (text[code[following].end : code[close].start], code[following].end)
            end, following = code[close].end, close + 1
    follows = code[following].start if following < len(code) else len(text)
    return Marked(start, end, clause, follows, opened or _unclosed(code, following))


def _closing(code: list[Token], opening: int) -> int | None:
    """Return the index of the parenthesis that closes the one at `opening`, before any brace or semicolon."""
    depth = 0
    for index in range(opening, min(len(code), opening + LONGEST_LIST)):
        mark = code[index].text
        depth += (mark == b"(") - (mark == b")")
        if depth == 0:
            return index
        if mark in (b"{", b"}", b";"):
            return None
    return None


def _unclosed(code: list[Token], index: int) -> int | None:
    """Return where the parameter list that follows opens, where it is never closed."""
    while index < len(code) and code[index].text not in (b"(", b"{", b"}", b";"):
        index += 1
    if index == len(code) or code[index].text != b"(" or _closing(code, index) is not None:
        return None
    return code[index].start


def blanked(text: bytes, marked: tuple[Marked, ...]) -> bytes:
    """Return `text` with every marker and clause replaced by spaces, line ends kept."""
    out = bytearray(text)
    for item in marked:
        out[item.start : item.end] = re.sub(rb"[^\r\n]", b" ", text[item.start : item.end])
    return bytes(out)
