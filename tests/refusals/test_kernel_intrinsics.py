"""Intrinsics that cannot be: each refusal with its sentence, its candidates and both places."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError
from atoll.plugin import Target
from kernel_text import HEAD, kernel_from, namespace

INTERFACE = """
@atoll.intrinsics
class Memory:
    @staticmethod
    def once(ptr: ptr[f32]) -> f32: ...
"""
BODY = """
@atoll.implements(Memory, platform="{platform}", arch="{arch}")
class {name}:
    @staticmethod
    def once(ptr: ptr[f32]) -> f32:
        {line}
"""
LOAD = 'return atoll.asm("ld.global.cs.f32 $0, [$1];", "=f,l", ptr)'
KERNEL = """
@kernel
def k(x: ptr[f32], out: view[f32]):
    out[0] = Memory.once(x)
    out[1] = Memory.once(x + 1)
"""


def implementation(platform: str = "cuda", arch: str = "sm_35", name: str = "C", line: str = LOAD) -> str:
    return BODY.format(platform=platform, arch=arch, name=name, line=line)


def refused(text: str) -> Diagnostic:
    with pytest.raises(AtollError) as caught:
        namespace(text)
    return caught.value.diagnostics[0]


def for_target(text: str, backend: str, arch: str = "") -> list[Diagnostic]:
    with pytest.raises(AtollError) as caught:
        kernel_from(text).compiled_for(Target(backend=backend, arch=arch))
    return list(caught.value.diagnostics)


def plain(note: str) -> str:
    return re.sub(r"<kernel \d+>", "FILE", note)


def test_a_target_without_an_implementation_is_refused_at_every_call_with_every_candidate() -> None:
    text = (
        INTERFACE
        + implementation()
        + implementation("cuda", "sm_100", "D")
        + implementation("hip", "", "E")
        + KERNEL
    )
    found = for_target(text, "cuda", "sm_30")
    assert [item.code for item in found] == ["ATL0770", "ATL0770"]
    first = found[0]
    assert first.message == "`Memory.once` has no implementation for cuda:sm_30"
    assert [plain(note) for note in first.notes] == [
        "cuda:sm_100 (D.once, FILE:19): cuda:sm_30 does not provide sm_100",
        "cuda:sm_35 (C.once, FILE:13): cuda:sm_30 does not provide sm_35",
        "hip (E.once, FILE:25): another platform",
        "its author declared no portable body",
    ]
    assert first.hint == 'write one: `@atoll.implements(Memory, platform="cuda")`'
    assert first.span is not None
    assert (
        first.span.text[first.span.column - 1 : first.span.end_column and first.span.end_column - 1]
        == "Memory.once(x)"
    )
    assert found[1].span is not None
    assert found[1].span.line == first.span.line + 1


def test_one_with_a_stated_reason_repeats_it() -> None:
    found = for_target(
        "from atoll import Target\n@kernel\ndef k(x: view[u64]):\n    x[0] = Target.clock()\n", "vulkan"
    )
    assert found[0].message == "`Target.clock` has no implementation for vulkan"
    assert (
        "vulkan has none: core Vulkan has no clock; VK_KHR_shader_clock is an extension that is not asked for"
        in found[0].notes
    )


def test_cpython_runs_what_the_processor_has_and_refuses_before_the_run() -> None:
    found = kernel_from(INTERFACE + implementation() + KERNEL)
    with pytest.raises(AtollError) as caught:
        found.python(1)(np.zeros(2, np.float32), np.zeros(2, np.float32))
    assert caught.value.diagnostics[0].message == "`Memory.once` has no implementation for cpu"


def test_two_implementations_for_one_target_are_refused_with_both_places() -> None:
    found = refused(INTERFACE + implementation() + implementation(name="D"))
    assert (found.code, found.message) == ("ATL0771", "`Memory.once` has two implementations for cuda:sm_35")
    assert [plain(note) for note in found.notes] == ["one is C.once, FILE:13", "the other is D.once, FILE:19"]
    assert found.hint == "remove one, or give it another architecture"


@pytest.mark.parametrize(
    ("signature", "shown"),
    [
        ("ptr: ptr[f64]) -> f32", "(ptr: ptr[f64]) -> f32"),
        ("ptr: ptr[f32]) -> f64", "(ptr: ptr[f32]) -> f64"),
        ("p: ptr[f32]) -> f32", "(p: ptr[f32]) -> f32"),
        ("ptr: ptr[f32], n: i32) -> f32", "(ptr: ptr[f32], n: i32) -> f32"),
        ("ptr: ptr[f32])", "(ptr: ptr[f32]) -> None"),
    ],
)
def test_a_signature_that_differs_is_refused_with_both(signature: str, shown: str) -> None:
    found = refused(INTERFACE + implementation().replace("ptr: ptr[f32]) -> f32", signature))
    assert (found.code, found.message) == ("ATL0772", "`C.once` has not the signature of `Memory.once`")
    assert [plain(note) for note in found.notes] == [
        "the interface: (ptr: ptr[f32]) -> f32, FILE:8",
        f"the implementation: {shown}, FILE:13",
    ]
    assert found.hint == "make them equal: names, types and result"


def test_marks_that_cannot_stand_there_are_refused() -> None:
    found = refused(INTERFACE + implementation().replace("once", "other"))
    assert (found.code, found.message) == ("ATL0773", "`Memory` has no intrinsic `other`")
    assert found.notes == ("it has: once",)
    found = refused("class Memory: ...\n" + implementation())
    assert (found.code, found.message) == ("ATL0773", "`Memory` is no interface")
    assert found.hint == "mark it with `@atoll.interface`"
    found = refused(INTERFACE + implementation(platform=""))
    assert (found.code, found.message) == ("ATL0773", "an implementation names its platform")
    found = refused(INTERFACE.replace("    @staticmethod\n", ""))
    assert (found.code, found.message) == ("ATL0773", "`Memory.once` is no static function")
    assert found.hint == "put `@staticmethod` above it"
    found = refused("@atoll.intrinsic\nclass A: ...\n")
    assert (found.code, found.message) == ("ATL0773", "a type is marked as an intrinsic")


def test_nobody_calls_an_implementation() -> None:
    names = namespace(INTERFACE + implementation())
    with pytest.raises(AtollError) as caught:
        names["C"].once(1)
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == ("ATL0773", "`C.once` is an implementation, which nobody calls")
    assert found.hint == "call `Memory.once`"
    with pytest.raises(AtollError) as caught:
        kernel_from(INTERFACE + implementation() + KERNEL.replace("Memory.once", "C.once")).compiled()
    assert caught.value.diagnostics[0].message == "a kernel cannot call `C.once`"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('return atoll.asm("ld $0, [$2];", "=f,l", ptr)', "`$2` names no operand: there are 2"),
        ('return atoll.asm("ld $0, [$1];", "=f", ptr)', "0 constraints stand for 1 operands"),
        ('return atoll.asm("ld $0;", "f,=l", ptr)', "`=l` is no constraint here"),
        (
            'atoll.asm("bar [$0];", "l", ptr)\n        return ptr[0]',
            "inline code without a result does nothing unless it says `~{memory}`",
        ),
        (
            "return atoll.asm(ptr[0], ptr)",
            "`asm` takes a text and constraints, as literals, then operands",
        ),
        (
            'return atoll.asm("é", "=f,l", ptr)',
            "inline code is at most 4000 characters of printable ASCII",
        ),
    ],
)
def test_inline_code_that_does_not_fit_is_refused(line: str, message: str) -> None:
    found = for_target(INTERFACE + implementation(line=line) + KERNEL, "cuda", "sm_90")[0]
    assert (found.code, found.message) == ("ATL0774", message)


def test_a_constraint_holds_the_type_of_its_operand() -> None:
    line = 'return atoll.asm("ld $0, [$1];", "=d,r", ptr)'
    with pytest.raises(AtollError) as caught:
        kernel_from(INTERFACE + implementation(line=line) + KERNEL).show("cuda:sm_90")
    found = caught.value.diagnostics
    assert found[0].message == "the constraint `d` does not hold $0, which is a f32"
    assert found[0].notes == ("`d` holds: f64", "constraints: f, d, r, l")
    assert found[1].message == "the constraint `r` does not hold $1, which is an address of a view"


def test_inline_code_stands_in_an_implementation_only() -> None:
    with pytest.raises(AtollError) as caught:
        kernel_from('@kernel\ndef k(x: view[f32]):\n    atoll.asm("exit;", "~{memory}")\n').compiled()
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == (
        "ATL0774",
        "`asm` stands outside an implementation of an intrinsic",
    )


def test_a_stage_that_cannot_hold_a_language_says_what_it_takes() -> None:
    line = 'return atoll.snippet("$0 = *$1;", "=f32,ptr", ptr)'
    with pytest.raises(AtollError) as caught:
        kernel_from(INTERFACE + implementation(line=line) + KERNEL).show("cuda:sm_90")
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == (
        "ATL0788",
        "the code for `cuda:sm_90` cannot hold text of a device language",
    )
    assert found.notes == ("kernel: k", "inline code it takes: assembly")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("$0 = OpLoad $1", "it is no instruction that computes a value"),
        ("OpKill", "it is no instruction that computes a value"),
        ("$0 = OpBitCount %x", "`%x` has no value here"),
        ("%x = OpBitCount", "its result has no type"),
    ],
)
def test_spirv_that_does_more_than_compute_is_refused(line: str, reason: str) -> None:
    text = f"""
