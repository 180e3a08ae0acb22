"""How KIR text is read: bounded in size and depth, one clear error with its place, no traceback.

What it returns is well formed, not yet valid: :func:`atoll.ir.verify.verify` checks the types.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError
from atoll.ir import nodes as n
from atoll.ir import ops
from atoll.ir.module import (
    NAME,
    VERSION,
    Extern,
    Kernel,
    LocalVariable,
    Module,
    Parameter,
    PrivateArray,
    SharedArray,
)
from atoll.ir.text import unquoted
from atoll.ir.types import MAX_RANK, SCALARS, Kind, Scalar, View

#: The longest text, in characters, and the deepest nesting of expressions and of blocks.
MAX_TEXT = 4 << 20
MAX_DEPTH = 100

_Choice = TypeVar("_Choice", ops.Scope, ops.Order, ops.AtomicOp, ops.SubGroup, ops.Inline)
_TOKEN = re.compile(
    r"(?P<space>[ \n]+)"
    r"|(?P<arrow>->)"
    r"|(?P<number>-?(?:0x[0-9a-f]{1,16}|[0-9]{1,400}(?:\.[0-9]{1,400})?(?:e[-+]?[0-9]{1,4})?)(?![A-Za-z0-9_.]))"
    r"|(?P<name>[%$]?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9]+)?)"
    r"|(?P<code>'(?:[ -&(-\[\]-~]|\\[n'\\]){0,8000}')"
    r'|(?P<text>"[ !#-~]{1,200}")'
    r"|(?P<mark>[](){}<>\[,:=])"
)
_FUNCTIONS: dict[str, ops.Unary | ops.Binary | ops.Compare | ops.Logical | ops.Math] = {
    str(op): op for group in (ops.Unary, ops.Binary, ops.Compare, ops.Logical, ops.Math) for op in group
}


def parse(text: str, source: str = "<kir>") -> Module:
    """Return the module that `text` spells.

    Raises:
        CompileError: With the place, where it is not KIR text.
    """
    return _Parser(text, source).module()


@dataclass(slots=True)
class _Parser:
    text: str
    source: str
    tokens: list[tuple[str, str, int]] = field(default_factory=list)
    at: int = 0
    depth: int = 0
    types: dict[str, Scalar | View] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.text) > MAX_TEXT:
            self.fail("the text is longer than KIR text may be", 0)
        place = 0
        while place < len(self.text):
            found = _TOKEN.match(self.text, place)
            if found is None:
                self.fail(f"unexpected character {self.text[place]!r}", place)
            if found.lastgroup != "space":
                self.tokens.append((str(found.lastgroup), found.group(), place))
            place = found.end()
        self.tokens.append(("end", "", len(self.text)))

    # --- tokens ---

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        raise self.wrong(message, place)

    def wrong(self, message: str, place: int | None = None) -> CompileError:
        place = self.tokens[self.at][2] if place is None else place
        start = self.text.rfind("\n", 0, place) + 1
        end = self.text.find("\n", place)
        line = self.text[start : end if end >= 0 else len(self.text)][:200]
        span = Span(
            file=self.source,
            line=self.text.count("\n", 0, place) + 1,
            column=place - start + 1,
            text=line if place - start < len(line) else "",
        )
        return CompileError(Diagnostic(code="ATL0701", message=f"not KIR text: {message}", span=span))

    @property
    def kind(self) -> str:
        return self.tokens[self.at][0]

    @property
    def word(self) -> str:
        return self.tokens[self.at][1]

    @property
    def following(self) -> str:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)][1]

    def take(self, kind: str, what: str) -> str:
        if self.kind != kind:
            self.fail(f"expected {what}, found {self.word!r}" if self.word else f"expected {what}")
        self.at += 1
        return self.tokens[self.at - 1][1]

    def expect(self, word: str) -> None:
        if self.word != word or self.kind == "end":
            self.fail(f"expected `{word}`, found {self.word!r}" if self.word else f"expected `{word}`")
        self.at += 1

    def accept(self, word: str) -> bool:
        if self.word == word and self.kind != "end":
            self.at += 1
            return True
        return False

    def plain_name(self, what: str) -> str:
        word = self.take("name", what)
        if word[0] in "%$" or "." in word:
            self.at -= 1
            self.fail(f"expected {what}, found {word!r}")
        return word

    def integer(self, what: str, limit: int) -> int:
        word = self.take("number", what)
        if not word.isdigit() or len(word) > 19 or int(word) > limit:
            self.at -= 1
            self.fail(f"expected {what} from 0 to {limit}, found {word!r}")
        return int(word)

    # --- declarations ---

    def module(self) -> Module:
        self.expect("kir")
        if self.integer("a version", 1 << 31) != VERSION:
            self.at -= 1
            self.fail(f"the version is {self.word}, this Atoll reads {VERSION}")
        kernels = []
        while self.kind != "end":
            kernels.append(self.kernel())
        return Module(kernels=tuple(kernels))

    def kernel(self) -> Kernel:
        self.expect("kernel")
        name = self.plain_name("the kernel's name")
        self.types = {}
        params = self.parameters()
        self.expect("group")
        self.expect("(")
        x = self.integer("a size", 1 << 31)
        self.expect(",")
        y = self.integer("a size", 1 << 31)
        self.expect(",")
        z = self.integer("a size", 1 << 31)
        self.expect(")")
        contract = self.accept("contract")
        self.expect("{")
        externs = self.externs()
        shared, arrays, variables = self.declarations()
        body = self.block_rest()
        return Kernel(
            name=name,
            params=params,
            locals=variables,
            shared=shared,
            arrays=arrays,
            externs=externs,
            body=body,
            group=(x, y, z),
            contract=contract,
        )

    def parameters(self) -> tuple[Parameter, ...]:
        self.expect("(")
        found: list[Parameter] = []
        while not self.accept(")"):
            if found:
                self.expect(",")
            name = self.declared(self.plain_name("a parameter's name"))
            self.expect(":")
            self.types[name] = self.view_type() if self.word == "view" else self.scalar()
            found.append(Parameter(name, self.types[name]))
        return tuple(found)

    def declarations(
        self,
    ) -> tuple[tuple[SharedArray, ...], tuple[PrivateArray, ...], tuple[LocalVariable, ...]]:
        shared = tuple(SharedArray(*item) for item in self.arrays("shared"))
        arrays = tuple(PrivateArray(*item) for item in self.arrays("array"))
        variables: list[LocalVariable] = []
        while self.word == "local" and NAME.fullmatch(self.following):
            self.at += 1
            name = self.declared(self.plain_name("a local's name"))
            self.expect(":")
            self.types[name] = scalar = self.scalar()
            variables.append(LocalVariable(name, scalar))
        return shared, arrays, tuple(variables)

    def externs(self) -> tuple[Extern, ...]:
        found: list[Extern] = []
        while self.word == "extern" and NAME.fullmatch(self.following):
            self.at += 1
            name = self.plain_name("a function's name")
            self.expect("(")
            params: list[Scalar] = []
            while not self.accept(")"):
                if params:
                    self.expect(",")
                params.append(self.scalar())
            result = self.scalar() if self.accept("->") else None
            found.append(Extern(name, tuple(params), result, self.take("text", "a source")[1:-1]))
        return tuple(found)

    def arrays(self, word: str) -> list[tuple[str, Scalar, int]]:
        found: list[tuple[str, Scalar, int]] = []
        while self.word == word and NAME.fullmatch(self.following):
            self.at += 1
            name = self.declared(self.plain_name("an array's name"))
            self.expect(":")
            element = self.scalar()
            self.expect("[")
            found.append((name, element, self.integer("a length", 1 << 40)))
            self.expect("]")
            self.types[name] = View(element)
        return found

    def declared(self, name: str) -> str:
        if name in self.types:
            self.at -= 1
            self.fail(f"`{name}` is declared twice")
        return name

    def scalar(self) -> Scalar:
        word = self.take("name", "a scalar type")
        if word not in SCALARS:
            self.at -= 1
            self.fail(f"expected a scalar type, found {word!r}")
        return SCALARS[word]

    def view_type(self) -> View:
        self.expect("view")
        self.expect("<")
        element = self.scalar()
        self.expect(",")
        rank = self.integer("a rank", MAX_RANK)
        self.expect(">")
        return View(element, rank)

    # --- statements ---

    def block(self) -> n.Block:
        self.expect("{")
        return self.block_rest()

    def block_rest(self) -> n.Block:
        self.deeper()
        found: list[n.Stmt] = []
        while not self.accept("}"):
            found.append(self.statement())
        self.depth -= 1
        return tuple(found)

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail("nested too deep")

    def statement(self) -> n.Stmt:
        if self.following == "[":  # an array may be called `if`
            place, indices, _ = self.element()
            self.expect("=")
            return n.Store(place, indices, self.expression())
        word = self.take("name", "a statement")
        if word.startswith("%"):
            self.expect("=")
            return n.Assign(self.local(word), self.expression())
        match word:
            case "if":
                condition, then = self.expression(), self.block()
                return n.If(condition, then, self.block() if self.accept("else") else ())
            case "loop":
                condition, body = self.expression(), self.block()
                return n.Loop(condition, body, self.block() if self.accept("step") else ())
            case "break":
                return n.Break()
            case "continue":
                return n.Continue()
            case "return":
                return n.Return()
            case "barrier":
                return n.Barrier(self.choice(ops.Scope))
            case "atomic":
                return self.atomic()
            case "call" | "fence" | "subgroup" | "inline":
                return self.together(word)
        self.at -= 1
        raise self.wrong(f"expected a statement, found {word!r}")

    def atomic(self) -> n.Atomic:
        op, order, scope = self.choice(ops.AtomicOp), self.choice(ops.Order), self.choice(ops.Scope)
        base, indices, _ = self.element()
        self.expect(",")
        expected = None
        if op is ops.AtomicOp.COMPARE_EXCHANGE:
            expected = self.expression()
            self.expect(",")
        value = self.expression()
        result = self.local(self.take("name", "a local")) if self.accept("->") else None
        return n.Atomic(op, base, indices, value, expected, result, order, scope)

    def together(self, word: str) -> n.Stmt:
        match word:
            case "call":
                return self.extern_call()
            case "fence":
                return n.Fence(self.choice(ops.Scope))
            case "inline":
                return self.inline()
        return self.subgroup()

    def inline(self) -> n.Inline:
        language = self.choice(ops.Inline)
        text, constraints = unquoted(self.take("code", "a text")), unquoted(self.take("code", "constraints"))
        self.expect("(")
        given: list[n.Expr] = []
        bases: list[str] = []
        while not self.accept(")"):
            if given:
                self.expect(",")
            base = ""
            operand: n.Expr
            if self.word == "address" and NAME.fullmatch(self.following):
                self.at += 1
                base, indices, _ = self.element()
                if len(indices) != 1:
                    self.fail(f"the address of an element of `{base}` takes one index")
                operand = indices[0]
            else:
                operand = self.expression()
            given.append(operand)
            bases.append(base)
        result = self.local(self.take("name", "a local")) if self.accept("->") else None
        return n.Inline(language, text, constraints, tuple(given), tuple(bases), result)

    def extern_call(self) -> n.ExternCall:
        name = self.plain_name("a function's name")
        self.expect("(")
        given = self.arguments(")")
        result = self.local(self.take("name", "a local")) if self.accept("->") else None
        return n.ExternCall(name, given, result)

    def subgroup(self) -> n.SubGroup:
        op = self.choice(ops.SubGroup)
        value = self.expression()
        lane = None
        if op in ops.WITH_LANE:
            self.expect(",")
            lane = self.expression()
        self.expect("->")
        return n.SubGroup(op, value, self.local(self.take("name", "a local")), lane)

    def choice(self, options: type[_Choice]) -> _Choice:
        word = self.take("name", f"one of {', '.join(options)}")
        if word not in set(options):
            self.at -= 1
            self.fail(f"expected one of {', '.join(options)}, found {word!r}")
        return options(word)

    def local(self, word: str) -> str:
        name = word.removeprefix("%")
        if not word.startswith("%") or not isinstance(self.types.get(name), Scalar):
            self.at -= 1
            self.fail(f"`{word}` is no declared local")
        return name

    # --- expressions ---

    def arguments(self, close: str) -> tuple[n.Expr, ...]:
        found: list[n.Expr] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(self.expression())
        return tuple(found)

    def element(self) -> tuple[str, tuple[n.Expr, ...], Scalar]:
        base = self.plain_name("an array's name")
        declared = self.types.get(base)
        if not isinstance(declared, View):
            self.at -= 1
            self.fail(f"`{base}` is no declared view or array")
        self.expect("[")
        return base, self.arguments("]"), declared.element

    def expression(self) -> n.Expr:
        self.deeper()
        found = self.expression_here()
        self.depth -= 1
        return found

    def expression_here(self) -> n.Expr:
        following = self.following
        if following == "[":
            return n.Load(*self.element())
        word = self.take("name", "an expression")
        head, _, tail = word.partition(".")
        if word[0] in "%$":
            return self.variable(word)
        if following == ":" and word in SCALARS:
            return self.constant(SCALARS[word])
        if head in set(ops.Id) and tail in ("0", "1", "2"):
            return n.Builtin(ops.Id(head), int(tail))
        self.expect("(")
        if head in set(ops.Extent) and tail.isdigit():
            view = self.plain_name("a view")
            self.expect(")")
            return n.ViewInfo(ops.Extent(head), view, int(tail))
        return self.call(word, head, tail)

    def call(self, word: str, head: str, tail: str) -> n.Expr:
        name = self.at - 2
        found = self.arguments(")")
        operation = _FUNCTIONS.get(word)
        match operation, found:
            case ops.Unary(), (operand,):
                return n.Unary(operation, operand)
            case ops.Binary(), (left, right):
                return n.Binary(operation, left, right)
            case ops.Compare(), (left, right):
                return n.Compare(operation, left, right)
            case ops.Logical(), (left, right):
                return n.Logical(operation, left, right)
            case ops.Math(), _ if len(found) == ops.MATH_ARITY[operation]:
                return n.MathCall(operation, found)
        if word == "select" and len(found) == 3:
            return n.Select(*found)
        if head in set(ops.Cast) and tail in SCALARS and len(found) == 1:
            return n.Cast(ops.Cast(head), SCALARS[tail], found[0])
        self.at = name
        raise self.wrong(f"no operation `{word}` with {len(found)} operands")

    def variable(self, word: str) -> n.Expr:
        declared = self.types.get(word[1:])
        if not isinstance(declared, Scalar):
            self.at -= 1
            self.fail(f"`{word}` is not declared")
        return n.Local(word[1:], declared) if word[0] == "%" else n.Param(word[1:], declared)

    def constant(self, scalar: Scalar) -> n.Const:
        self.expect(":")
        if scalar.kind is Kind.BOOL:
            word = self.take("name", "`true` or `false`")
            if word not in ("true", "false"):
                self.at -= 1
                self.fail(f"expected `true` or `false`, found {word!r}")
            return n.Const(scalar, int(word == "true"))
        word = self.take("number", "a number")
        bits = _bits(scalar, word)
        if bits is None:
            self.at -= 1
            self.fail(f"`{word}` is no {scalar}")
        return n.Const(scalar, bits)


def _bits(scalar: Scalar, word: str) -> int | None:
    """Return the bits that a number spells as this type, or None where it is not exactly one of it."""
    if word.startswith("0x"):
        bits = int(word, 16)
        return bits if scalar.is_float and bits >> scalar.bits == 0 else None
    if scalar.is_integer:
        if not word.lstrip("-").isdigit() or len(word) > 20:
            return None
        bits = n.bits_of(scalar, int(word))
        return bits if n.value_of(scalar, bits) == int(word) else None
    value = float(word)
    bits = n.bits_of(scalar, value)
    return bits if math.isfinite(value) and n.value_of(scalar, bits) == value else None
