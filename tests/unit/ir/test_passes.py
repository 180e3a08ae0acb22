"""What each pass does, and what it may not: seen in the text of small kernels."""

from __future__ import annotations

import re

import pytest

from atoll.diagnostics import Span
from atoll.ir import Kernel, LocalVariable, Module, Parameter, View, ops
from atoll.ir import nodes as n
from atoll.ir.parse import parse
from atoll.ir.passes import PASSES, REWRITES, manager, optimise
from atoll.ir.text import text
from atoll.ir.types import F32, I32, I64
from atoll.ir.verify import verify
from atoll.ir.walk import all_expressions, statements

HEAD = "kir 1\n\nkernel k(n: i32, x: view<i32, 1>, out: view<i32, 1>, f: view<f32, 1>) group(16, 1, 1) {\n"


def exact(expression: str) -> str:
    """Return a text whose numbers are f32 exactly, as KIR text wants them."""
    number = r"(?<=f32:)-?\d[\d.]*(e[-+]?\d+)?(?![x\d])"
    return re.sub(number, lambda found: repr(n.const(F32, float(found[0])).value), expression)


def optimised(body: str, head: str = HEAD, **options: object) -> str:
    """Return the body that the passes make of one, a line each, without indentation."""
    module = optimise(verify(parse(head + body + "\n}\n")), **options)  # type: ignore[arg-type]
    lines = [line.strip() for line in text(module).splitlines()[3:-1]]
    return "\n".join(line for line in lines if not line.startswith(("local ", "shared ", "array ")))


# --- fold --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "folded"),
    [
        ("div_floor(i32:-7, i32:2)", "i32:-4"),
        ("rem_floor(i32:-7, i32:2)", "i32:1"),
        ("div_trunc(i32:-7, i32:2)", "i32:-3"),
        ("rem_trunc(i32:-7, i32:2)", "i32:-1"),
        ("div_floor(i32:-2147483648, i32:-1)", "i32:-2147483648"),
        ("rem_floor(i32:-2147483648, i32:-1)", "i32:0"),
        ("div_floor(i32:5, i32:0)", "i32:0"),
        ("rem_floor(i32:5, i32:0)", "i32:5"),
        ("shl(i32:1, i32:32)", "i32:0"),
        ("shl(i32:1, i32:-1)", "i32:0"),
        ("shr(i32:-8, i32:99)", "i32:-1"),
        ("add_wrap(i32:2147483647, i32:1)", "i32:-2147483648"),
        ("neg_wrap(i32:-2147483648)", "i32:-2147483648"),
        ("ftosi.i32(f32:0x7fc00000)", "i32:0"),
        ("ftosi.i32(f32:1e+30)", "i32:2147483647"),
        ("bits.i32(f32:-0.0)", "i32:-2147483648"),
        ("bits.i32(fneg(f32:0x7fc00001))", "i32:-4194303"),
        ("add_wrap($n, i32:0)", "$n"),
        ("not(not($n))", "$n"),
        ("mul_wrap($n, i32:0)", "i32:0"),
        ("select(eq(i32:1, i32:1), $n, i32:3)", "$n"),
    ],
)
def test_integers_fold_as_the_language_says(expression: str, folded: str) -> None:
    assert optimised(f"out[i64:0] = {exact(expression)}") == f"out[i64:0] = {folded}"


@pytest.mark.parametrize(
    ("expression", "folded"),
    [
        ("fadd(f32:0.1, f32:0.2)", "f32:0.30000001192092896"),  # to f32, not to f64
        ("fmul(f32:-0.0, f32:2.0)", "f32:-0.0"),
        ("fdiv(f32:1.0, f32:0.0)", "f32:0x7f800000"),
        ("fneg(f32:0x7fc00001)", "f32:0xffc00001"),  # in the bits
        ("fma(f32:3.0, f32:5.0, f32:1.0)", "f32:16.0"),
        ("fsub(f32:0x7f800000, f32:0x7f800000)", None),  # NaN: which one is the target's
        ("fmul(f32:1e-30, f32:1e-30)", "f32:0.0"),
        ("fmul(f32:1e-30, f32:1e-10)", None),  # a denormal, which a target may flush
        ("fadd(f32:0.1, f[i64:0])", None),
        ("fadd(f[i64:0], f32:0.0)", None),  # no identity: -0.0 + 0.0 is 0.0
        ("fmul(f[i64:0], f32:0.0)", None),
        ("exp(f32:1.0)", None),  # the target's
    ],
)
def test_floats_fold_at_their_width_or_not_at_all(expression: str, folded: str | None) -> None:
    source = exact(expression)
    assert optimised(f"f[i64:0] = {source}") == f"f[i64:0] = {folded or source}"


