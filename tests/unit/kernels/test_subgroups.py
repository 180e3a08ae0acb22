"""Sub-groups: one kernel, the same answer wherever it runs and however wide a sub-group is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import AtollError, LaunchError
from atoll.ir import has_barrier, ops
from atoll.ir.subgroups import emulated, width_of
from atoll.ir.verify import verify
from atoll.ir.walk import has_subgroups
from atoll_plugins.cpu.driver import CpuDriver
from emitter_kit import device
from kernel_text import kernel_from

#: Sums of blocks: each sub-group its own values, then the first sub-group those of all.
BLOCK_SUM = """
@kernel(block=64)
def k(x: view[i32], out: view[i32]):
    i = atoll.global_id(0)
    partial = atoll.shared(i32, 64)
    total = atoll.subgroup_add(x[i])
    if atoll.lane_id() == 0:
        partial[atoll.subgroup_id()] = total
    atoll.barrier()
    if atoll.subgroup_id() == 0:
        mine = 0
        for at in range(atoll.lane_id(), 64 // atoll.subgroup_size(), atoll.subgroup_size()):
            mine += partial[at]
        whole = atoll.subgroup_add(mine)
        if atoll.lane_id() == 0:
            out[atoll.group_id(0)] = whole
"""
NEIGHBOURS = """
@kernel(block=32)
def k(x: view[i32], out: view[i32]):
    i = atoll.global_id(0)
    v = x[i]
    other = atoll.shuffle_xor(v, 1)
    own = atoll.shuffle(v, -1) + atoll.shuffle_down(v, 1000) + atoll.shuffle_up(v, atoll.subgroup_size())
    size = atoll.subgroup_add(1)
    ok = 1 if size == atoll.subgroup_size() else 0
    out[i] = (v + own) * 10 + ok if size == 1 else (other + own) * 10 + ok
"""


def test_a_block_is_summed_by_its_sub_groups_everywhere() -> None:
    found, x = kernel_from(BLOCK_SUM), np.arange(256, dtype=np.int32)
    wanted = x.reshape(4, 64).sum(axis=1)
    for width in (1, 2, 4, 16, 32, 64):
        out = np.zeros(4, np.int32)
        found.python(256, subgroup=width)(x, out)
        np.testing.assert_array_equal(out, wanted)
    for where in (CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        out = np.zeros(4, np.int32)
        found.over(256, device=where)(x, out)
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("backend", ["vulkan", "opencl"])
def test_a_block_is_summed_by_its_sub_groups_on_a_device(backend: str) -> None:
    x, out = np.arange(256, dtype=np.int32), np.zeros(4, np.int32)
    with device(backend) as opened:
        kernel_from(BLOCK_SUM).over(256, device=opened)(x, out)
    np.testing.assert_array_equal(out, x.reshape(4, 64).sum(axis=1))


def test_a_shuffle_from_no_lane_gives_the_own_value() -> None:
    found, x = kernel_from(NEIGHBOURS), np.arange(64, dtype=np.int32) * 7
    wanted = (x[np.arange(64) ^ 1] + 3 * x) * 10 + 1
    answers: list[Any] = []
    for where in ("oracle", "cpu", CpuDriver({"PATH": "/nowhere"}).open(0)):
        out = np.zeros(64, np.int32)
        (found.python(64) if where == "oracle" else found.over(64, device=where))(x, out)
        answers.append(out)
    for out in answers:
        np.testing.assert_array_equal(out, wanted)


def test_an_emulated_kernel_is_valid_and_knows_no_sub_group() -> None:
    kernel = kernel_from(NEIGHBOURS).compiled().kernel
    made = emulated(kernel, (32, 1, 1))
    verify(type(kernel_from(NEIGHBOURS).module)(kernels=(made,)))
    assert has_subgroups(kernel)
    assert not has_subgroups(made)
    assert has_barrier(made)
    assert len(made.shared) == 1


def test_where_only_some_sub_groups_come_a_sub_group_is_one_work_item() -> None:
    made = emulated(kernel_from(BLOCK_SUM).compiled().kernel, (64, 1, 1))
    assert [item.name for item in made.shared] == ["partial"]


@pytest.mark.parametrize(
    ("group", "width"), [((64, 1, 1), 8), ((4, 1, 1), 4), ((6, 1, 1), 2), ((5, 1, 1), 1), ((4, 6, 1), 8)]
)
def test_an_emulated_sub_group_divides_its_group(group: tuple[int, int, int], width: int) -> None:
    assert width_of(group) == width


def test_every_operation_has_a_name_in_the_language() -> None:
    from atoll.kernels import surface

    assert set(surface.TOGETHER.values()) == set(ops.SubGroup)
    assert set(surface.SUBGROUP_IDS.values()) == ops.SUBGROUP_IDS


def test_a_size_that_does_not_divide_the_block_is_refused() -> None:
    with pytest.raises(AtollError) as caught:
        kernel_from(NEIGHBOURS).python(32, subgroup=3)
    assert caught.value.diagnostics[0].message == "`k` has no sub-groups of 3 work-items"


def test_work_items_that_wait_elsewhere_are_named() -> None:
    from atoll.kernels.oracle.exchange import answered
    from atoll.kernels.oracle.item import Exchange, Group, Item

    group = Group(0, (0, 0, 0), (2, 1, 1), (1, 1, 1), 2)
    first, second = (Item(group, (at, 0, 0), {}, None) for at in range(2))
    for item, line in ((first, 3), (second, 5)):
        item.asked, item.waiting = Exchange(ops.SubGroup.ADD, None, 0), ("f.py", line)
    with pytest.raises(AtollError) as caught:
        answered([first, second], [first, second])
    assert caught.value.diagnostics[0].notes == (
        "work-item (0, 0, 0) waits at line 3",
        "work-item (1, 0, 0) waits at line 5",
    )
    with pytest.raises(AtollError) as caught:
        answered([first, second], [first])
    assert caught.value.diagnostics[0].notes[1] == "work-item (1, 0, 0) ended without waiting there"


def test_a_fence_is_taken_everywhere() -> None:
    found = kernel_from(
        "@kernel\ndef k(x: view[i32]):\n    i = atoll.global_id(0)\n    x[i] = i\n    atoll.fence()\n"
        '    atoll.fence(scope="work_group")\n'
    )
    for where in ("oracle", "cpu", CpuDriver({"PATH": "/nowhere"}).open(0)):
        x = np.zeros(5, np.int32)
        (found.python(5) if where == "oracle" else found.over(5, device=where))(x)
        assert x.tolist() == [0, 1, 2, 3, 4]
    assert "fence.acq_rel.gpu" in str(found.show("cuda:sm_90"))
    assert "fence.acq_rel.cta" in str(found.show("cuda:sm_90"))


SCANS = """
@kernel(block=16)
def k(x: view[i32], before: view[i32], upto: view[f32], size: view[i32]):
    i = atoll.global_id(0)
    before[i] = atoll.subgroup_exclusive_add(x[i])
    upto[i] = atoll.subgroup_inclusive_add(f32(x[i]))
    size[i] = atoll.subgroup_size()
"""


@pytest.mark.parametrize("where", ["oracle", "interpreter", "cpu", "vulkan", "opencl"])
def test_a_scan_sums_the_lanes_before(where: str) -> None:
    x = np.arange(1, 33, dtype=np.int32)
    before, upto, size = np.zeros(32, np.int32), np.zeros(32, np.float32), np.zeros(32, np.int32)
    found = kernel_from(SCANS)
    if where == "oracle":
        found.python(32, subgroup=4)(x, before, upto, size)
    elif where == "interpreter":
        found.over(32, device=CpuDriver({"PATH": "/nowhere"}).open(0))(x, before, upto, size)
    else:
        with device(where) as opened:
            found.over(32, device=opened)(x, before, upto, size)
    width = int(size[0])
    sums = x.reshape(-1, width).cumsum(axis=1).reshape(-1)
    assert upto.tolist() == sums.tolist()
    assert before.tolist() == (sums - x).tolist()


def test_the_program_of_every_emitter_finds_every_operation_right() -> None:
    from atoll.testing.evaluate import ViewValue, evaluate
    from atoll.testing.programs import programs

    program = next(item for item in programs() if item.name == "subgroups")
    arguments = program.arguments()
    evaluate(program.module.kernels[0], arguments, program.groups, program.group)
    given, out = arguments["x"], arguments["out"]
    assert isinstance(given, ViewValue)
    assert isinstance(out, ViewValue)
    values = [int(value) - 2 * int(x) for value, x in zip(out.data, given.data, strict=True)]
    assert {value // 1000000 for value in values} == {1023}  # one bit for each of ten questions


@pytest.mark.parametrize(
    ("target", "stage", "word", "block"),
    [
        ("cuda:sm_90", "ptx", "redux.sync", 32),
        ("cuda:sm_90", "cuda-cpp", "__shfl_", 32),
        ("hip:gfx942", "hip-cpp", "ds_bpermute", 64),
        ("sycl", "sycl-cpp", "reduce_over_group", 64),
        ("vulkan", "disassembly", "OpGroupNonUniform", 64),
    ],
)
def test_a_group_that_is_not_full_of_sub_groups_takes_shared_memory(
    target: str, stage: str, word: str, block: int
) -> None:
    for size, native in ((block, True), (48, False)):
        text = SCANS.replace("block=16", f"block={size}")
        found = kernel_from(text.replace("(x[i])\n", "(x[i]) + atoll.subgroup_add(x[i])\n", 1))
        shown = found.show(target, stage=None if stage == "disassembly" else stage)
        assert (word in (shown.decode() if isinstance(shown, bytes) else shown)) is native


@pytest.mark.parametrize("backend", ["vulkan", "opencl", "cpu"])
def test_a_group_of_any_size_sums_its_lanes(backend: str) -> None:
    found = kernel_from(SCANS.replace("block=16", "block=12"))
    x = np.arange(1, 25, dtype=np.int32)
    before, upto, size = np.zeros(24, np.int32), np.zeros(24, np.float32), np.zeros(24, np.int32)
    with device(backend) as opened:
        found.over(24, device=opened)(x, before, upto, size)
    assert size.tolist() == [4] * 24
    assert upto.tolist() == x.reshape(-1, 4).cumsum(axis=1).reshape(-1).tolist()


def test_a_group_may_wait_for_an_earlier_one_behind_a_fence() -> None:
    found = kernel_from(
        "@kernel(block=1)\ndef k(data: view[i32], flag: view[i32], out: view[i32]):\n"
        "    if atoll.group_id(0) == 1:\n        while atoll.atomic_add(flag, 0, 0) == 0:\n            pass\n"
        "        atoll.fence()\n        out[0] = data[0]\n"
        "    else:\n        data[0] = 42\n        atoll.fence()\n        atoll.atomic_exchange(flag, 0, 1)\n"
    )
    for where in (CpuDriver({"PATH": "/nowhere"}).open(0), "cpu"):
        data, flag, out = (np.zeros(1, np.int32) for _ in range(3))
        found.over(2, device=where)(data, flag, out)
        assert out.tolist() == [42]


def test_a_domain_of_broken_groups_is_refused_in_words_that_are_true_of_sub_groups() -> None:
    found = kernel_from("@kernel\ndef k(x: view[f32]):\n    x[0] = atoll.subgroup_add(x[0])\n")
    with pytest.raises(LaunchError) as caught:
        found.over(100, device="cpu")
    assert caught.value.diagnostics[0].message == (
        "the work-items of `k` wait for each other, so its domain has to be whole work-groups"
    )
