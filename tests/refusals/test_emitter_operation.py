"""An operation that a target lacks is refused with every place, never replaced by something similar."""

from __future__ import annotations

import pytest

from atoll.diagnostics import Span, code_info
from atoll.errors import CompileError
from atoll.ir import BOOL, F16, F32, F64, I64, Kernel, LocalVariable, Module, Parameter, View, nodes, ops
from atoll.ir.verify import verify
from atoll.plugin import registry
from atoll_plugins.formats.emission import Node, prepare


def span(line: int) -> Span:
    return Span(file="kern.py", line=line, column=9, text="    out[0] = something")


def module() -> Module:
    here = (nodes.const(I64, 0),)
    one = nodes.const(F64, 1.5)
    fused = nodes.MathCall(ops.Math.FMA, (nodes.const(F32, 1.0),) * 3, span(5))
    sine = nodes.MathCall(ops.Math.SIN, (one,), span(7))
    body = (
        nodes.Store("x", here, fused, span(5)),
        nodes.If(nodes.const(BOOL, True), (nodes.Store("y", here, sine, span(7)),)),
    )
    params = (Parameter("x", View(F32)), Parameter("y", View(F64)))
    return verify(Module(kernels=(Kernel(name="k", params=params, body=body, span=span(1)),)))


def refused(backend: str, given: Module) -> list[tuple[str, int]]:
    emitter = registry().emitters[backend]
    with pytest.raises(CompileError) as caught:
        emitter.emit(given, "k", emitter.target(None), (64, 1, 1))
    found = []
    for item in caught.value.diagnostics:
        assert item.code == "ATL0780"
        assert code_info(item.code) is not None
        assert item.span is not None
        assert any(str(emitter.target(None)) in note for note in item.notes)
        found.append((item.message, item.span.line))
    return found


def test_every_place_is_listed_at_once() -> None:
    assert refused("vulkan", module()) == [
        ("`vulkan:1.2` lacks `fma` with one rounding (its own may round twice)", 5),
        ("`vulkan:1.2` lacks `sin` on f64", 7),
    ]


def test_another_target_lacks_other_things() -> None:
    assert refused("cuda", module()) == [("`cuda:sm_80` lacks `sin` on f64", 7)]


def _no_halves(node: Node) -> str | None:
    kinds = (Parameter, LocalVariable)
    scalar = getattr(node.type, "element", node.type) if isinstance(node, kinds) else None
    return "the type f16" if scalar == F16 else None


def test_a_type_is_refused_where_it_enters() -> None:
    kernel = Kernel(
        name="k",
        params=(Parameter("h", View(F16), span(2)), Parameter("s", F16, span(3))),
        locals=(LocalVariable("v", F16, span(4)),),
        body=(nodes.Assign("v", nodes.Param("s", F16, span(5)), span(5)),),
    )
    target = registry().emitters["cpu"].target(None)
    with pytest.raises(CompileError) as caught:
        prepare(Module(kernels=(kernel,)), "k", target, (0, 0, 0), fixed=False, lacks=_no_halves)
    assert [item.span.line for item in caught.value.diagnostics if item.span] == [2, 3, 4]
    assert {item.message for item in caught.value.diagnostics} == {"`cpu` lacks the type f16"}
