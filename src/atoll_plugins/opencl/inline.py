"""Turn an OpenCL C file into one text: its includes are put in where they stand.

Run by path (``python -I -S inline.py IN OUT DEPFILE [-I DIR] [-D NAME=VALUE]``), so it imports nothing of
Atoll. Nothing is preprocessed: conditions and macros are left to the compiler that the device brings,
whose predefined macros are not known here. A file without includes and defines comes out byte for byte.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

DEPTH = 100
LIMIT = 64 << 20
_TOKEN = re.compile(
    rb'//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    rb"|^[ \t]*#[ \t]*(?:include[ \t]*(?:\"([^\"\n]+)\"|<([^>\n]+)>)[^\n]*|(pragma)[ \t]+once[^\n]*)",
    re.DOTALL | re.MULTILINE,
)


class InlineError(Exception):
    """An include that cannot be put in; the text is for the person who wrote it."""


@dataclass(slots=True)
class Inliner:
    """One run: where to look, what was read, what must not come twice."""

    folders: tuple[Path, ...]
    read: dict[str, None] = field(default_factory=dict)
    once: set[Path] = field(default_factory=set)
    size: int = 0

    def text(self, path: Path, depth: int = 0) -> bytes:
        """Return the text of a file with its includes put in."""
        if depth > DEPTH:
            raise InlineError(f"{path}: includes are nested more than {DEPTH} deep")
        data = path.read_bytes()
        self.read[path.as_posix()] = None
        self.size += len(data)
        if self.size > LIMIT:
            raise InlineError(f"{path}: more than {LIMIT >> 20} MiB with its includes")
        parts: list[bytes] = []
        last = 0
        for match in _TOKEN.finditer(data):
            name = match[1] or match[2]
            if name is None and match[3] is None:
                continue
            parts.append(data[last : match.start()])
            line = data.count(b"\n", 0, match.start()) + 1
            if name is None:
                self.once.add(path.resolve())
            else:
                parts.append(self._included(path, line, name.decode("utf-8", "surrogateescape"), depth))
            last = match.end()
        return b"".join([*parts, data[last:]])

    def _included(self, path: Path, line: int, name: str, depth: int) -> bytes:
        searched = (path.parent, *self.folders)
        found = next((folder / name for folder in searched if (folder / name).is_file()), None)
        if found is None:
            looked = ", ".join(str(folder) for folder in searched)
            raise InlineError(f"{path}:{line}: error: no file `{name}` to include; looked in: {looked}")
        if found.resolve() in self.once:
            return b""
        body = self.text(found, depth + 1)
        tail = b"" if body.endswith(b"\n") or not body else b"\n"
        return b'#line 1 "%s"\n%s%s#line %d "%s"' % (_quoted(found), body, tail, line + 1, _quoted(path))


def _quoted(path: Path) -> bytes:
    text = path.as_posix().replace("\\", "\\\\").replace('"', '\\"')
    return text.encode("utf-8", "surrogateescape")


def _escaped(name: str) -> str:
    return name.replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


def inline(source: str, folders: tuple[str, ...], defines: tuple[str, ...]) -> tuple[bytes, tuple[str, ...]]:
    """Return the text and the files it was made from.

    Raises:
        InlineError: Where an include is missing, nested too deep, or the text grows too large.
    """
    inliner = Inliner(tuple(Path(folder) for folder in folders))
    body = inliner.text(Path(source))
    head = b"".join(_define(define) for define in defines)
    if head:
        head += b'#line 1 "%s"\n' % _quoted(Path(source))
    return head + body, tuple(inliner.read)


def _define(define: str) -> bytes:
    name, equals, value = define.partition("=")
    return f"#define {name} {value if equals else '1'}\n".encode()


def main(argv: list[str]) -> int:
    """Read the arguments, write the text and the depfile."""
    source, out, depfile, *rest = argv
    folders = tuple(arg[2:] for arg in rest if arg.startswith("-I"))
    defines = tuple(arg[2:] for arg in rest if arg.startswith("-D"))
    try:
        text, read = inline(source, folders, defines)
    except (InlineError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    Path(out).write_bytes(text)
    names = " ".join(_escaped(name) for name in read)
    Path(depfile).write_text(f"{_escaped(out)}: {names}\n", encoding="utf-8", errors="surrogateescape")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
