"""Which line of the source is an instruction of LLVM IR from? Metadata, of which tables are made.

One compile unit and one function, the kernel's; what was inlined from another file stands in a block of that
file. Source: LLVM Language Reference, "Specialized Metadata Nodes".
"""

from __future__ import annotations

from atoll.diagnostics import Span
from atoll_plugins.formats.places import Places

#: The first numbers; those before them are the targets' own.
_UNIT, _FILE, _FUNCTION, _TYPE, _NOTHING, _DWARF, _VERSION = range(90, 97)
_FIRST = 100


class DebugLines:
    """The places of one function's instructions; nothing where they are not wanted."""

    def __init__(self, wanted: bool) -> None:
        self._places = Places(wanted=wanted)
        self._first: Span | None = None
        self._files: dict[str, int] = {}
        self._made: list[str] = []
        self._known: dict[tuple[str, int], int] = {}
        #: What follows every instruction from here on.
        self.suffix = ""

    def at(self, span: Span | None) -> None:
        """Say where what follows is from."""
        changed = self._places.changed(span)
        if changed is None:
            return
        self._first = self._first or changed
        key = changed.file, changed.line
        if key not in self._known:
            scope = self._scope(changed.file)
            self._known[key] = self._add(f"!DILocation(line: {changed.line}, scope: !{scope})")
        self.suffix = f", !dbg !{self._known[key]}"

    def _scope(self, file: str) -> int:
        """Return what stands for a file: the function, or a block of another file in it."""
        assert self._first is not None
        if file == self._first.file:
            return _FUNCTION
        if file not in self._files:
            number = self._add(_file(file))
            block = f"!DILexicalBlockFile(scope: !{_FUNCTION}, file: !{number}, discriminator: 0)"
            self._files[file] = self._add(block)
        return self._files[file]

    def _add(self, node: str) -> int:
        self._made.append(f"!{_FIRST + len(self._made)} = {node}")
        return _FIRST + len(self._made) - 1

    @property
    def function(self) -> str:
        """What stands before the brace of the function."""
        return f" !dbg !{_FUNCTION}" if self._first else ""

    def text(self, name: str, *flags: str) -> list[str]:
        """Return the module's metadata.

        Args:
            name: The function's.
            flags: Module flags of the target's own, numbered from !0 on.
        """
        listed = [f"!{number}" for number in range(len(flags))]
        listed += [f"!{_DWARF}", f"!{_VERSION}"] if self._first else []
        lines = [f"!llvm.module.flags = !{{{', '.join(listed)}}}"] if listed else []
        lines += [f"!{number} = {flag}" for number, flag in enumerate(flags)]
        if self._first is None:
            return lines
        at, line = f"file: !{_FILE}", self._first.line
        unit = f'language: DW_LANG_C99, {at}, producer: "atoll", isOptimized: true, runtimeVersion: 0'
        kind = f"line: {line}, type: !{_TYPE}, scopeLine: {line}, spFlags: DISPFlagDefinition, unit: !{_UNIT}"
        return [
            *lines,
            f"!llvm.dbg.cu = !{{!{_UNIT}}}",
            f"!{_UNIT} = distinct !DICompileUnit({unit}, emissionKind: LineTablesOnly)",
            f"!{_FILE} = {_file(self._first.file)}",
            f'!{_FUNCTION} = distinct !DISubprogram(name: "{name}", scope: !{_FILE}, {at}, {kind})',
            f"!{_TYPE} = !DISubroutineType(types: !{_NOTHING})",
            f"!{_NOTHING} = !{{null}}",
            f'!{_DWARF} = !{{i32 7, !"Dwarf Version", i32 4}}',
            f'!{_VERSION} = !{{i32 2, !"Debug Info Version", i32 3}}',
            *self._made,
        ]


def _file(path: str) -> str:
    """Return a file's node; ASCII, other bytes of its UTF-8 in hexadecimal."""
    data = path.encode("utf-8", "surrogateescape")
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02x}" for byte in data
    )
    return f'!DIFile(filename: "{plain}", directory: "")'