def test_a_way_never_taken_goes_with_what_only_it_needs() -> None:
    body = """local a: i32
    %a = x[i64:0]
    if lt(i32:1, i32:2) {
      out[i64:0] = i32:1
    } else {
      out[i64:0] = %a
    }
    loop bool:false {
      out[i64:1] = i32:2
    }"""
    assert optimised(body) == "out[i64:0] = i32:1"


def test_what_follows_a_branch_that_always_leaves_is_left_out() -> None:
    body = "if eq(i32:1, i32:1) {\nreturn\n}\nout[i64:0] = i32:1"
    assert optimised(body) == ""


def test_a_known_side_of_a_short_circuit_decides_or_passes() -> None:
    guarded = "out[i64:0] = select({}, i32:1, i32:2)"
    assert optimised(guarded.format("lor(bool:true, lt(x[i64:9], i32:0))")) == "out[i64:0] = i32:1"
    passed = optimised(
        "local b: bool\n%b = land(bool:true, lt(x[i64:9], i32:0))\nif %b {\nout[i64:0] = i32:1\n}"
    )
    assert passed == "if lt(x[i64:9], i32:0) {\nout[i64:0] = i32:1\n}"


TWO = "local a: i32\nlocal b: i32\n"
LOOP = "local k: i32\n%k = i32:0\nloop {} {{\n{}\n}} step {{\n%k = add_wrap(%k, i32:1)\n}}"

# --- share -------------------------------------------------------------------------------------


def test_a_load_is_not_shared_across_a_store_to_a_view_that_may_be_the_same_array() -> None:
    body = f"{TWO}%a = x[i64:0]\nout[i64:0] = i32:1\n%b = x[i64:0]\nout[i64:1] = add_wrap(%a, %b)"
    assert optimised(body).count("x[i64:0]") == 2
    apart = body.replace("out[i64:0] = i32:1", "own[i32:0] = i32:1")
    assert optimised(f"array own: i32[2]\n{apart}").count("x[i64:0]") == 1


@pytest.mark.parametrize(
    "between",
    ["barrier work_group", "atomic add acquire device out[i64:5], i32:1", "fence device"],
)
def test_a_load_is_not_shared_across_what_shows_the_writes_of_others(between: str) -> None:
    body = (
        "shared s: i32[4]\nlocal a: i32\nlocal b: i32\n%a = {0}\n{1}\n%b = {0}\nout[i64:1] = add_wrap(%a, %b)"
    )
    for load in ("x[i64:0]", "s[i32:1]"):
        assert optimised(body.format(load, between)).count(load) == 2
    own = body.format("own[i32:1]", between).replace("shared s", "array own")
    assert optimised(own).count("own[i32:1]") == 1


def test_a_load_of_a_loop_is_not_the_one_before_it_where_the_loop_stores() -> None:
    loop = f"local a: i32\n{LOOP}".replace("%k = i32:0", "%a = out[i64:0]\n%k = i32:0")
    assert (
        optimised(loop.format("lt(%k, i32:3)", "out[i64:0] = add_wrap(out[i64:0], %a)")).count(
            "= add_wrap(out[i64:0], "
        )
        == 1
    )


def test_what_is_computed_in_one_branch_is_not_known_in_the_other() -> None:
    side = "out[i64:{}] = mul_wrap(mul_wrap($n, $n), $n)"
    body = f"if lt($n, i32:3) {{\n{side.format(0)}\n}} else {{\n{side.format(1)}\n}}"
    assert optimised(body).count("mul_wrap(mul_wrap($n, $n), $n)") == 2


# --- move out of loops -------------------------------------------------------------------------


def test_what_a_loop_computes_alike_on_every_trip_moves_before_it() -> None:
    found = optimised(LOOP.format("lt(%k, mul_wrap($n, i32:3))", "out[sext.i64(%k)] = mul_wrap($n, $n)"))
    before, inside = found.split("loop ")
    assert "mul_wrap($n, i32:3)" in before
    assert "mul_wrap($n, $n)" in before
    assert "mul_wrap" not in inside


def test_a_load_stays_behind_the_guard() -> None:
    found = optimised(LOOP.format("lt(%k, $n)", "own[i32:0] = x[i64:99]"), HEAD + "array own: i32[1]\n")
    assert "x[i64:99]" in found.split("loop ")[1]


def test_a_load_in_the_condition_moves_only_where_its_memory_stays() -> None:
    array = HEAD + "array own: i32[1]\n"
    stays = optimised(LOOP.format("lt(%k, x[i64:1])", "own[i32:0] = %k"), array)
    assert "x[i64:1]" in stays.split("loop ")[0]
    changes = optimised(LOOP.format("lt(%k, x[i64:1])", "out[i64:0] = %k"), array)
    assert "x[i64:1]" in changes.split("loop ")[1]
    guarded = optimised(LOOP.format("land(lt(%k, $n), lt(%k, x[i64:1]))", "own[i32:0] = %k"), array)
    assert "x[i64:1]" in guarded.split("loop ")[1]


