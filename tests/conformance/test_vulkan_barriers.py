"""Every barrier that is left out or narrowed is seen, by an oracle that shares no code with the tracker.

The oracle reads the calls of a device. The validation layers see less: they pass over a missing barrier
between two dispatches of one descriptor set (Vulkan-ValidationLayers#8277).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from atoll.plugin import Emitted
from atoll.runtime.native import Table
from atoll.runtime.tables import Call, tracing
from atoll_plugins.vulkan.device import Options
from atoll_plugins.vulkan.driver import VulkanDriver
from conformance.driver_kernels import code, needs_device
from conformance.test_vulkan_backend import Bench, Step, batch, graph, opened, program, solo

# Numbers of the Vulkan specification, written down here again.
COMPUTE, TRANSFER, HOST = 0x800, 0x1000, 0x4000
READS = {COMPUTE: 0x20, TRANSFER: 0x800, HOST: 0x2000}
WRITES = {COMPUTE: 0x40, TRANSFER: 0x1000}
#: The bindings that the kernel writes: the test says it, nothing of the engine does.
WRITTEN = {2}

READ: dict[str, Callable[..., Any]] = {
    "vkUpdateDescriptorSets": lambda device, count, writes, *_: tuple(
        (int(writes[at].dstSet), writes[at].dstBinding, int(writes[at].pBufferInfo.buffer))
        for at in range(count)
    ),
    "vkCmdBindDescriptorSets": lambda commands, point, layout, first, count, sets, *_: (int(sets[0]),),
    "vkCmdCopyBuffer": lambda commands, source, target, count, regions: (int(source), int(target)),
    "vkCmdPipelineBarrier": lambda *given: (
        given[1],
        given[2],
        given[5][0].srcAccessMask,
        given[5][0].dstAccessMask,
    ),
}


@dataclass(frozen=True)
class Pending:
    """An access that nothing has been ordered behind, for those who come in one stage."""

    buffer: int
    writes: bool
    stage: int
    to: int


class Oracle:
    """What is pending after some of the calls of one device, all on one queue."""

    def __init__(self, log: Sequence[Call], staged: bool) -> None:
        self.sets: dict[int, dict[int, int]] = {}
        self.bound, self.pending = 0, set[Pending]()
        #: What is wrong, and whether the earlier access was a write.
        self.faults: list[tuple[str, bool]] = []
        bound = {buffer for call in log if call.function == "vkUpdateDescriptorSets"
                 for _, _, buffer in call.arguments}  # fmt: skip
        targets = {call.arguments[1] for call in log if call.function == "vkCmdCopyBuffer"}
        #: What the host reads once commands are done: staging memory, or everything that a kernel writes.
        self.read_by_host = targets - bound if staged else bound
        for call in log:
            self.take(call)

    def take(self, call: Call) -> None:
        """Follow one call."""
        match call.function:
            case "vkUpdateDescriptorSets":
                for chosen, binding, buffer in call.arguments:
                    self.sets.setdefault(chosen, {})[binding] = buffer
            case "vkCmdBindDescriptorSets":
                self.bound = call.arguments[0]
            case "vkCmdPipelineBarrier":
                self.pending = {each for each in self.pending if not orders(call.arguments, each)}
            case "vkCmdCopyBuffer":
                source, target = call.arguments
                self.access(call.function, TRANSFER, {source}, {target})
            case "vkCmdDispatch":
                buffers = self.sets[self.bound].items()
                writes = {buffer for binding, buffer in buffers if binding in WRITTEN}
                self.access(call.function, COMPUTE, {buffer for _, buffer in buffers} - writes, writes)
            case "vkEndCommandBuffer":
                self.access("the host", HOST, self.read_by_host, set())
            case _:
                return

    def access(self, who: str, stage: int, reads: set[int], writes: set[int]) -> None:
        """Compare an access with what is pending, and note it."""
        for each in self.pending:
            if each.to == stage and each.buffer in reads | writes and (each.writes or each.buffer in writes):
                self.faults.append((f"{who} on buffer {each.buffer}", each.writes))
        if stage != HOST:
            self.pending |= {
                Pending(buffer, buffer in writes, stage, to)
                for buffer in reads | writes
                for to in (COMPUTE, TRANSFER, HOST)
            }


def orders(barrier: tuple[int, int, int, int], each: Pending) -> bool:
    """Tell whether a barrier keeps those who come in a stage behind an access."""
    source, target, available, visible = barrier
    if not (source & each.stage and target & each.to):
        return False
    sees = READS[each.to] | WRITES.get(each.to, 0)
    return not each.writes or bool(available & WRITES[each.stage] and visible & sees == sees)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Emitted:
    needs_device(VulkanDriver())
    return code("vulkan", tmp_path_factory.mktemp("vulkan"))


def logged(
    steps: Sequence[Step], emitted: Emitted, way: Callable[[Bench, Sequence[Step]], None], staged: bool = True
) -> list[Call]:
    """Return the calls of a program and of reading what it wrote."""
    logs: list[list[Call]] = []

    def around(table: Table) -> Table:
        wrapped, log = tracing(table, READ)
        logs.append(log)
        return wrapped

    device = opened(Options(staged=staged), around)
    bench = Bench(device, emitted)
    way(bench, steps)
    bench.read()
    device.close()
    return logs[0]


def barriers(log: Sequence[Call]) -> list[int]:
    return [at for at, call in enumerate(log) if call.function == "vkCmdPipelineBarrier"]


def narrowed(log: Sequence[Call], at: int) -> dict[str, list[Call]]:
    """Return logs in which one barrier orders less."""
    source, target, available, visible = log[at].arguments
    less = {
        "waits for nothing": (0, target, available, visible),
        "nobody waits": (source, 0, available, visible),
        "no write is available": (source, target, 0, visible),
        "no write is visible": (source, target, available, 0),
    }
    return {
        how: [*log[:at], replace(log[at], arguments=values), *log[at + 1 :]] for how, values in less.items()
    }


WAYS = [(solo, True), (batch, True), (batch, False), (graph, True), (graph, False)]


@pytest.mark.parametrize(("way", "staged"), WAYS, ids=lambda item: getattr(item, "__name__", str(item)))
def test_every_barrier_that_is_left_out_or_narrowed_is_seen(
    way: Callable[[Bench, Sequence[Step]], None],
    staged: bool,
    emitted: Emitted,
    whole: bool,
    tell: Callable[[str], None],
) -> None:
    seeds, seen = range(60 if whole else 4), Counter[str]()
    for seed in seeds:
        log = logged(program(seed), emitted, way, staged)
        assert Oracle(log, staged).faults == [], f"seed {seed}"
        for at in barriers(log)[way is graph and not staged :]:
            # A graph starts behind a barrier, since what is before it is not known; where the host reaches
            # memory directly, nothing that it would have to wait for is left.
            missed = Oracle([*log[:at], *log[at + 1 :]], staged).faults
            assert missed, f"seed {seed}: the barrier at call {at} of {len(log)} is not missed"
            seen["left out"] += 1
            after_write = any(wrote for _, wrote in missed)
            for how, less in narrowed(log, at).items():
                if after_write or "write" not in how:
                    assert Oracle(less, staged).faults, f"seed {seed}: at call {at} {how}, and nobody sees"
                    seen[how] += 1
    told = ", ".join(f"{count} {how}" for how, count in seen.items())
    tell(f"{len(seeds)} programs, each barrier: {told}; every one seen")
    assert seen["left out"] >= 2 * len(seeds)
    assert seen["no write is visible"] >= len(seeds)


def test_the_tracker_puts_no_more_barriers_than_needed(emitted: Emitted) -> None:
    """Reads of one buffer and writes of others need none: 3 independent launches, one that depends."""
    log = logged([(0, 1, 2), (0, 1, 3), (0, 1, 4), (2, 3, 0)], emitted, batch)
    dispatches = [at for at, call in enumerate(log) if call.function == "vkCmdDispatch"]
    assert len([at for at in barriers(log) if dispatches[0] < at < dispatches[-1]]) == 1


def test_the_oracle_sees_what_is_wrong() -> None:
    def call(function: str, *arguments: Any) -> Call:
        return Call(function, arguments, 0)

    def wrong(*calls: Call, staged: bool = True) -> int:
        return len(Oracle([bind, *calls], staged).faults)

    bind = call("vkUpdateDescriptorSets", (1, 0, 10), (1, 1, 11), (1, 2, 12))
    use = [call("vkCmdBindDescriptorSets", 1), call("vkCmdDispatch")]
    both = COMPUTE | TRANSFER
    full = call("vkCmdPipelineBarrier", both, both, 0x1040, 0x1860)
    assert wrong(*use) == 0
    assert wrong(*use, *use) == 1
    assert wrong(*use, full, *use) == 0
    # A barrier that makes no write visible orders nothing that was written.
    assert wrong(*use, call("vkCmdPipelineBarrier", both, both, 0, 0x1860), *use) == 1
    # Reads need no more than to be waited for.
    onto = call("vkCmdCopyBuffer", 12, 10)
    assert wrong(*use, onto) == 2
    assert wrong(*use, full, onto) == 0
    assert wrong(*use, call("vkCmdPipelineBarrier", TRANSFER, both, 0x1040, 0x1860), onto) == 2
    # The host reads what is staged, or everything where nothing is.
    end, away = call("vkEndCommandBuffer"), call("vkCmdCopyBuffer", 12, 20)
    assert wrong(*use, full, away, end) == 1
    host = call("vkCmdPipelineBarrier", both, both | HOST, 0x1040, 0x3860)
    assert wrong(*use, full, away, host, end) == 0
    assert wrong(*use, end, staged=False) == 1
    assert wrong(*use, host, end, staged=False) == 0
