"""Predicates hold as plain boolean algebra over membership."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet
from atoll.accel.cfg import evaluate, names, parse_cfg, unknown_accelerators
from atoll.diagnostics import Severity

BOTH = AccelSet.parse("cuda13.0+{sm_90}, vulkan1.2")


@pytest.mark.parametrize(
    ("text", "both", "none"),
    [
        ('cfg(accelerator = "cuda")', True, False),
        ('cfg(accelerator="vulkan")', True, False),
        ('cfg(accelerator = "hip")', False, False),
        ('cfg(accelerator = "none")', False, True),
        ('cfg(not(accelerator = "none"))', True, False),
        ('cfg(all(accelerator = "cuda", accelerator = "vulkan"))', True, False),
        ('cfg(any(accelerator = "hip", accelerator = "vulkan"))', True, False),
        ('cfg(not(any(accelerator = "hip", accelerator = "sycl")))', True, True),
        ('cfg(all(os = "linux", arch = "x86_64", compiler = "gcc"))', True, True),
        ('cfg( any(os = "macos" ,\n accelerator = "none") ) ', False, True),
        ('cfg(not(os = "linux"))', False, False),
    ],
)
def test_a_predicate_holds(text: str, both: bool, none: bool) -> None:
    predicate = parse_cfg(text)
    for accel, expected in ((BOTH, both), (AccelSet(), none)):
        assert evaluate(predicate, accel=accel, os="linux", arch="x86_64", compiler="gcc") == expected


def test_an_accelerator_that_nobody_names_is_a_warning_at_its_place() -> None:
    predicate = parse_cfg(
        'cfg(any(accelerator = "cuad", os = "cuad", accelerator = "none"))', source="a.toml"
    )
    assert [each.key for each in names(predicate)] == ["accelerator", "os", "accelerator"]
    (warning,) = unknown_accelerators(predicate, {"cuda", "vulkan"})
    assert (warning.code, warning.severity) == ("ATL0123", Severity.WARNING)
    assert warning.message == "no lane, source or `accelerators` entry names the accelerator `cuad`"
    assert warning.hint == "did you mean `cuda`?"
    assert warning.span is not None
    assert (warning.span.file, warning.span.column, warning.span.end_column) == ("a.toml", 9, 29)


def test_known_accelerators_are_no_warning() -> None:
    predicate = parse_cfg('cfg(any(accelerator = "cuda", not(accelerator = "none")))')
    assert unknown_accelerators(predicate, {"cuda"}) == ()