# --- dead --------------------------------------------------------------------------------------


def test_an_atomic_stays_and_its_old_value_goes() -> None:
    body = "local a: i32\natomic add relaxed device out[i64:0], i32:1 -> %a"
    assert optimised(body) == "atomic add relaxed device out[i64:0], i32:1"


def test_effects_stay_and_unread_values_go() -> None:
    unread = "if lt(%a, i32:3) {\n%a = i32:2\n}"
    body = f"local a: i32\n%a = x[i64:0]\nbarrier work_group\nout[i64:0] = i32:1\n{unread}"
    assert optimised(body) == "barrier work_group\nout[i64:0] = i32:1"


# --- back to statements ------------------------------------------------------------------------


def test_locals_that_trade_places_in_a_loop_are_kept_apart() -> None:
    body = "local a: i32\nlocal b: i32\nlocal t: i32\nlocal k: i32\n%a = i32:1\n%b = $n\n%k = i32:0\nloop lt(%k, $n) {\n%t = %a\n%a = %b\n%b = %t\n} step {\n%k = add_wrap(%k, i32:1)\n}\nout[i64:0] = %a\nout[i64:1] = %b"  # noqa: E501
    found = optimised(body)
    inside = found.split("loop ")[1].split("} step")[0].splitlines()[1:]
    assert len(inside) == 3  # one of them waits in a third local
    assert inside[0].partition(" = ")[2] in ("%a", "%b")


def test_a_barrier_stays_uniform_where_a_value_is_shared_with_a_varying_local() -> None:
    body = """shared s: i32[16]
    local a: i32
    local b: i32
    %a = mul_wrap($n, $n)
    s[local_id.0] = %a
    if lt(local_id.0, i32:3) {
      %a = local_id.0
    }
    out[sext.i64(global_id.0)] = %a
    %b = mul_wrap($n, $n)
    if gt(%b, i32:5) {
      barrier work_group
      out[i64:0] = s[i32:1]
    }"""
    assert "barrier work_group" in optimised(body)  # and it is verified


def test_an_expression_too_deep_is_cut_by_a_local() -> None:
    deep = "x[i64:0]"
    for _ in range(60):
        deep = f"add_wrap({deep}, $n)"
    found = optimised(f"out[i64:0] = {deep}")
    assert found.count("\n") == 1
    assert found.splitlines()[0].count("add_wrap") <= 40


def test_every_statement_and_expression_keeps_a_place_in_the_source() -> None:
    def at(line: int) -> Span:
        return Span(file="k.py", line=line, column=1)

    i = n.Local("i", I32, at(1))
    wide = n.Cast(ops.Cast.SEXT, I64, n.Builtin(ops.Id.GLOBAL_ID, 0, at(2)), at(2))
    seven = n.Binary(ops.Binary.DIV_FLOOR, i, n.Const(I32, 7, at(3)), at(3))
    kernel = Kernel(
        name="k",
        params=(Parameter("out", View(I32)),),
        locals=(LocalVariable("i", I32),),
        body=(
            n.Assign("i", n.Builtin(ops.Id.LOCAL_ID, 0, at(1)), at(1)),
            n.Store("out", (wide,), seven, at(3)),
            n.If(
                n.Compare(ops.Compare.LT, i, n.Const(I32, 3, at(4)), at(4)),
                (n.Store("out", (wide,), n.Const(I32, 1, at(5)), at(5)),),
                (),
                at(4),
            ),
        ),
    )
    made = optimise(Module(kernels=(kernel,))).kernels[0]
    assert [stmt.span for stmt in statements(made.body) if stmt.span is None] == []
    lines = {node.span.line for node in all_expressions(made.body) if node.span is not None}
    assert lines >= {2, 3, 4, 5}
    assert all(node.span is not None for node in all_expressions(made.body))


# --- the manager -------------------------------------------------------------------------------


def test_a_pass_or_a_rewrite_is_left_out_by_name() -> None:
    body = "out[i64:0] = div_floor(x[i64:0], i32:8)"
    assert "shr" in optimised(body)
    assert "div_floor" in optimised(body, off=["divide"])
    assert "div_floor" in optimised(body, off=["divide.power", "divide.floor"])
    assert {name.partition(".")[0] for name in REWRITES} == set(PASSES)


def test_a_kernel_larger_than_the_passes_take_stays_as_it_is() -> None:
    module = verify(parse(HEAD + "out[i64:0] = add_wrap(i32:1, i32:1)\n" * manager.MAX_STATEMENTS + "}\n"))
    assert optimise(module) == module
