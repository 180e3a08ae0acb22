"""Where is the source of a function? Its tree, its lines, and the span of a node in its file.

The whole file is parsed once (:mod:`linecache` serves notebooks and `exec`), so places need no
correction; the function is found by the line of its code object.
"""

from __future__ import annotations

import ast
import types
from dataclasses import dataclass, field
from pathlib import Path

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError
from atoll.kernels.texts import lines_of


@dataclass(frozen=True, slots=True)
class Source:
    """A file's lines."""

    file: str
    lines: tuple[str, ...] = field(repr=False)

    def span(self, node: ast.AST) -> Span:
        """Return the place of a node; a node of many lines ends with its first one."""
        line = int(getattr(node, "lineno", 1))
        text = self.lines[line - 1].rstrip("\n") if line <= len(self.lines) else ""
        start = _column(text, int(getattr(node, "col_offset", 0)))
        end = len(text.rstrip()) + 1
        if getattr(node, "end_lineno", None) == line:
            end = _column(text, int(getattr(node, "end_col_offset", 0)))
        return Span(file=self.file, line=line, column=start, end_column=max(end, start + 1), text=text)


def _column(line: str, offset: int) -> int:
    """Return the column from 1 for a byte offset of `ast`, which counts UTF-8."""
    if line.isascii():
        return offset + 1
    return len(line.encode()[:offset].decode(errors="replace")) + 1


@dataclass(frozen=True, slots=True)
class Function:
    """A function with its source."""

    function: types.FunctionType
    node: ast.FunctionDef
    source: Source

    @property
    def name(self) -> str:
        """The name as written."""
        return self.node.name


_parsed: dict[str, tuple[tuple[str, ...], ast.Module]] = {}


def find(function: types.FunctionType) -> Function:
    """Return a function with its tree.

    Raises:
        CompileError: Where its source is not at hand, or it is no plain `def`.
    """
    code = function.__code__
    lines = lines_of(function)
    if not lines:
        raise _missing(function, "no source is known for it")
    source = Source(code.co_filename, lines)
    for node in ast.walk(_tree(source, function)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
            if first == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
                if isinstance(node, ast.FunctionDef):
                    if not is_from(code, node):
                        raise _missing(function, "another text stands under its file's name now")
                    return Function(function, node, source)
                raise CompileError(
                    Diagnostic(
                        code="ATL0710",
                        message="a kernel is a plain `def`, not a lambda or an `async def`",
                        span=source.span(node),
                    )
                )
    raise _missing(function, "its file changed since it was imported")


def is_from(code: types.CodeType, node: ast.FunctionDef) -> bool:
    """Tell whether a function of a notebook or an interpreter is the one that its source spells.

    Their sources have names and no files, and a name may be used again. What a file spells is not asked:
    hooks of import change code, and an `assert` is changed by pytest.
    """
    others = node.args.vararg or node.args.kwarg  # refused with words of their own
    asserts = any(isinstance(item, ast.Assert) for item in ast.walk(node))
    if others or asserts or Path(code.co_filename).exists():
        return True
    names = [item.arg for item in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    given, around = ", ".join(names), ", ".join(code.co_freevars)
    itself = "pass" if node.name in code.co_freevars else f"global {node.name}"
    tree = ast.parse(f"def _({around}):\n  {itself}\n  def {node.name}({given}): pass")
    tree.body[0].body[1].body = node.body  # type: ignore[attr-defined]
    made = compile(tree, code.co_filename, "exec", dont_inherit=True)
    found = next(item for item in made.co_consts if isinstance(item, types.CodeType))
    found = next(item for item in found.co_consts if isinstance(item, types.CodeType))
    return (found.co_names, _plain(found), found.co_varnames) == (
        code.co_names,
        _plain(code),
        code.co_varnames,
    )


def _plain(code: types.CodeType) -> tuple[tuple[str, str], ...]:
    """Return the constants of a function's code, but for the code inside it."""
    listed = (item for item in code.co_consts if not isinstance(item, types.CodeType))
    return tuple((type(item).__name__, repr(item)) for item in listed)


def _tree(source: Source, function: types.FunctionType) -> ast.Module:
    known = _parsed.get(source.file)
    if known is not None and known[0] == source.lines:
        return known[1]
    try:
        tree = ast.parse("".join(source.lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _missing(function, f"its file does not parse: {error}") from error
    _parsed[source.file] = (source.lines, tree)
    return tree


def _missing(function: types.FunctionType, reason: str) -> CompileError:
    code = function.__code__
    return CompileError(
        Diagnostic(
            code="ATL0723",
            message=f"the source of `{function.__qualname__}` is not at hand",
            span=Span(file=code.co_filename, line=code.co_firstlineno),
            notes=(reason,),
            hint="define the kernel in a file or a notebook cell",
        )
    )
