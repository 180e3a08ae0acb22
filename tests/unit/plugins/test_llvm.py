"""LLVM IR for the processor computes what KIR means; AMD objects are of their architecture."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from atoll.errors import DeviceError
from atoll.ir import F32
from atoll.ir.ops import Math
from atoll.plugin import DriverDevice, Target, registry
from atoll.testing.emitters import EMITTER_CHECKS, EmitterCheck, answers_are_right
from atoll.testing.program import Program
from atoll.testing.programs import programs
from atoll.testing.random_kernels import random_program
from atoll_plugins.cpu import llvm as cpu_llvm
from atoll_plugins.cpu.driver import CpuDriver
from atoll_plugins.cpu.llvmprinter import CpuFunction
from atoll_plugins.formats import maths32
from atoll_plugins.formats.core import Core
from atoll_plugins.hip.code_object import TRIPLE, linked
from atoll_plugins.hip.llvmprinter import AmdFunction
from atoll_plugins.hip.reader import MACHINE, PROCESSORS
from atoll_plugins.llvm import compiler, function
from kernel_text import kernel_from

WHOLE, SAMPLE = 300, 20
#: Objects made by default; every program with --all.
FEW = ("saxpy", "block_sum", "atomics", "half", "maths_f32", "ops_i64", "casts_f64")
ARCHS = ("gfx942", "gfx1100")


@pytest.fixture(scope="module", autouse=True)
def _llvmlite() -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite")


@pytest.fixture(scope="module")
def opened() -> Iterator[DriverDevice]:
    device = CpuDriver().open(0)
    yield device
    device.close()


IR = cpu_llvm.CpuLlvmEmitter()


@pytest.mark.parametrize("check", EMITTER_CHECKS, ids=lambda check: check.__name__)
def test_the_ir_emitter_keeps_its_doors_promises(check: EmitterCheck) -> None:
    check(IR)


@pytest.mark.parametrize("program", programs(), ids=lambda program: program.name)
def test_a_program_gives_the_right_answer(opened: DriverDevice, program: Program) -> None:
    ulp = 2 if program.name.startswith(("maths_", "pow_")) else 0
    assert answers_are_right(registry().emitters["cpu"], opened, program, ulp=ulp) is not None


def test_random_kernels_give_the_answers_of_the_reference(
    opened: DriverDevice, whole: bool, tell: Callable[[str], None]
) -> None:
    count = WHOLE if whole else SAMPLE
    for seed in range(2000, 2000 + count):
        answers_are_right(IR, opened, random_program(seed), ulp=0)
    tell(f"{count} random kernels of {WHOLE} by LLVM on {opened.info.name}, from seed 2000")


def test_the_sequences_of_maths_are_near_enough(
    opened: DriverDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = CpuFunction.library

    def library(self: CpuFunction, op: Math, scalar: object, operands: list[str]) -> str:
        if op is Math.EXP2 or scalar != F32:
            return own(self, op, scalar, operands)  # type: ignore[arg-type]
        return maths32.call(self, op, operands)

    monkeypatch.setattr(CpuFunction, "library", library)
    for program in programs():
        if program.name in ("maths_f32", "pow_f32", "maths_f16", "pow_bf16"):
            code = answers_are_right(IR, opened, program, ulp=16)
            assert code is not None
            assert b"@sinf" not in code.code


def test_the_sequences_of_exp_and_tanh_keep_their_bounds(
    opened: DriverDevice, monkeypatch: pytest.MonkeyPatch, tell: Callable[[str], None]
) -> None:
    """With an exact exp2; PTX's own adds what the module says."""
    own = CpuFunction.library

    def library(self: CpuFunction, op: Math, scalar: object, operands: list[str]) -> str:
        if op is Math.EXP2 or scalar != F32:
            return own(self, op, scalar, operands)  # type: ignore[arg-type]
        return maths32.call(self, op, operands)

    monkeypatch.setattr(CpuFunction, "library", library)
    source = "@kernel\ndef k(x: view[f32], e: view[f32], t: view[f32]):\n    i = atoll.global_id(0)\n"
    found = kernel_from(source + "    e[i] = atoll.exp(x[i])\n    t[i] = atoll.tanh(x[i])\n")
    draws = np.random.default_rng(3)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 0.625, 9.1, -9.1, 88.72, -87.4, -103.9]
    x = np.concatenate([special, draws.uniform(-110, 88.7, 100_000), draws.normal(0, 2, 100_000)])
    x = x.astype(np.float32)
    e, t = np.zeros_like(x), np.zeros_like(x)
    found.over(x.size, device=opened)(x, e, t)
    with np.errstate(invalid="ignore"):
        worst = [ulps(got, f(x.astype(np.float64))) for got, f in ((e, np.exp), (t, np.tanh))]
    tell(f"exp within {worst[0]:.2f} ulp and tanh within {worst[1]:.2f} of {x.size} values")
    assert worst[0] < 1.5
    assert worst[1] < 1.5
    assert np.signbit(t[:2]).tolist() == [False, True]
    assert np.array_equal(np.isnan(x), np.isnan(e))
    assert np.array_equal(np.isnan(x), np.isnan(t))
    assert e[2:4].tolist() == [np.inf, 0.0]


