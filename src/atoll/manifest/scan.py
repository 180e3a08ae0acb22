"""Where do keys and values of a TOML text stand? One pass, no recursion, bounded.

Lenient by design: it records places in texts that are TOML and stops at the first thing it does not
know; whether a text *is* TOML is `tomllib`'s answer. A test holds that both find the same paths.
"""

from __future__ import annotations

import re

from atoll._util.values import dataclass

MAX_DEPTH = 24
MAX_KEY_PARTS = 12
MAX_VALUES = 50_000

Path = tuple[str | int, ...]
# (line, column, end column), from 1.
Extent = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """The extents of a key and of its value."""

    key: Extent
    value: Extent


Places = dict[Path, Place]


class Limit(Exception):  # noqa: N818 - no error of the caller; becomes a diagnostic
    """A bound was passed."""

    def __init__(self, what: str, found: str, bound: str, line: int, column: int) -> None:
        super().__init__(what)
        self.what, self.found, self.bound, self.line, self.column = what, found, bound, line, column


_SPACE = re.compile(r"[ \t]*")
_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^\s,\]}#]+(?:[ ][0-9:.Z+-]+)?")
_STRING = re.compile(
    "|".join(
        (
            r'"""(?:[^\\"]|\\.|"(?!""))*"{3,5}',
            r"'''(?:[^']|'(?!''))*'{3,5}",
            r'"(?:[^"\\\n]|\\.)*"',
            r"'[^'\n]*'",
        )
    ),
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_PLAIN = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class _Stop(Exception):  # noqa: N818
    pass


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text, self.at, self.places = text, 0, Places()
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.arrays: dict[Path, int] = {}

    # places

    def extent(self, start: int, end: int) -> Extent:
        from bisect import bisect_right

        line = bisect_right(self.starts, start)
        begin = self.starts[line - 1]
        newline = self.text.find("\n", start, end)
        return line, start - begin + 1, (newline if newline >= 0 else end) - begin + 1

    def record(self, path: Path, key: tuple[int, int], value: tuple[int, int]) -> None:
        if path in self.places:
            return
        if len(self.places) >= MAX_VALUES:
            raise self.limit("too many values", f"more than {MAX_VALUES}", str(MAX_VALUES))
        self.places[path] = Place(self.extent(*key), self.extent(*value))

    def limit(self, what: str, found: str, bound: str) -> Limit:
        line, column, _ = self.extent(self.at, self.at)
        return Limit(what, found, bound, line, column)

    # tokens

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _Stop
        self.at = match.end()
        return match.group()

    def peek(self, token: str) -> bool:
        return self.text.startswith(token, self.at)

    def expect(self, token: str) -> None:
        if not self.peek(token):
            raise _Stop
        self.at += len(token)

    def key(self) -> list[tuple[str, int, int]]:
        parts: list[tuple[str, int, int]] = []
        while True:
            self.take(_SPACE)
            start = self.at
            quoted = self.peek('"') or self.peek("'")
            name = _unquoted(self.take(_STRING)) if quoted else self.take(_BARE)
            parts.append((name, start, self.at))
            if len(parts) > MAX_KEY_PARTS:
                raise self.limit("a dotted key is too long", f"more than {MAX_KEY_PARTS}", str(MAX_KEY_PARTS))
            self.take(_SPACE)
            if not self.peek("."):
                return parts
            self.at += 1

    # statements

    def document(self) -> None:
        base: Path = ()
        while True:
            self.take(_GAP)
            if self.at >= len(self.text):
                return
            if self.peek("["):
                base = self.header()
            else:
                self.pair(base)

    def header(self) -> Path:
        array = self.peek("[[")
        self.expect("[[" if array else "[")
        parts = self.key()
        self.expect("]]" if array else "]")
        path: Path = ()
        for name, start, end in parts:
            path = self.current((*path, name))
            self.record(path, (start, end), (start, end))
        if not array:
            return path
        path = path[:-1] if path and isinstance(path[-1], int) else path
        self.arrays[path] = self.arrays.get(path, -1) + 1
        item = (*path, self.arrays[path])
        self.record(path, (parts[-1][1], parts[-1][2]), (parts[-1][1], parts[-1][2]))
        self.record(item, (parts[-1][1], parts[-1][2]), (parts[-1][1], parts[-1][2]))
        return item

    def current(self, path: Path) -> Path:
        return (*path, self.arrays[path]) if path in self.arrays else path

    def pair(self, base: Path) -> None:
        path, key = self.keys(base)
        self.value(path, key)

    def keys(self, base: Path) -> tuple[Path, tuple[int, int]]:
        parts = self.key()
        self.expect("=")
        self.take(_SPACE)
        path = base
        for name, start, end in parts[:-1]:
            path = (*path, name)
            self.record(path, (start, end), (start, end))
        name, start, end = parts[-1]
        return (*path, name), (start, end)

    def value(self, path: Path, key: tuple[int, int]) -> None:
        # Each frame: [path, key, start, kind, next index]; an explicit stack bounds the nesting.
        stack: list[tuple[Path, tuple[int, int], int, str]] = []
        index: list[int] = []
        while True:
            opened = self.open(path, key, stack, index)
            while stack and (not opened or self.closes(stack)):
                opened = False
                if self.closes(stack):
                    self.at += 1
                    done, at, start, _ = stack.pop()
                    index.pop()
                    # The extent of a container is known only now; its place was kept for its children.
                    self.places[done] = Place(self.extent(*at), self.extent(start, self.at))
                    if stack:
                        self.take(_GAP)
                    continue
                self.expect(",")
                self.take(_GAP)
                if not self.closes(stack):
                    break
            if not stack:
                return
            path, key = self.next(stack, index)

    def open(
        self,
        path: Path,
        key: tuple[int, int],
        stack: list[tuple[Path, tuple[int, int], int, str]],
        index: list[int],
    ) -> bool:
        start = self.at
        if self.peek("[") or self.peek("{"):
            kind = self.text[self.at]
            self.at += 1
            self.record(path, key, (start, self.at))
            stack.append((path, key, start, "]" if kind == "[" else "}"))
            index.append(0)
            if len(stack) > MAX_DEPTH:
                raise self.limit("values are nested too deeply", f"more than {MAX_DEPTH}", str(MAX_DEPTH))
            self.take(_GAP)
            return True
        self.take(_STRING if self.text[self.at : self.at + 1] in {'"', "'"} else _SCALAR)
        self.record(path, key, (start, self.at))
        if stack:
            self.take(_GAP)
        return False

    def closes(self, stack: list[tuple[Path, tuple[int, int], int, str]]) -> bool:
        return self.peek(stack[-1][3])

    def next(
        self, stack: list[tuple[Path, tuple[int, int], int, str]], index: list[int]
    ) -> tuple[Path, tuple[int, int]]:
        path, _, _, closing = stack[-1]
        if closing == "}":
            return self.keys(path)
        number = index[-1]
        index[-1] += 1
        return (*path, number), (self.at, self.at + 1)


def _unquoted(token: str) -> str:
    if token[0] == "'":
        return token[1:-1]

    def plain(match: re.Match[str]) -> str:
        code = match.group(1)
        return chr(int(code[1:], 16)) if code[0] in "uU" and len(code) > 1 else _PLAIN.get(code, code)

    return _ESCAPE.sub(plain, token[1:-1])


def scan(text: str) -> Places:
    """Return the places of every key and value, as far as the text is TOML.

    Raises:
        Limit: Where a bound is passed.
    """
    scanner = _Scanner(text)
    try:
        scanner.document()
    except (_Stop, ValueError, OverflowError):
        return scanner.places
    return scanner.places
