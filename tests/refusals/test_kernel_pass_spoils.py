"""A pass that leaves what means nothing is named, with the kernel."""

from __future__ import annotations

import pytest

from atoll.errors import CompileError
from atoll.ir.parse import parse
from atoll.ir.passes import PASSES, manager, optimise
from atoll.ir.passes.rules import Rules
from atoll.ir.passes.ssa import Flow
from atoll.ir.verify import verify

SOURCE = """kir 1
kernel k(n: i32, out: view<i32, 1>) group(0, 0, 0) {
  local a: i32
  %a = mul_wrap($n, $n)
  out[i64:0] = mul_wrap(%a, %a)
}
"""
TEXT = """\
error[ATL0705]: the pass `spoil` spoils the kernel `k`: a value of type i64 is used before it is given
  help: please report the kernel
"""


def test_the_pass_and_the_kernel_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def spoil(flow: Flow, _: Rules) -> None:
        flow.body.items.reverse()

    monkeypatch.setattr(manager, "PASSES", {"fold": PASSES["fold"], "spoil": spoil})
    with pytest.raises(CompileError) as caught:
        optimise(verify(parse(SOURCE)))
    assert str(caught.value).strip() == TEXT.strip()
