"""Line information is in the code where it is asked for, and every tool reads it there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.diagnostics import Span
from atoll.ir import Module, nodes
from atoll.plugin import Emitted, Target, registry
from atoll.store import PayloadRoot
from atoll.testing.emitters import with_spans
from atoll.testing.programs import programs
from atoll_plugins.formats.places import Places, quoted
from atoll_plugins.spirv.disassembler import disassemble
from emitter_kit import accepted, emitter, tool

STAGES = {
    "cpu": "c", "opencl": "opencl-c", "cuda": "ptx", "vulkan": "spirv", "hip": "hip-cpp", "sycl": "sycl-cpp",
}  # fmt: skip
FILE = 'kernels/grün "a".py'


def _module(name: str) -> Module:
    """Return a program whose statements are from lines of a file."""
    module = with_spans(next(item.module for item in programs() if item.name == name))
    moved = _moved(module)
    assert isinstance(moved, Module)
    return moved


def _moved(value: object) -> object:
    if isinstance(value, Span):
        return replace(value, file=FILE, column=5)
    if isinstance(value, tuple):
        return type(value)(_moved(item) for item in value)
    if not hasattr(value, "__dataclass_fields__"):
        return value
    names = [name for name, item in value.__dataclass_fields__.items() if item.init]
    return replace(value, **{name: _moved(getattr(value, name)) for name in names})  # type: ignore[type-var]


def made(backend: str, name: str, stage: str = "", *, lines: bool = True) -> Emitted:
    """Return the code of a program with line information."""
    found = registry().emitters_of(backend)[stage or STAGES[backend]]
    program = next(item for item in programs() if item.name == name)
    target = replace(found.target(None), lines=lines)
    return found.emit(_module(name), name, target, program.group)


def _lines(name: str) -> list[int]:
    """Return the lines of a program's statements, in order."""
    found: list[int] = []

    def visit(block: nodes.Block) -> None:
        for stmt in block:
            assert stmt.span is not None
            found.append(stmt.span.line)
            if isinstance(stmt, nodes.If):
                visit(stmt.then)
                visit(stmt.orelse)
            if isinstance(stmt, nodes.Loop):
                visit(stmt.body)
                visit(stmt.step)

    visit(_module(name).kernel(name).body)
    return found


@pytest.mark.parametrize("backend", STAGES)
def test_without_being_asked_for_there_is_none(backend: str) -> None:
    program = next(item for item in programs() if item.name == "saxpy")
    plain = emitter(backend).emit(program.module, "saxpy", emitter(backend).target(None), program.group)
    assert made(backend, "saxpy", lines=False).code == plain.code


@pytest.mark.parametrize("backend", ["cpu", "opencl", "hip", "sycl"])
def test_c_languages_say_each_line_once_where_it_changes(backend: str) -> None:
    text = made(backend, "control").code.decode("ascii")
    said = [int(line.split()[1]) for line in text.split("\n") if line.startswith("#line ")]
    assert said == _lines("control")
    assert f"#line {said[0]} {quoted(FILE)}" in text


def test_a_c_compiler_says_the_line_of_the_kernel(tmp_path: Path) -> None:
    code = made("cpu", "control")
    path = tmp_path / "kernel.c"
    path.write_bytes(code.code)
    accepted([tool("gcc"), "-std=c11", "-g", "-O0", "-S", "-o", str(tmp_path / "out.s"), str(path)])
    assert "gr\\303\\274n" in (tmp_path / "out.s").read_text(encoding="utf-8", errors="surrogateescape")
    accepted([tool("clang-19"), "-std=c11", "-fsyntax-only", str(path)])


@pytest.mark.parametrize("name", ["control", "rotate"])
def test_the_processor_still_computes_the_same(name: str, tmp_path: Path) -> None:
    plain, marked = (made("cpu", name, lines=lines).code.decode() for lines in (False, True))
    assert [line for line in marked.split("\n") if not line.startswith("#line ")] == plain.split("\n")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_ptxas_takes_the_lines(arch: str, tmp_path: Path) -> None:
    found = emitter("cuda")
    code = found.emit(
        _module("control"), "control", Target(backend="cuda", arch=arch, lines=True), (64, 1, 1)
    )
    text = code.code.decode("ascii")
    assert f"\n.file 1 {quoted(FILE)}" in text
    assert [int(line.split()[2]) for line in text.split("\n") if ".loc" in line] == _lines("control")
    path = tmp_path / "kernel.ptx"
    path.write_bytes(code.code)
    out = tmp_path / "out.cubin"
    accepted([tool("ptxas"), "-arch", arch, "-lineinfo", "-o", str(out), str(path)])
    assert b".debug_line" in out.read_bytes()