def ulps(got: Any, exact: Any) -> float:
    """Return the largest distance of finite values, in units of the last place."""
    some = np.isfinite(exact) & np.isfinite(got)
    unit = np.spacing(np.abs(exact[some]).astype(np.float32)).astype(np.float64)
    return float(np.max(np.abs(got[some].astype(np.float64) - exact[some]) / unit))


def test_a_swapped_operation_is_seen(opened: DriverDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(function._CORE, Core.FMUL, "fadd")
    saxpy = programs()[0]
    with pytest.raises(AssertionError, match="elements differ"):
        answers_are_right(IR, opened, saxpy)


def test_the_driver_takes_llvm_then_a_compiler_then_the_interpreter_and_says_which() -> None:
    drivers = {
        "LLVM": CpuDriver(),
        "c": CpuDriver(with_llvm=False),
        "interpreter": CpuDriver({"PATH": ""}, with_llvm=False),
    }
    said = {name: driver.devices()[0].facts.facts["driver"] for name, driver in drivers.items()}
    assert said["LLVM"] == f"LLVM through llvmlite {compiler.installed()}"
    assert "gcc" in said["c"] or "cc" in said["c"]
    assert said["interpreter"] == "interpreter"
    targets = {name: driver.open(0).target().arch for name, driver in drivers.items()}
    assert targets["LLVM"] == "llvm"
    assert targets["interpreter"] == "kir"
    assert targets["c"] not in ("llvm", "kir")


def test_listing_devices_imports_no_llvm() -> None:
    code = (
        "import sys; from atoll_plugins.cpu.driver import CpuDriver; "
        "print(CpuDriver().devices()[0].facts.facts);"
        "sys.exit('llvmlite.binding' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "LLVM" in ran.stdout


def test_a_function_that_is_missing_is_an_error_and_no_abort() -> None:
    text = "declare float @no_such_function(float)\ndefine void @f() {\n  ret void\n}\n"
    with pytest.raises(compiler.LlvmError, match="no_such_function"):
        compiler.load(text, "f", ("no_such_function",))


@pytest.mark.parametrize("code", [b"", b"\xff\x00", b"int x;", b"define void @other() {\n  ret void\n}\n"])
def test_what_is_no_ir_of_the_kernel_is_refused(opened: DriverDevice, code: bytes) -> None:
    saxpy = programs()[0]
    good = IR.emit(saxpy.module, saxpy.name, opened.target(), saxpy.group)
    with pytest.raises(DeviceError) as caught:
        opened.load(replace(good, code=code))
    assert "LLVM refused it" in str(caught.value)


# --- AMD ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHS)
def test_an_amd_object_is_of_its_architecture(arch: str, whole: bool, tell: Callable[[str], None]) -> None:
    emitter = registry().emitters_of("hip")["object"]
    made = 0
    for program in programs():
        if not whole and program.name not in FEW:
            continue
        if program.name in ("maths_f64", "pow_f64"):
            continue
        code = emitter.emit(program.module, program.name, Target(backend="hip", arch=arch), program.group)
        machine, flags = struct.unpack_from("<18xH28xI", code.code)
        assert code.code[:4] == b"\x7fELF"
        assert machine == MACHINE
        assert PROCESSORS[flags & 0xFF] == arch
        assert f"{code.entry}.kd".encode() in code.code, "no kernel descriptor"
        made += 1
    tell(f"{made} AMD objects for {arch}")


def test_contraction_stays_off_on_amd() -> None:
    from atoll_plugins.formats.emission import lacks_nothing, prepare

    saxpy = programs()[0]
    target = Target(backend="hip", arch="gfx942")
    job = prepare(saxpy.module, saxpy.name, target, saxpy.group, fixed=False, lacks=lacks_nothing)
    machine = compiler._machine(TRIPLE, "gfx942", "", jit=False)
    text = machine.emit_assembly(compiler._optimised(AmdFunction(job).text(), machine, TRIPLE))
    assert "v_mul_f32" in text
    assert "v_add_f32" in text
    assert "v_fma" not in text


def test_an_amd_object_links_to_a_code_object_where_lld_is() -> None:
    saxpy = programs()[0]
    emitter = registry().emitters_of("hip")["object"]
    code = emitter.emit(saxpy.module, saxpy.name, Target(backend="hip", arch="gfx942"), saxpy.group)
    found = linked(code.code, {"PATH": "/usr/bin:/bin:/usr/lib/llvm-19/bin"})
    if found is None:
        pytest.skip("no ld.lld")
    assert found[16] == 3, "no shared object"
