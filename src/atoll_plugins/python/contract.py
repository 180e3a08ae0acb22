"""How does C check a launch contract? Each condition over parameters and sizes, in integers of 128 bits.

:mod:`atoll.kernels.contract` says what a condition may hold; it has refused everything else before.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from atoll.boundary import Parameter

_WORDS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
# Python's // and %, which floor; a division by zero breaks the contract.
HELPERS = """\
__extension__ typedef __int128 atoll_wide_;
static atoll_wide_ atoll_floor_(atoll_wide_ one, atoll_wide_ by, int rest, int *broken) {
  atoll_wide_ left;
  if (by == 0) return *broken = 1;
  left = one % by;
  if (left != 0 && (left < 0) != (by < 0)) left += by;
  return rest ? left : (one - left) / by;
}
"""


def checks(kernel: str, requires: Sequence[str], params: dict[str, Parameter]) -> list[str]:
    """Return the C lines that refuse a launch which breaks a condition.

    Args:
        kernel: Its name.
        requires: The conditions, as they were written.
        params: The C parameter of each parameter of the source.

    Raises:
        ValueError: Where a condition asks for what a parameter does not have.
    """
    return [line for text in requires for line in _check(kernel, text, params)]


def _check(kernel: str, text: str, params: dict[str, Parameter]) -> list[str]:
    tree = ast.parse(text, mode="eval").body
    values = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and _is_value(node, params)]
    ordered = sorted(values, key=lambda node: (node.lineno, node.col_offset))
    named = {ast.unparse(node): node for node in ordered}
    said = ", ".join(f"{name} is %{_format(node, params)}" for name, node in named.items())
    message = (
        f"{kernel}: has a launch contract that this launch breaks: {text.replace('%', '%%')}; here {said}"
    )
    shown = [f"({_cast(node, params)}){_c(node, params)}" for node in named.values()]
    quoted = message.replace("\\", "\\\\").replace('"', '\\"')
    given = ", ".join(["atoll_text_", "sizeof atoll_text_", f'"{quoted}"', *shown])
    return [
        "  {",
        "    int atoll_broken_ = 0;",
        f"    if (!({_c(tree, params)}) || atoll_broken_) {{",
        "      char atoll_text_[768];",
        f"      (void)snprintf({given});",
        "      atoll_fail(atoll_text_);",
        "      return 1;",
        "    }",
        "  }",
    ]


def _is_value(node: ast.AST, params: dict[str, Parameter]) -> bool:
    """Tell whether a node is a number that the message names: a scalar, a size, one extent."""
    match node:
        case ast.Name():
            return node.id in params and not params[node.id].extent
        case ast.Attribute():
            return node.attr == "size"
        case ast.Subscript():
            return True
    return False


def _is_float(node: ast.AST, params: dict[str, Parameter]) -> bool:
    return isinstance(node, ast.Name) and node.id in params and params[node.id].ctype in ("float", "double")


def _format(node: ast.AST, params: dict[str, Parameter]) -> str:
    return "g" if _is_float(node, params) else "lld"


def _cast(node: ast.AST, params: dict[str, Parameter]) -> str:
    return "double" if _is_float(node, params) else "long long"


def _c(node: ast.AST, params: dict[str, Parameter]) -> str:
    match node:
        case ast.Constant(value=int(value)):
            return f"(atoll_wide_){value}"
        case ast.Name(id=name):
            if name not in params:
                raise ValueError(f"`{name}` is no parameter of the compiled kernel")
            if params[name].extent or params[name].struct:
                raise ValueError(f"`{name}` is no number")
            kind = "double" if _is_float(node, params) else "atoll_wide_"
            return f"({kind}){params[name].name}"
        case ast.Attribute(value=ast.Name(id=name), attr="size"):
            sizes = [f"(atoll_wide_){size}" for size in _sizes(params[name])]
            return f"({' * '.join(sizes)})"
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name)), slice=ast.Constant(value=int(axis))):
            extents = _sizes(params[name])
            if axis >= len(extents):
                raise ValueError(
                    f"`{ast.unparse(node)}` does not exist: `{params[name].name}` has {len(extents)}"
                )
            return f"(atoll_wide_){extents[axis]}"
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
            rest = int(isinstance(node.op, ast.Mod))
            return f"atoll_floor_({_c(node.left, params)}, {_c(node.right, params)}, {rest}, &atoll_broken_)"
        case ast.BinOp():
            return f"({_c(node.left, params)} {_WORDS[type(node.op)]} {_c(node.right, params)})"
        case ast.BoolOp():
            word = " && " if isinstance(node.op, ast.And) else " || "
            return f"({word.join(_c(item, params) for item in node.values)})"
        case ast.Compare():
            sides = [_c(item, params) for item in (node.left, *node.comparators)]
            pairs = zip(node.ops, sides, sides[1:], strict=False)
            return f"({' && '.join(f'{left} {_WORDS[type(op)]} {right}' for op, left, right in pairs)})"
    raise ValueError(f"`{ast.unparse(node)}` is no number")


def _sizes(param: Parameter) -> tuple[str, ...]:
    if param.extent is None:
        raise ValueError(f"`{param.name}` is no array")
    return param.extent.dimensions
