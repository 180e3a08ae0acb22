"""KIR over random modules and random bytes."""

from __future__ import annotations

import os
import random
import re
import sys
import time
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import CompileError
from atoll.ir import SCALARS, Kernel, LocalVariable, Module, Parameter, Scalar, SharedArray, View, ops
from atoll.ir import nodes as n
from atoll.ir.parse import parse
from atoll.ir.passes import optimise
from atoll.ir.passes.manager import MAX_STATEMENTS
from atoll.ir.text import canonical, text
from atoll.ir.verify import verify
from atoll.testing.random_kernels import random_program

#: How many modules are drawn, by default and with --all.
EXAMPLES = 300 if "--all" in sys.argv or os.environ.get("ATOLL_TEST_ALL") == "1" else 50
_scalars = st.sampled_from(list(SCALARS.values()))
_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)


def constants(scalar: st.SearchStrategy[Scalar]) -> st.SearchStrategy[n.Expr]:
    return scalar.flatmap(
        lambda kind: st.builds(n.Const, st.just(kind), st.integers(0, (1 << kind.bits) - 1))
    )


@st.composite
def modules(draw: st.DrawFn) -> Module:
    """Draw a module that is well formed; its types need not agree."""
    names = draw(st.lists(_names, min_size=4, max_size=8, unique=True))
    half = len(names) // 2
    params = tuple(Parameter(name, draw(_scalars)) for name in names[1:half])
    view = Parameter(names[0], View(draw(_scalars), draw(st.integers(1, 4))))
    shared = SharedArray(names[half], draw(_scalars), draw(st.integers(1, 99)))
    variables = tuple(LocalVariable(name, draw(_scalars)) for name in names[half + 1 :])
    expressions = _expressions(view, shared, params, variables)
    body = draw(_blocks(expressions, view, shared, variables))
    kernel = Kernel(
        name=draw(_names), params=(view, *params), shared=(shared,), locals=variables, body=body,
        group=draw(st.tuples(*[st.integers(0, 1024)] * 3)),
    )  # fmt: skip
    return Module(kernels=(kernel,))


def _expressions(
    view: Parameter, shared: SharedArray, params: tuple[Parameter, ...], variables: tuple[LocalVariable, ...]
) -> st.SearchStrategy[n.Expr]:
    assert isinstance(view.type, View)
    scalars = [n.Param(item.name, item.type) for item in params if isinstance(item.type, Scalar)]
    leaves: list[st.SearchStrategy[n.Expr]] = [constants(_scalars)]
    leaves += [st.sampled_from(scalars)] if scalars else []
    leaves += [st.sampled_from([n.Local(item.name, item.type) for item in variables])] if variables else []
    leaves.append(st.builds(n.Builtin, st.sampled_from(ops.Id), st.integers(0, 2)))
    leaves.append(st.builds(n.ViewInfo, st.sampled_from(ops.Extent), st.just(view.name), st.integers(0, 3)))
    element = view.type.element

    def more(inner: st.SearchStrategy[n.Expr]) -> st.SearchStrategy[n.Expr]:
        maths: Callable[[ops.Math], st.SearchStrategy[n.Expr]] = lambda op: st.builds(  # noqa: E731
            n.MathCall, st.just(op), st.tuples(*[inner] * ops.MATH_ARITY[op])
        )
        return st.one_of(
            st.builds(n.Unary, st.sampled_from(ops.Unary), inner),
            st.builds(n.Binary, st.sampled_from(ops.Binary), inner, inner),
            st.builds(n.Compare, st.sampled_from(ops.Compare), inner, inner),
            st.builds(n.Logical, st.sampled_from(ops.Logical), inner, inner),
            st.builds(n.Select, inner, inner, inner),
            st.builds(n.Cast, st.sampled_from(ops.Cast), _scalars, inner),
            st.builds(
                n.Load,
                st.just(view.name),
                st.lists(inner, min_size=1, max_size=2).map(tuple),
                st.just(element),
            ),
            st.builds(n.Load, st.just(shared.name), st.tuples(inner), st.just(shared.element)),
            st.sampled_from(ops.Math).flatmap(maths),
        )

    return st.recursive(st.one_of(leaves), more, max_leaves=8)