@atoll.intrinsics
class Bits:
    @staticmethod
    def count(x: u32) -> u32: ...

@atoll.implements(Bits, platform="vulkan")
class V:
    @staticmethod
    def count(x: u32) -> u32:
        return atoll.operations("{line}", "=u32,u32", x)

@kernel
def k(x: view[u32]):
    x[0] = Bits.count(x[0])
"""
    with pytest.raises(AtollError) as caught:
        kernel_from(text).show("vulkan")
    found = caught.value.diagnostics[0]
    assert (found.code, found.message) == ("ATL0774", f"`{line}` is no SPIR-V that an intrinsic may hold")
    assert found.notes == (reason,)


def test_check_names_every_missing_intrinsic_with_a_caret_and_no_device(tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(HEAD + INTERFACE + implementation() + KERNEL)
    command = [sys.executable, "-m", "atoll", "kernel", "check", "k.py", "--target", "vulkan"]
    env = {"PATH": "/usr/bin:/bin", "VK_ICD_FILENAMES": "/nowhere", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "k: compiles\n")
    carets = [line for line in done.stderr.splitlines() if "^" in line]
    calls = [line for line in done.stderr.splitlines() if "Memory.once(x" in line]
    assert [line.strip(" |") for line in carets] == ["^" * 14, "^" * 18]
    assert [line[carets[at].index("^") :] for at, line in enumerate(calls)] == [
        "Memory.once(x)",
        "Memory.once(x + 1)",
    ]
    assert done.stderr.count("error[ATL0770]: `Memory.once` has no implementation for vulkan:1.2") == 2
    command[-1] = "cuda:sm_90"
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "k: compiles, emits for cuda:sm_90\n")
