"""KIR as text: it round-trips, it is the same on every Python, and it may be hostile."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from atoll.errors import CompileError
from atoll.ir import F32, I32, Kernel, LocalVariable, Module, Parameter, View, ops
from atoll.ir import nodes as n
from atoll.ir.parse import MAX_DEPTH, MAX_TEXT, parse
from atoll.ir.passes import optimise
from atoll.ir.text import canonical, expression, fingerprint, text
from atoll.ir.verify import verify
from atoll.kernels.definition import KernelFunction
from atoll.testing.random_kernels import random_program

GOLDEN = Path(__file__).parents[2] / "golden" / "kir"
SOURCES = Path(__file__).parents[3] / "src"
NAMES = ("saxpy", "block_sum", "everything", "language")
OTHERS = [Path(f"/root/.pyenv/versions/{version}/bin/python") for version in ("3.12.1", "3.13.0")]


def golden_kernels() -> dict[str, KernelFunction]:
    spec = importlib.util.spec_from_file_location("golden_kernels", GOLDEN / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: getattr(module, name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_kir_of_a_kernel_is_the_golden_file(name: str) -> None:
    found = text(golden_kernels()[name].module)
    path = GOLDEN / f"{name}.kir"
    if os.environ.get("ATOLL_GOLDEN") == "write":
        path.write_text(found, encoding="ascii")
    assert found == path.read_text(encoding="ascii")
    assert parse(found) == golden_kernels()[name].module
    verify(parse(found))


_ELSEWHERE = """
import hashlib, importlib.util, sys
sys.path.insert(0, sys.argv[1])
spec = importlib.util.spec_from_file_location("golden_kernels", sys.argv[2])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from atoll.ir.passes import optimise
from atoll.ir.text import fingerprint
from atoll.testing.random_kernels import random_program
print(sys.version.split()[0])
for name in sys.argv[3:]:
    print(fingerprint(getattr(module, name).module), fingerprint(getattr(module, name).compiled().optimised))
for seed in range(8):
    print(fingerprint(optimise(random_program(seed).module)))
"""


@pytest.mark.parametrize("python", OTHERS, ids=lambda path: path.parts[-3])
def test_the_canonical_bytes_are_the_same_on_another_python(
    python: Path, tell: Callable[[str], None]
) -> None:
    """Before and after the passes, which keep values in sets: their order may decide nothing."""
    if not python.is_file():
        pytest.skip(f"no {python}")
    argv = [str(python), "-I", "-c", _ELSEWHERE, str(SOURCES), str(GOLDEN / "kernels.py"), *NAMES]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    version, *found = done.stdout.split()
    wanted = []
    for kernel in golden_kernels().values():
        wanted += [fingerprint(kernel.module), fingerprint(kernel.compiled().optimised)]
    wanted += [fingerprint(optimise(random_program(seed).module)) for seed in range(8)]
    assert found == wanted
    tell(f"{len(found)} modules have the bytes of CPython {sys.version.split()[0]} on CPython {version}")


def test_a_place_is_no_part_of_the_bytes() -> None:
    moved = "\n\n" + (GOLDEN / "kernels.py").read_text(encoding="utf-8")
    from kernel_text import namespace

    assert canonical(namespace(moved)["saxpy"].module) == canonical(golden_kernels()["saxpy"].module)


def test_a_float_is_written_exactly() -> None:
    assert expression(n.const(F32, 0.1)) == "f32:0.10000000149011612"
    assert expression(n.Const(F32, 0x7FC00001)) == "f32:0x7fc00001"
    assert expression(n.const(F32, -0.0)) == "f32:-0.0"


def test_names_may_be_words_of_the_language() -> None:
    one = (n.const(n.const(I32, 0).type, 0),)
    body = (
        n.Assign("loop", n.const(I32, 1)),
        n.Store(
            "if",
            (n.Cast(ops.Cast.SEXT, n.ViewInfo(ops.Extent.SIZE, "if").type, n.Local("loop", I32)),),
            n.Param("step", F32),
        ),
    )
    kernel = Kernel(
        name="kernel",
        params=(Parameter("if", View(F32)), Parameter("step", F32)),
        locals=(LocalVariable("loop", I32), LocalVariable("local", I32)),
        body=body,
    )
    module = Module(kernels=(kernel, Kernel(name="kir", params=())))
    assert parse(text(module)) == module
    assert one


WRONG = {
    "": (1, "expected `kir`"),
    "kir 2": (1, "the version is 2"),
    "kir 1\nkernel": (2, "expected the kernel's name"),
    "kir 1\nkernel k(a: f33) group(0, 0, 0) {}": (2, "expected a scalar type, found 'f33'"),
    "kir 1\nkernel k(a: f32, a: f32) group(0, 0, 0) {}": (2, "`a` is declared twice"),
    "kir 1\nkernel k() group(0, 0) {}": (2, "expected `,`"),
    "kir 1\nkernel k() group(0, 0, 0) {": (2, "expected a statement"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  %i = i32:1\n}": (3, "`%i` is no declared local"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  local i: i32\n  %i = $a\n}": (4, "`$a` is not declared"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  local i: i32\n  %i = i32:2147483648\n}": (4, "is no i32"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  local i: f32\n  %i = f32:0.1\n}": (4, "`0.1` is no f32"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  local i: f32\n  %i = f32:1e999\n}": (4, "`1e999` is no f32"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  local i: i32\n  %i = frob(i32:1)\n}": (4, "no operation `frob`"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  local i: i32\n  %i = not(i32:1, i32:2)\n}": (4, "with 2 operands"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  x[i64:0] = i32:1\n}": (3, "`x` is no declared view"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  barrier galaxy\n}": (3, "expected one of sub_group"),
    "kir 1\nkernel k() group(0, 0, 0) {\n  goto\n}": (3, "expected a statement, found 'goto'"),
    "kir 1 \x00": (1, "unexpected character"),
}


@pytest.mark.parametrize("source", WRONG)
def test_text_that_is_no_kir_is_refused_with_its_line(source: str) -> None:
    with pytest.raises(CompileError) as caught:
        parse(source)
    (found,) = caught.value.diagnostics
    line, message = WRONG[source]
    assert found.code == "ATL0701"
    assert found.span is not None
    assert found.span.line == line
    assert message in found.message


@pytest.mark.parametrize("opened", ["not(", "if bool:true {\n"])
def test_nesting_has_a_bound(opened: str) -> None:
    head = "kir 1\nkernel k() group(0, 0, 0) {\n  local b: bool\n  "
    with pytest.raises(CompileError, match="nested too deep"):
        parse(head + ("%b = " if opened == "not(" else "") + opened * (MAX_DEPTH + 1))


def test_length_has_a_bound() -> None:
    with pytest.raises(CompileError, match="longer than"):
        parse(" " * (MAX_TEXT + 1))


def test_the_tests_run_on_the_oldest_supported_python_or_newer() -> None:
    assert sys.version_info >= (3, 11)
