"""What is compiled, by the collector's rules one by one; and functions that another source defines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from atoll.cli import command
from atoll.errors import AtollError
from atoll.ir import names
from atoll.ir.parse import parse
from atoll.ir.text import text
from atoll.kernels.collector import collect
from kernel_text import kernel_from, namespace, refusal, refused

TEXT = """
from typing import TypeVar
T = TypeVar("T")

@device
def square(v: T) -> T:
    return v * v

@device
def cube(v: f32) -> f32:
    return square(v) * v

@device
def unused(v: f32) -> f32:
    return v

@kernel
def k(x: view[f32], n: view[i32]):
    i = atoll.global_id(0)
    x[i] = cube(x[i]) + square(x[i]) + atoll.sqrt(x[i]) + math.exp(x[i])
    n[i] = square(n[i])

@kernel
def other(x: view[f32]):
    x[0] = cube(x[0])
"""


def test_every_instance_that_is_reached_is_collected_once() -> None:
    found = namespace(TEXT)
    collection = collect([found["k"], found["other"]])
    assert [item.exported for item in collection.found] == [
        "k.entry",
        "square__f32.func",
        "cube.func",
        "square__i32.func",
        "other.entry",
    ]
    for item in collection.found:
        assert names.role_of(item.symbol) is item.role
        assert names.base_name(item.symbol) == item.name
    assert [names.is_entry(item.symbol) for item in collection.found] == [True, False, False, False, True]


def test_what_has_no_body_is_skipped_with_the_reason() -> None:
    collection = collect([namespace(TEXT)["k"]])
    assert collection.skipped == {
        "atoll.global_id": "built in",
        "atoll.sqrt": "built in",
        "math.exp": "built in",
    }
    lines = list(collection.lines())
    assert lines[0].startswith("kernel: k.entry (atoll_v1_kernel_4c624493_k, <kernel ")
    assert lines[-1] == "skipped: math.exp (built in)"


def test_a_generic_definition_is_not_collected_its_instances_are() -> None:
    found = namespace(
        'from typing import TypeVar\nT = TypeVar("T")\n@kernel\ndef k(x: view[T]):\n    x[0] = T(1)\n'
    )
    with pytest.raises(AtollError):
        collect([found["k"]])
    collection = collect([found["k"].instance(T=found["f32"]), found["k"].instance(T=found["u8"])])
    assert [item.exported for item in collection.found] == ["k__f32.entry", "k__u8.entry"]


def test_a_helper_that_lies_in_a_kernel_is_no_entry() -> None:
    assert not names.is_entry(names.kernel_symbol("k") + ".helper")
    assert names.is_entry("some.module." + names.kernel_symbol("k"))


def test_a_function_that_nobody_marked_is_refused_with_where_to_mark_it() -> None:
    found = refusal(
        kernel_from("def plain(v):\n    return v\n@kernel\ndef k(x: view[f32]):\n    x[0] = plain(x[0])\n")
    )
    assert (found.code, found.message) == ("ATL0720", "`plain` is not marked as a device function")
    assert found.hint == "put `@atoll.device` above `def plain`"


def test_recursion_is_refused_with_its_chain() -> None:
    lines = "@device\ndef {a}(v: f32) -> f32:\n    return {b}(v)\n"
    text_ = lines.format(a="one", b="two") + lines.format(a="two", b="one")
    found = refusal(kernel_from(text_ + "@kernel\ndef k(x: view[f32]):\n    x[0] = one(x[0])\n"))
    assert (found.code, found.notes[0]) == ("ATL0719", "the chain: k -> one -> two -> one")


@pytest.mark.parametrize("line", ["atoll_v1_x = n", "for atoll_v2_i in range(n):\n    pass"])
def test_a_user_name_under_the_reserved_root_is_refused_with_a_caret(line: str) -> None:
    at = line.removeprefix("for ").split(" ")[0]
    assert refused(line, "ATL0722", at).hint == "choose another name"


def test_v_says_what_is_compiled_and_what_is_skipped(tmp_path: Path) -> None:
    file = tmp_path / "collected.py"
    file.write_text(
        "import math\nimport atoll\nfrom atoll import device, f32, i32, kernel, view\n" + TEXT,
        encoding="utf-8",
    )
    ran = CliRunner().invoke(command, ["kernel", "check", "-v", str(file)])
    assert ran.exit_code == 0, ran.output
    assert "device: cube.func (atoll_v1_device_4c624493_cube, " in ran.stderr
    assert "skipped: atoll.sqrt (built in)" in ran.stderr
    assert "cube" not in ran.stdout


# --- externs -----------------------------------------------------------------------------------------

EXTERN = """
@atoll.extern(link="blur.cu")
def blur(v: f32, by: i32) -> f32: ...

@atoll.extern(link="note.cu")
def note(v: f32):
    "Somebody else's."

@kernel
def k(x: view[f32]):
    i = atoll.global_id(0)
    x[i] = blur(x[i], 3) + blur(x[0], i)
    note(x[i])
"""


def test_an_extern_is_declared_once_and_skipped_by_the_collector() -> None:
    found = kernel_from(EXTERN)
    kernel = found.compiled().kernel
    assert [(item.name, item.link) for item in kernel.externs] == [("blur", "blur.cu"), ("note", "note.cu")]
    assert collect([found]).skipped == {
        "atoll.global_id": "built in",
        "blur": "defined by blur.cu",
        "note": "defined by note.cu",
    }
    assert parse(text(found.module)) == found.module


@pytest.mark.parametrize(
    ("target", "declared"),
    [
        ("cuda:sm_90", 'extern "C" __device__ float blur(float, int);  // blur.cu'),
        ("hip:gfx942", 'extern "C" __attribute__((device)) float blur(float, int);  // blur.cu'),
    ],
)
def test_text_that_is_linked_later_declares_it(target: str, declared: str) -> None:
    stage = {"cuda:sm_90": "cuda-cpp", "hip:gfx942": "hip-cpp"}[target]
    shown = kernel_from(EXTERN).show(target, stage=stage)
    shown = shown.decode() if isinstance(shown, bytes) else shown
    assert declared in shown
    assert "float note(" not in shown
    assert "void note(float);  // note.cu" in shown


@pytest.mark.parametrize("target", ["cuda:sm_90", "vulkan", "opencl", "cpu", "cpu:kir", "cpu:llvm"])
def test_a_target_that_cannot_link_it_says_so(target: str) -> None:
    with pytest.raises(AtollError) as caught:
        kernel_from(EXTERN).show(target)
    found = caught.value.diagnostics[0]
    assert found.code == "ATL0786"
    assert found.message.endswith("is not linked, so it cannot call `blur`")
    assert found.notes[1] == "`blur` is defined by: blur.cu"
    assert len(caught.value.diagnostics) == 2


def test_the_oracle_has_no_body_of_it() -> None:
    with pytest.raises(AtollError) as caught:
        kernel_from(EXTERN).python(1)(np.zeros(1, np.float32))
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == (
        "ATL0758",
        "`blur` is defined by blur.cu, and Python has no body of it",
    )


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("-> f32: ...", "-> f32:\n    return v", "the extern `blur` has a body, which nobody would run"),
        ("v: f32, by", "v: f16, by", "`blur` is an extern with a f16, which is no scalar of 32 or 64 bits"),
        ("blur.cu", 'bl\\"ur.cu', "`blur` cannot be linked from 'bl\"ur.cu'"),
    ],
)
def test_an_extern_that_cannot_be_is_refused(before: str, after: str, message: str) -> None:
    found = refusal(kernel_from(EXTERN.replace(before, after, 1)))
    assert found.message == message
