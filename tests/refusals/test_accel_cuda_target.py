"""The rules of CUDA refuse targets that no toolkit has, with what to write instead."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet
from atoll_plugins.cuda.rules import CudaRules


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("cuda13.0+{sm_90f}", "`sm_90f` is no target: families start at sm_100f", "write `sm_90`"),
        ("cuda13.0+{sm_80,sm_89a}", "`sm_89a` is no target: `a` starts at sm_90a", "write `sm_89`"),
        ("cuda13.0+{gfx942}", "`gfx942` is no architecture of cuda", "write `sm_90`"),
        ("cuda13.0+{90}", "`90` is no architecture of cuda", "write `sm_90`"),
        ("cuda13.0+{compute_90}", "`compute_90` is no architecture of cuda", "write `sm_90`"),
        ("cuda13.0 ptx>=9.0", "`ptx>=9.0` is not an architecture level", "write `ptx>=90`"),
    ],
)
def test_a_target_that_does_not_exist_is_refused(text: str, reason: str, hint: str) -> None:
    (entry,) = AccelSet.parse(text, floor_words={"cuda": "ptx"})
    refused = CudaRules().check(entry)
    assert refused is not None
    assert refused[0] == reason
    assert refused[1].startswith(hint)


@pytest.mark.parametrize(
    "text", ["cuda", "cuda13.0 ptx>=90", "cuda13.0+{sm_75,sm_90a,sm_100f,sm_103a,sm_121f}", "cuda14+{sm_130}"]
)
def test_targets_that_exist_or_may_come_pass(text: str) -> None:
    (entry,) = AccelSet.parse(text, floor_words={"cuda": "ptx"})
    assert CudaRules().check(entry) is None
