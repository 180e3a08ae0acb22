"""A registry takes the processor's root where nothing else can be used: it must be in every build."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.build import plan
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from unit.build.build_project import ROOT, session

MANIFEST = """\
[package]
name = "demo"
[targets.demo]
kind = "executable"
boundary = "kernels"
sources = ["{root}/*.cpp"]
[boundary.kernels]
module = "demo.kernels"
roots = ["{roots}"]
shape = "registry"
"""


def refused(tmp_path: Path, root: str, roots: str) -> Diagnostic:
    files = {"atoll.toml": MANIFEST.format(root=root, roots=roots)}
    files |= {f"{name}/twice.cpp": ROOT % name for name in ("cpu", "gpu")}
    with pytest.raises(BuildError) as caught:
        plan(session(tmp_path, files).request())
    (found,) = caught.value.diagnostics
    return found


def test_a_processor_root_that_is_left_out_is_named(tmp_path: Path) -> None:
    found = refused(tmp_path, "gpu", 'cpu", "gpu')
    assert (found.code, found.message) == ("ATL0575", "the registry of `demo` lacks the root `cpu`")
    assert found.notes == ("roots of the boundary `kernels`: cpu, gpu", "in this build: gpu")
    assert found.hint == 'let its sources take part in every build: `sources = ["cpu/*.cpp"]`'
    assert found.span is not None
    assert found.span.line == 7


def test_a_boundary_without_one_is_told_to_add_it(tmp_path: Path) -> None:
    found = refused(tmp_path, "gpu", "gpu")
    assert found.notes == ("roots of the boundary `kernels`: gpu", "in this build: gpu")
    assert found.hint == "add a folder `cpu` that defines the entries for the processor"