@pytest.mark.parametrize("name", ["control", "rotate", "block_sum", "guard"])
def test_a_shader_says_the_lines_and_is_valid(name: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.spv"
    code = made("vulkan", name)
    path.write_bytes(code.code)
    accepted([tool("spirv-val"), "--target-env", "vulkan1.2", str(path)])
    assert FILE.encode() in code.code
    words, at, said = memoryview(code.code).cast("I").tolist(), 5, []
    while at < len(words):
        if words[at] & 0xFFFF == 8:
            said.append(words[at + 2])
        at += words[at] >> 16
    assert said == _lines(name)


def test_nvcc_takes_the_lines(cuda_payload: PayloadRoot, tmp_path: Path) -> None:
    path = tmp_path / "kernel.cu"
    # nvcc 13.0 itself writes a quotation mark in a path into its PTX as it is, and then refuses that.
    text = made("cuda", "control", "cuda-cpp").code.decode().replace(quoted(FILE), '"kernels/kern.py"')
    path.write_text(text)
    nvcc = cuda_payload.root / "nvidia" / "cu13" / "bin" / "nvcc"
    out = tmp_path / "out.ptx"
    accepted([str(nvcc), "-arch=sm_90", "-lineinfo", "-ptx", "-o", str(out), str(path)])
    assert "kernels/kern.py" in out.read_text(encoding="utf-8", errors="replace")


def test_a_place_is_said_where_it_changes() -> None:
    places = Places(wanted=True)
    first, second = Span(file="a.py", line=3, column=1), Span(file="a.py", line=3, column=9)
    assert places.changed(first) is first
    assert places.changed(second) is None
    assert places.changed(None) is None
    assert places.changed(replace(first, file="b.py")) is not None
    assert Places(wanted=False).changed(first) is None


def test_a_hostile_path_stays_inside_its_string() -> None:
    assert quoted('a"\n\\b\0ü') == '"a\\042\\012\\134b\\000\\303\\274"'


def test_the_disassembly_of_a_shader_shows_its_lines() -> None:
    text = disassemble(made("vulkan", "saxpy").code)
    assert "OpString" in text
    assert f"OpLine %{text.split(' = OpString')[0].rsplit('%', 1)[1]} {_lines('saxpy')[0]} 5" in text


@pytest.mark.parametrize("name", ["control", "rotate"])
def test_llvm_keeps_the_lines_of_each_instruction(name: str) -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite")
    from atoll_plugins.cpu.llvm import CpuLlvmEmitter

    emit, kernel = CpuLlvmEmitter().emit, _module(name)
    group = next(item.group for item in programs() if item.name == name)
    plain, marked = (
        emit(kernel, name, Target(backend="cpu", arch="llvm", lines=lines), group).code.decode()
        for lines in (False, True)
    )
    assert "!" not in plain
    bodies = [text[: text.index("\n}\n")].split("\n") for text in (plain, marked)]
    assert [re.sub(r",? !dbg !\d+", "", line) for line in bodies[1]] == bodies[0]
    said = [int(found) for found in re.findall(r"!DILocation\(line: (\d+)", marked)]
    assert len(said) == len(set(said))
    assert set(said) <= set(_lines(name))
    assert len(said) > len(_lines(name)) / 2  # what only makes a group wait, or loop, has no instruction


def test_an_amd_object_has_a_table_of_lines(tmp_path: Path) -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite")
    from atoll_plugins.hip.code_object import CodeObjectEmitter

    target = Target(backend="hip", arch="gfx942", lines=True)
    found = CodeObjectEmitter().emit(_module("control"), "control", target, (64, 1, 1))
    path = tmp_path / "kernel.o"
    path.write_bytes(found.code)
    table = accepted([tool("readelf"), "--debug-dump=decodedline", str(path)])
    said = {int(found) for found in re.findall(r"\.py\s+(\d+)\s+0x", table)}
    assert said
    assert said <= {*_lines("control"), 0}


def test_the_compiler_of_the_processor_is_asked_for_lines(tmp_path: Path) -> None:
    from atoll_plugins.cpu.compile import compiled, find_compiler

    where = {"PATH": "/usr/bin:/bin", "ATOLL_CACHE": str(tmp_path)}
    compiler = find_compiler(where)
    assert compiler is not None
    code = made("cpu", "control")
    tables = []
    for lines in (True, False):
        library = compiled(code.code, compiler, where, lines=lines)
        tables.append(accepted([tool("readelf"), "--debug-dump=decodedline", str(library)]))
    assert "kernels/gr" in tables[0]
    assert "kernels/gr" not in tables[1]
