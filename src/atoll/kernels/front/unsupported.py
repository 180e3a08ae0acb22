"""Which Python a kernel cannot hold, one plain sentence each."""

from __future__ import annotations

import ast

EXPRESSIONS: dict[type[ast.expr], str] = {
    ast.Lambda: "a lambda has no meaning in a kernel; write a function marked with `@atoll.device`",
    ast.Dict: "a dict has no meaning in a kernel",
    ast.Set: "a set has no meaning in a kernel",
    ast.List: "a list has no meaning in a kernel; use `atoll.shared` or an argument",
    ast.Tuple: "a tuple stands only on both sides of an assignment, or as an index",
    ast.ListComp: "a comprehension has no meaning in a kernel; write a loop",
    ast.SetComp: "a comprehension has no meaning in a kernel; write a loop",
    ast.DictComp: "a comprehension has no meaning in a kernel; write a loop",
    ast.GeneratorExp: "a generator has no meaning in a kernel; write a loop",
    ast.Await: "`await` has no meaning in a kernel",
    ast.Yield: "`yield` has no meaning in a kernel",
    ast.YieldFrom: "`yield from` has no meaning in a kernel",
    ast.JoinedStr: "an f-string has no meaning in a kernel",
    ast.Starred: "a starred expression has no meaning in a kernel",
    ast.NamedExpr: "`:=` has no meaning in a kernel; assign on a line of its own",
    ast.Slice: "a slice is taken outside the kernel",
}

STATEMENTS: dict[type[ast.stmt], str] = {
    ast.FunctionDef: "a function inside a kernel has no meaning; write it outside, with `@atoll.device`",
    ast.AsyncFunctionDef: "`async` has no meaning in a kernel",
    ast.ClassDef: "a class inside a kernel has no meaning",
    ast.Delete: "`del` has no meaning in a kernel",
    ast.AsyncFor: "`async` has no meaning in a kernel",
    ast.With: "`with` has no meaning in a kernel",
    ast.AsyncWith: "`async` has no meaning in a kernel",
    ast.Match: "`match` has no meaning in a kernel; write `if` and `elif`",
    ast.Raise: "`raise` has no meaning in a kernel",
    ast.Try: "`try` has no meaning in a kernel",
    ast.TryStar: "`try` has no meaning in a kernel",
    ast.Import: "`import` stands outside the kernel",
    ast.ImportFrom: "`import` stands outside the kernel",
    ast.Global: "a kernel does not assign globals",
    ast.Nonlocal: "a kernel does not assign names around it",
}
