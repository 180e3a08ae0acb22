"""A pass that does not exist is not left out: the names that exist are said."""

from __future__ import annotations

import pytest

from atoll.errors import UsageError
from atoll.ir.passes import PASSES, REWRITES
from kernel_text import body


def test_a_name_that_is_no_pass_and_no_rewrite() -> None:
    with pytest.raises(UsageError) as caught:
        body("x[0] = 1.0").show("cpu", "kir-optimised", without=["cse", "vectorise"])
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("ATL0763", "no pass is called `vectorise`")
    assert found.notes == (f"passes: {', '.join(PASSES)}", f"rewrites: {', '.join(REWRITES)}")