def _blocks(
    values: st.SearchStrategy[n.Expr],
    view: Parameter,
    shared: SharedArray,
    variables: tuple[LocalVariable, ...],
) -> st.SearchStrategy[n.Block]:
    names = [item.name for item in variables]
    indices = st.lists(values, min_size=1, max_size=2).map(tuple)
    bases = st.sampled_from([view.name, shared.name])
    plain: list[st.SearchStrategy[n.Stmt]] = [
        st.builds(n.Store, bases, indices, values),
        st.sampled_from([n.Break(), n.Continue(), n.Return(), n.Barrier()]),
        st.builds(
            lambda op, base, at, value, expected, result: n.Atomic(
                op, base, at, value, expected if op is ops.AtomicOp.COMPARE_EXCHANGE else None, result
            ),
            st.sampled_from(ops.AtomicOp), bases, indices, values, values,
            st.sampled_from([None, *names]),
        ),
        st.builds(n.Fence, st.sampled_from(ops.Scope)),
    ]  # fmt: skip
    if names:
        plain.append(
            st.builds(
                lambda op, value, name, lane: n.SubGroup(
                    op, value, name, lane if op in ops.WITH_LANE else None
                ),
                st.sampled_from(ops.SubGroup), values, st.sampled_from(names), values,
            )
        )  # fmt: skip
        plain.append(st.builds(n.Assign, st.sampled_from(names), values))

    def more(inner: st.SearchStrategy[n.Block]) -> st.SearchStrategy[n.Block]:
        two: st.SearchStrategy[n.Stmt] = st.one_of(
            st.builds(n.If, values, inner, inner), st.builds(n.Loop, values, inner, inner)
        )
        return st.lists(st.one_of(*plain, two), max_size=3).map(tuple)

    return st.recursive(st.lists(st.one_of(plain), max_size=3).map(tuple), more, max_leaves=4)


def _codes(act: Callable[[], object]) -> set[str]:
    """Return the codes with which something is refused; none where it is let through."""
    try:
        act()
    except CompileError as error:
        return {item.code for item in error.diagnostics}
    return set()


@settings(max_examples=EXAMPLES, deadline=None)
@given(modules())
def test_every_module_reads_back_from_its_text_as_itself(module: Module) -> None:
    found = parse(text(module))
    assert found == module
    assert canonical(found) == canonical(module)


@settings(max_examples=EXAMPLES, deadline=None)
@given(modules())
def test_the_verifier_answers_every_well_formed_module_with_itself_or_a_refusal(module: Module) -> None:
    assert _codes(lambda: verify(module)) <= {"ATL0702", "ATL0703"}


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(source: str) -> None:
    assert _codes(lambda: parse("kir 1\n" + source)) <= {"ATL0701"}


@settings(max_examples=EXAMPLES, deadline=None)
@given(modules(), st.integers(0, 1 << 30))
def test_a_text_with_a_few_changed_characters_is_read_or_refused(module: Module, seed: int) -> None:
    source, chance = list(text(module)), random.Random(seed)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(source))
        source[at] = chance.choice(
            ["", "(", ")", "{", "}", "[", "]", "%", "$", ".", ":", "9", "x", "\n", "-"]
        )
    changed = "".join(source)
    codes = _codes(lambda: parse(changed))
    assert codes <= {"ATL0701"}
    if not codes:
        found = parse(changed)
        assert parse(text(found)) == found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30), st.integers(0, 1 << 30))
def test_what_the_verifier_lets_through_the_passes_take(kernel: int, seed: int) -> None:
    """Change words of a valid kernel's text for others of it; what is still valid stays so."""
    words = re.findall(r"[%$]?[A-Za-z_0-9.:-]+|\s+|.", text(random_program(kernel).module))
    chance, alike = random.Random(seed), [at for at, word in enumerate(words) if not word.isspace()]
    for _ in range(chance.randrange(1, 5)):
        at = chance.choice(alike)
        same = [words[other] for other in alike if words[other][0] == words[at][0]]
        words[at] = chance.choice(same)
    try:
        module = verify(parse("".join(words)))
    except CompileError:
        return
    made = optimise(module)
    assert parse(text(made)) == made


def test_what_is_as_large_as_the_passes_take_takes_them_seconds() -> None:
    """Many locals at once, one local a thousand times, loops in loops, divisions in divisions."""
    many = range(MAX_STATEMENTS // 6)
    bodies = [
        "".join(f"local a{i}: i32\n" for i in many)
        + "".join(f"%a{i} = x[i64:{i}]\n" for i in many)
        + "".join(f"x[i64:{i}] = add_wrap(%a{i}, %a{len(many) - 1 - i})\n" for i in many),
        "local a: i32\nlocal b: i32\n%a = i32:0\n%b = i32:1\n"
        + "%a = add_wrap(%a, mul_wrap(%b, %a))\n%b = %a\n" * len(many)
        + "x[i64:0] = %a\n",
        "local a: i32\n%a = i32:0\n"
        + "loop lt(%a, i32:5) {\n%a = add_wrap(%a, i32:1)\n" * 95 + "}\n" * 95 + "x[i64:0] = %a\n",
        "x[i64:0] = " + "div_floor(" * 90 + "x[i64:0]" + ", i32:7)" * 90 + "\n",
    ]  # fmt: skip
    begun = time.process_time()
    for body in bodies:
        optimise(verify(parse("kir 1\nkernel k(x: view<i32, 1>) group(0, 0, 0) {\n" + body + "}\n")))
    assert time.process_time() - begun < 60
