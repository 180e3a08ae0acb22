"""Every first-party emitter keeps the promises of its door, and every tool accepts what it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from atoll.accel import Entry, Floor, Version
from atoll.ir import BOOL, F32, I32, I64, Kernel, Module, Parameter, View, nodes, ops
from atoll.ir.verify import verify
from atoll.plugin import Target
from atoll.testing.emitters import EMITTER_CHECKS, EmitterCheck, emitted, emitter_suite
from atoll.testing.programs import programs
from atoll.testing.random_kernels import random_program
from emitter_kit import BACKENDS, accepted, emitter, tool

SAMPLE, WHOLE = 12, 300


@pytest.mark.parametrize("check", EMITTER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_emitter_keeps_its_doors_promises(backend: str, check: EmitterCheck) -> None:
    check(emitter(backend))


def test_the_suite_says_what_each_check_said() -> None:
    said = emitter_suite(emitter("cpu"))
    assert list(said) == [check.__name__ for check in EMITTER_CHECKS]
    assert set(said.values()) == {"ok"}


def _codes(backend: str, target: Target, whole: bool) -> list[tuple[str, bytes, str]]:
    found = [(program.name, code.code, code.suffix) for program, code in emitted(emitter(backend), target)]
    for seed in range(WHOLE if whole else SAMPLE):
        program = random_program(seed)
        code = emitter(backend).emit(program.module, program.name, target, program.group)
        found.append((program.name, code.code, code.suffix))
    return found


def _each(
    backend: str, target: Target, folder: Path, whole: bool, command: list[str], tell: Callable[[str], None]
) -> None:
    codes = _codes(backend, target, whole)
    for name, code, suffix in codes:
        path = folder / f"{name}{suffix}"
        path.write_bytes(code)
        accepted([*command, str(path)])
    drawn = sum(name.startswith("random") for name, _, _ in codes)
    tell(f"{command[0]} accepted {len(codes)} kernels for {target}; {drawn} random ones of {WHOLE}")


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.3"])
def test_the_validator_accepts_every_shader(
    version: str, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    command = [tool("spirv-val"), "--target-env", f"vulkan{version}"]
    _each("vulkan", Target(backend="vulkan", version=version), tmp_path, whole, command, tell)


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_assembler_accepts_all_ptx(
    arch: str, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    command = [tool("ptxas"), "-arch", arch, "-O0", "-o", str(tmp_path / "out.cubin")]
    _each("cuda", Target(backend="cuda", arch=arch), tmp_path, whole, command, tell)


def test_a_compiler_accepts_all_opencl_c(tmp_path: Path, whole: bool, tell: Callable[[str], None]) -> None:
    command = [
        tool("clang-19"),
        "-x",
        "cl",
        "-cl-std=CL1.2",
        "-cl-ext=+cl_khr_fp64",
        "-fsyntax-only",
        "-Wall",
    ]
    _each("opencl", emitter("opencl").target(None), tmp_path, whole, command, tell)


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_a_compiler_accepts_all_c(
    compiler: str, tmp_path: Path, whole: bool, tell: Callable[[str], None]
) -> None:
    command = [tool(compiler), "-std=c11", "-pedantic", "-Wall", "-fsyntax-only"]
    _each("cpu", emitter("cpu").target(None), tmp_path, whole, command, tell)


def test_the_vulkan_version_decides_the_spirv_version() -> None:
    program = programs()[0]
    versions = {}
    for version in ("1.1", "1.2", "1.3"):
        entry = Entry(backend="vulkan", version=Version(tuple(map(int, version.split(".")))))
        target = emitter("vulkan").target(entry)
        code = emitter("vulkan").emit(program.module, program.name, target, program.group).code
        versions[version] = (code[6], code[5])
    assert versions == {"1.1": (1, 3), "1.2": (1, 5), "1.3": (1, 6)}


def test_capabilities_are_declared_only_when_used_and_stated() -> None:
    stated = {}
    for program, code in emitted(emitter("vulkan"), emitter("vulkan").target(None)):
        facts = {fact.value for fact in code.requires if fact.name == "spirv.capability"}
        stated[program.name] = facts - {"Shader"}
    assert stated["batched"] == {"Int64"}
    assert stated["saxpy"] == {"Int64", "SignedZeroInfNanPreserve"}
    assert stated["narrow"] == {"Int64", "StorageBuffer8BitAccess", "StorageBuffer16BitAccess"}
    assert stated["ops_f64"] == {"Int64", "Float64", "SignedZeroInfNanPreserve"}


@pytest.mark.parametrize(
    ("arch", "isa"),
    [("sm_80", "7.0"), ("sm_90", "7.8"), ("sm_90a", "8.0"), ("sm_120", "8.7"), ("sm_999", "9.0")],
)
def test_ptx_is_of_the_least_version_that_names_the_architecture(arch: str, isa: str) -> None:
    program = programs()[0]
    code = emitter("cuda").emit(program.module, program.name, Target(backend="cuda", arch=arch), (64, 1, 1))
    assert f".version {isa}\n.target {arch}\n" in code.code.decode()
    assert [str(fact) for fact in code.requires] == [f"ptx.isa >= {isa}"]


def test_the_architecture_comes_from_the_name_the_floor_or_the_least() -> None:
    target = emitter("cuda").target
    archs = Entry(backend="cuda", archs=("sm_90", "sm_80", "sm_100a"))
    assert target(archs).arch == "sm_80"
    assert target(archs, "sm_90").arch == "sm_90"
    assert target(Entry(backend="cuda", archs=("sm_80",), floor=Floor(Version((90,))))).arch == "sm_90"
    assert target(Entry(backend="cuda")).arch == target(None).arch == "sm_80"


def test_a_large_parameter_block_becomes_a_buffer() -> None:
    for program, pushed in ((programs()[0], True), (random_program(0), False)):
        target = emitter("vulkan").target(None)
        code = emitter("vulkan").emit(program.module, program.name, target, program.group)
        assert (code.layout.block_bytes <= 128) is pushed
        pointers = {words[2] for words in _instructions(code.code) if words[0] & 0xFFFF == 32}
        assert (9 in pointers) is pushed, "a pointer to push constants"


def _instructions(code: bytes) -> Iterator[list[int]]:
    words, at = memoryview(code).cast("I").tolist(), 5
    while at < len(words):
        yield words[at : at + (words[at] >> 16)]
        at += words[at] >> 16


def test_nothing_is_contracted() -> None:
    program = programs()[0]
    texts = {}
    for backend in ("cpu", "cuda", "opencl"):
        code = emitter(backend).emit(program.module, "saxpy", emitter(backend).target(None), (64, 1, 1))
        texts[backend] = code.code.decode()
    assert 'GCC optimize ("fp-contract=off")' in texts["cpu"]
    assert "FP_CONTRACT OFF" in texts["cpu"]
    assert "mul.rn.f32" in texts["cuda"]
    assert "add.rn.f32" in texts["cuda"]
    assert "fma" not in texts["cuda"]
    assert "#pragma OPENCL FP_CONTRACT OFF" in texts["opencl"]


def test_every_float_operation_of_a_shader_forbids_contraction() -> None:
    codes = {
        program.name: code for program, code in emitted(emitter("vulkan"), emitter("vulkan").target(None))
    }
    listed = list(_instructions(codes["ops_f32"].code))
    floats = {words[2] for words in listed if words[0] & 0xFFFF in (129, 131, 133, 136)}
    decorated = {words[1] for words in listed if words[0] & 0xFFFF == 71 and words[2] == 42}
    assert floats
    assert floats == decorated


P = nodes.Param("n", I32)
DEEP: dict[str, Callable[[nodes.Expr], nodes.Expr]] = {
    "sum": lambda below: nodes.Binary(ops.Binary.ADD_WRAP, nodes.const(I32, 1), below),
    "quotient": lambda below: nodes.Binary(ops.Binary.DIV_FLOOR, below, P),
    "negation": lambda below: nodes.Unary(ops.Unary.NEG_WRAP, below),
    "bits": lambda below: nodes.Cast(ops.Cast.BITS, F32 if below.type == I32 else I32, below),
    "choice": lambda below: nodes.Select(nodes.const(BOOL, True), below, P),
}


@pytest.mark.parametrize("shape", DEEP)
def test_the_deepest_kernel_that_is_valid_is_emitted_and_accepted(shape: str, tmp_path: Path) -> None:
    value: nodes.Expr = P
    for _ in range(96):
        value = DEEP[shape](value)
    body: nodes.Block = (nodes.Store("out", (nodes.const(I64, 0),), value),)
    for level in range(96):
        body = (nodes.If(nodes.Compare(ops.Compare.LT, P, nodes.const(I32, level)), body),)
    params = (Parameter("n", I32), Parameter("out", View(I32)))
    module = verify(Module(kernels=(Kernel(name="deep", params=params, body=body),)))
    commands = {
        "cpu": [tool("clang-19"), "-fsyntax-only"],
        "opencl": [tool("clang-19"), "-x", "cl", "-cl-std=CL1.2", "-fsyntax-only"],
        "vulkan": [tool("spirv-val"), "--target-env", "vulkan1.2"],
        "cuda": [tool("ptxas"), "-arch", "sm_80", "-o", str(tmp_path / "out.cubin")],
    }
    for backend, command in commands.items():
        code = emitter(backend).emit(module, "deep", emitter(backend).target(None), (64, 1, 1))
        path = tmp_path / f"deep{code.suffix}"
        path.write_bytes(code.code)
        accepted([*command, str(path)])
