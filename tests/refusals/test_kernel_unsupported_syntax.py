"""Python that a kernel cannot hold: one case each, the caret under what is meant."""

from __future__ import annotations

import ast

import pytest

from atoll.kernels.front import unsupported
from kernel_text import body, refused

# name of the node: (lines, what the caret stands under)
STATEMENTS = {
    "FunctionDef": ("def inner():\n    pass", "def inner():"),
    "AsyncFunctionDef": ("async def inner():\n    pass", "async def inner():"),
    "ClassDef": ("class A:\n    pass", "class A:"),
    "Delete": ("a = n\ndel a", "del a"),
    "With": ("with x:\n    pass", "with x:"),
    "Match": ("match n:\n    case 1:\n        pass", "match n:"),
    "Raise": ("raise n", "raise n"),
    "Try": ("try:\n    n\nfinally:\n    pass", "try:"),
    "TryStar": ("try:\n    n\nexcept* ValueError:\n    pass", "try:"),
    "Import": ("import os", "import os"),
    "ImportFrom": ("from os import path", "from os import path"),
    "Global": ("global q\nq = 1", "global q"),
}
EXPRESSIONS = {
    "Lambda": ("a = lambda: n", "lambda: n"),
    "Dict": ("a = {n: n}", "{n: n}"),
    "Set": ("a = {n}", "{n}"),
    "List": ("a = [n]", "[n]"),
    "Tuple": ("a = (n, n)", "(n, n)"),
    "ListComp": ("a = [n for n in x]", "[n for n in x]"),
    "SetComp": ("a = {n for n in x}", "{n for n in x}"),
    "DictComp": ("a = {n: n for n in x}", "{n: n for n in x}"),
    "GeneratorExp": ("a = (n for n in x)", "(n for n in x)"),
    "Yield": ("yield n", "yield n"),
    "YieldFrom": ("yield from x", "yield from x"),
    "JoinedStr": ("a = f'{n}'", "f'{n}'"),
    "NamedExpr": ("if (a := n) == 0:\n    pass", "a := n"),
    "Starred": ("a = max(*x)", "*x"),
}
# These need an `async def`, which is refused before they are seen; `nonlocal` needs a function around it.
NOT_ALONE = {"AsyncFor", "AsyncWith", "Await", "Nonlocal", "Slice"}


@pytest.mark.parametrize("node", [*STATEMENTS, *EXPRESSIONS])
def test_each_is_refused_with_its_own_sentence(node: str) -> None:
    lines, at = (STATEMENTS | EXPRESSIONS)[node]
    found = refused(lines, "ATL0710", at)
    sentences = {kind.__name__: text for kind, text in unsupported.STATEMENTS.items()}
    sentences |= {kind.__name__: text for kind, text in unsupported.EXPRESSIONS.items()}
    assert found.message == sentences[node]


def test_no_sentence_is_without_a_case() -> None:
    listed = {kind.__name__ for kind in (*unsupported.STATEMENTS, *unsupported.EXPRESSIONS)}
    assert listed == {*STATEMENTS, *EXPRESSIONS} | NOT_ALONE


def test_every_statement_of_python_is_either_lowered_or_refused_by_name() -> None:
    from atoll.kernels.front import expressions, statements

    kinds = {kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.stmt)}
    rest = kinds - statements._HANDLERS.keys() - unsupported.STATEMENTS.keys() - {ast.stmt}
    assert {kind.__name__ for kind in rest} <= {"TypeAlias"}
    others = {kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.expr)}
    left = others - expressions.HANDLERS.keys() - unsupported.EXPRESSIONS.keys() - {ast.expr}
    deprecated = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis"}
    assert {kind.__name__ for kind in left} <= deprecated | {"FormattedValue", "TemplateStr", "Interpolation"}


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ("for k in range(3):\n    pass\nelse:\n    n", "n"),
        ("while n > 3:\n    pass\nelse:\n    n", "n"),
        ("for k in x:\n    pass", "x"),
        ("for k, j in range(3):\n    pass", "k, j"),
        ("if n is n:\n    pass", "n is n"),
        ("if n in x:\n    pass", "n in x"),
        ("a = 'text'", "'text'"),
        ("a = None", "None"),
        ("a = 1j", "1j"),
        ("a = n @ n", "n @ n"),
        ("x.shape = n", "x.shape"),
        ("a, *b = n, n", "*b"),
        ("y = x", "x"),
        ("a, b = n", "n"),
        ("for k in range(n):\n    t = atoll.shared(f32, 4)", "t"),
        ("a = atoll.shared(f32, 4)[0]", "atoll.shared(f32, 4)"),
    ],
)
def test_forms_without_a_node_of_their_own_are_refused_too(lines: str, at: str) -> None:
    found = refused(lines, "ATL0714" if lines.startswith("for k in range(n)") else "ATL0710", at)
    assert found.message


def test_a_lambda_and_an_async_function_are_no_kernels() -> None:
    from atoll.errors import CompileError
    from atoll.kernels.definition import kernel

    async def f() -> None: ...

    for function in (lambda: None, f):
        with pytest.raises(CompileError, match="plain `def`"):
            kernel(function).compiled()
    with pytest.raises(CompileError, match="marks a plain function, not a type"):
        kernel(int)
    assert body("n").compiled()
