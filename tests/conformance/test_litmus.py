"""Litmus tests: what the model forbids is seen on no device here, and a weaker mapping would be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from atoll.ir.ops import Order, Scope
from atoll.plugin import Disassembler, DriverDevice
from atoll.runtime import Device
from atoll.testing.litmus import GROUP, PLACES, TESTS, WEAK, Litmus, module, outcomes, violations
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import accepted, device, emitter, tool

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools import orders

EMITTERS = dict(orders.emitters())
MESSAGES = tuple(test for test in TESTS if test.forbidden and test.name.startswith("passing"))
#: How each emitter's table is weakened: the module's name of it, and what is put into it.
WEAKENED = {
    "cpu c": ("atoll_plugins.cpu.printer._ORDERS", Order.RELEASE, "__ATOMIC_RELAXED"),
    "cpu llvm-ir": ("atoll_plugins.llvm.function._ORDERS", Order.ACQUIRE, "monotonic"),
    "cuda ptx": ("atoll_plugins.cuda.ptxfunction._SCOPES", Scope.DEVICE, "cta"),
    "cuda cuda-cpp": ("atoll_plugins.cuda.printer._FENCES", Scope.DEVICE, "__threadfence_block"),
    "hip hip-cpp": ("atoll_plugins.hip.printer._ORDERS", Order.RELEASE, "__ATOMIC_RELAXED"),
    "sycl sycl-cpp": ("atoll_plugins.sycl.printer._SCOPES", Scope.DEVICE, "work_group"),
    "vulkan spirv": ("atoll_plugins.spirv.function._ORDERS", Order.ACQUIRE, 0),
}


def test_the_model_forbids_what_each_test_looks_for() -> None:
    for test in TESTS:
        assert test.forbidden not in outcomes(test), test.name
    assert (0, 0) in outcomes(next(test for test in TESTS if test.name == "buffering_both"))
    assert (1, 0) in outcomes(WEAK)


@pytest.mark.parametrize("test", MESSAGES[:2], ids=lambda test: test.name)
@pytest.mark.parametrize("weak", [Order.RELEASE, Order.ACQUIRE], ids=str)
def test_one_side_without_its_order_shows_the_forbidden_outcome(test: Litmus, weak: Order) -> None:
    def mapped(order: Order) -> Order:
        left = {Order.RELEASE: Order.ACQUIRE, Order.ACQUIRE: Order.RELEASE}[weak]
        return Order.RELAXED if order is weak else left if order is Order.ACQ_REL else order

    assert test.forbidden in outcomes(test, mapped)


def faults(name: str) -> list[str]:
    """Return where the text of an emitter is weaker than KIR, and which test would show it."""
    said = []
    for order in Order:
        for scope in Scope:
            lines = orders.rows(EMITTERS[name], orders.atomic(order, scope))
            found = orders.strength(lines)
            if not found.holds(order, scope):
                said.append(f"{order} {scope}: {lines}")
    kept = {test.name: test.forbidden not in outcomes(test, partial(_mapped, name)) for test in MESSAGES}
    said += [f"{test} is not kept" for test, right in kept.items() if not right]
    for scope in Scope:
        (line,) = orders.rows(EMITTERS[name], f"fence {scope}")
        if not orders.strength([line, "atomicAdd(", line]).holds(Order.ACQ_REL, scope):
            said.append(f"fence {scope}: {line}")
    return said


def _mapped(name: str, order: Order) -> Order:
    return orders.strength(orders.rows(EMITTERS[name], orders.atomic(order, Scope.DEVICE))).order


@pytest.mark.parametrize("name", EMITTERS)
def test_no_emitter_is_weaker_than_kir(name: str) -> None:
    assert faults(name) == []


@pytest.mark.parametrize("name", WEAKENED)
def test_a_weaker_table_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, key, weak = WEAKENED[name]
    path, _, table = place.rpartition(".")
    __import__(path)
    monkeypatch.setitem(getattr(sys.modules[path], table), key, weak)
    assert faults(name)


@pytest.mark.parametrize(
    "statement", ["fence device", "barrier work_group", "atomic add relaxed device x[i64:0], i32:1"]
)
def test_memory_that_work_items_order_is_coherent(statement: str) -> None:
    spirv = EMITTERS["vulkan spirv"]
    assert isinstance(spirv, Disassembler)
    said = spirv.disassemble(spirv.emit(orders.module(statement), "k", spirv.target(None), (64, 1, 1)).code)
    assert "Coherent" in said
    plain = spirv.emit(orders.module("x[i64:0] = i32:2"), "k", spirv.target(None), (64, 1, 1))
    assert "Coherent" not in spirv.disassemble(plain.code)


@pytest.mark.parametrize("version", ["CL1.2", "CL2.0", "CL3.0", "NVIDIA"])
def test_a_fence_of_the_device_is_the_widest_that_a_version_has(version: str, tmp_path: Path) -> None:
    opencl = EMITTERS["opencl opencl-c"]
    made = module(TESTS[0], Scope.DEVICE)
    path = tmp_path / "k.cl"
    path.write_bytes(opencl.emit(made, TESTS[0].name, opencl.target(None), (GROUP, 1, 1)).code)
    flags = ["-D__NV_CL_C_VERSION=1", "-Dasm=__asm__"] if version == "NVIDIA" else [f"-cl-std={version}"]
    said = accepted(
        [
            tool("clang-19"),
            "-x",
            "cl",
            "--target=spir64",
            *flags,
            "-Xclang",
            "-finclude-default-header",
            "-E",
            str(path),
        ]
    )
    word = {"CL1.2": "mem_fence", "NVIDIA": "membar.gl"}.get(version, "atomic_work_item_fence")
    body = said[said.index("atoll_atomic_exchange_release") :]
    assert word in body.partition("}")[0]
    accepted([tool("clang-19"), "-x", "cl", "--target=spir64", *flags, "-Xclang", "-finclude-default-header",
              "-fsyntax-only", str(path)])  # fmt: skip


@pytest.mark.parametrize("edit", ["mem_fence", "const int old"])
def test_a_fence_that_is_missing_or_on_the_wrong_side_is_seen(edit: str) -> None:
    lines = orders.rows(EMITTERS["opencl opencl-c"], orders.atomic(Order.RELEASE, Scope.WORK_GROUP))
    assert orders.strength(lines).holds(Order.RELEASE, Scope.WORK_GROUP)
    weaker = [line for line in lines if "mem_fence" not in line] if edit == "mem_fence" else lines[::-1]
    assert not orders.strength(weaker).holds(Order.RELEASE, Scope.WORK_GROUP)


def test_a_fence_of_the_group_is_no_fence_of_the_device() -> None:
    lines = orders.rows(EMITTERS["opencl opencl-c"], orders.atomic(Order.ACQ_REL, Scope.WORK_GROUP))
    assert not orders.strength(lines).holds(Order.ACQ_REL, Scope.DEVICE)


def run(executor: str, found: DriverDevice, launches: int, tell: Callable[[str], None]) -> None:
    held = Device(found)
    said = violations(emitter(found.target().backend), held, launches=launches)
    assert all(set(seen) <= outcomes_of(name) for name, (seen, _) in said.items()), said
    assert not any(count for _, count in said.values()), said
    total = sum(sum(seen.values()) for seen, _ in said.values())
    assert total == len(TESTS) * len(PLACES) * launches * 64 * GROUP
    tell(
        f"{total} instances of {len(TESTS)} tests in {len(PLACES)} places, none forbidden: {executor}"
        f" ({held.name})"
    )


def outcomes_of(name: str) -> frozenset[tuple[int, ...]]:
    return outcomes(next(test for test in TESTS if test.name == name.split()[0]))


@pytest.mark.parametrize("executor", ["cpu", "vulkan", "opencl"])
def test_no_device_shows_what_the_model_forbids(
    executor: str, whole: bool, tell: Callable[[str], None]
) -> None:
    with device(executor) as found:
        run(executor, found, 200 if whole else 8, tell)


def test_the_interpreter_shows_nothing_that_the_model_forbids(
    whole: bool, tell: Callable[[str], None]
) -> None:
    run("interpreter", CpuDriver({"PATH": "/nowhere"}).open(0), 20 if whole else 1, tell)


def test_an_outcome_that_is_forbidden_is_counted() -> None:
    """Plant a fault: the test forbids what message passing is allowed to show."""
    wrong = replace(TESTS[0], forbidden=(1, 1))
    with device("cpu") as found:
        said = violations(emitter("cpu"), Device(found), launches=2, tests=(wrong,))
    assert all(count for _, count in said.values())
