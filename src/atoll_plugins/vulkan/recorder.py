"""Writes commands: a dispatch, a copy, and the barriers that both need.

A launch by itself, a batch and a captured graph are recorded here and nowhere else. What a dispatch reads
and writes is what the layout of its kernel says (KIR's accesses), never what a caller claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from atoll.plugin.values import dataclass
from atoll.runtime.hazards import Hazards, Use
from atoll_plugins.vulkan.descriptors import Descriptors
from atoll_plugins.vulkan.make import Maker, Pipeline
from atoll_plugins.vulkan.memory import Buffer

_COMPUTE, _TRANSFER = "compute", "transfer"
_COMPUTES = {_COMPUTE}

Size = tuple[int, int, int]


class Operands:
    """The buffers of a dispatch, and what follows from them alone; kept where they are bound again.

    Attributes:
        buffers: Bound from 0 on.
        uses: What the dispatch reads and writes; what writes a part reads the rest.
        numbers: The interface's handles.
    """

    __slots__ = ("buffers", "numbers", "uses")

    def __init__(self, buffers: tuple[Buffer, ...], access: Sequence[str]) -> None:
        self.buffers = buffers
        self.numbers = tuple([item.buffer for item in buffers])
        self.uses = [
            Use(buffer.buffer, True, how != "read", _COMPUTE)
            for buffer, how in zip(buffers, access, strict=True)
        ]


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen: one is made for each launch
class DispatchRequest:
    """One dispatch, whatever it is recorded into; nothing changes one.

    Attributes:
        name: What a trace calls it.
        pipeline: What runs.
        operands: What is bound.
        groups: Work-groups in each dimension.
        push: Its push constants.
        spilled: The buffer of a parameter block that is too large for them.
        keeps: What has to live as long as this.
    """

    name: str
    pipeline: Pipeline
    operands: Operands
    groups: Size
    push: bytes
    spilled: Buffer | None = None
    keeps: object = None


class Recorder:
    """Records into command buffers of one device.

    What a dispatch finds as it needs it, the pipeline, the set, the push constants, is not recorded again.

    Attributes:
        hazards: What was touched since the last barrier, over all frames: they run on one queue.
    """

    def __init__(self, maker: Maker, *, full: bool = False) -> None:
        self._maker = maker
        self.hazards = Hazards(full)
        #: Whether barriers were recorded that never ran: the next command is kept behind everything.
        self._distrusts = False
        #: What the commands that are recorded have bound.
        self._pipeline: Pipeline | None = None
        self._bound, self._pushed = 0, b""
        vk = maker.vk
        self._sets = vk.ffi.new("VkDescriptorSet[1]")
        self._barrier = vk.ffi.new("VkMemoryBarrier *")
        self._barrier.sType = vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER
        self._stages = {
            _COMPUTE: vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
            _TRANSFER: vk.VK_PIPELINE_STAGE_TRANSFER_BIT,
        }
        self._writes = {_COMPUTE: vk.VK_ACCESS_SHADER_WRITE_BIT, _TRANSFER: vk.VK_ACCESS_TRANSFER_WRITE_BIT}
        self._all_access = (
            vk.VK_ACCESS_SHADER_READ_BIT
            | vk.VK_ACCESS_SHADER_WRITE_BIT
            | vk.VK_ACCESS_TRANSFER_READ_BIT
            | vk.VK_ACCESS_TRANSFER_WRITE_BIT
        )
        self._null, self._after = vk.ffi.NULL, sum(self._stages.values())
        self._computed = vk.ffi.new("VkMemoryBarrier *")
        self._computed.sType = vk.VK_STRUCTURE_TYPE_MEMORY_BARRIER
        self._computed.srcAccessMask = self._writes[_COMPUTE]
        self._computed.dstAccessMask = self._all_access

    def bind(self, descriptors: Descriptors, request: DispatchRequest) -> int:
        """Return the set that binds a dispatch's buffers; 0 where it has none."""
        numbers = request.operands.numbers
        return descriptors.bind(request.pipeline, numbers) if numbers else 0

    def fresh(self) -> None:
        """Note that commands are begun, which have nothing bound."""
        self._pipeline = None

    def dispatch(self, commands: Any, bound: int, request: DispatchRequest) -> None:
        """Record a dispatch with its set, behind a barrier where it needs one."""
        vk = self._maker.vk
        self._order(commands, request.operands.uses)
        layout = request.pipeline.layout
        if request.pipeline is not self._pipeline:
            self._pipeline, self._bound, self._pushed = request.pipeline, 0, b""  # another layout's are lost
            vk.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, request.pipeline.pipeline)
        if bound != self._bound and bound:
            self._sets[0] = self._bound = bound
            point = vk.VK_PIPELINE_BIND_POINT_COMPUTE
            vk.vkCmdBindDescriptorSets(commands, point, layout, 0, 1, self._sets, 0, vk.ffi.NULL)
        if request.push != self._pushed:
            self._pushed = request.push
            stage, data = vk.VK_SHADER_STAGE_COMPUTE_BIT, vk.ffi.from_buffer(request.push)
            vk.vkCmdPushConstants(commands, layout, stage, 0, len(request.push), data)
        vk.vkCmdDispatch(commands, *request.groups)

    def copy(
        self, commands: Any, source: Buffer, target: Buffer, starts: tuple[int, int], nbytes: int
    ) -> None:
        """Record a copy between buffers, from and to the offsets `starts`."""
        low, high = starts
        uses = (
            Use(source.buffer, True, False, _TRANSFER, low, low + nbytes),
            Use(target.buffer, False, True, _TRANSFER, high, high + nbytes),
        )
        self._order(commands, uses)
        vk = self._maker.vk
        region = vk.ffi.new("VkBufferCopy[]", [(low, high, nbytes)])
        vk.vkCmdCopyBuffer(commands, source.buffer, target.buffer, 1, region)

    def _order(self, commands: Any, uses: Sequence[Use]) -> None:
        hazards = self.hazards
        if uses is hazards.only and not self._distrusts and hazards.writing == _COMPUTES:
            self._between(commands)  # the same dispatch once more: nothing else changes
            return
        if self._distrusts or hazards.needed(uses):
            self.barrier(commands, everything=self._distrusts)
        hazards.note(uses)

    def _between(self, commands: Any) -> None:
        """Record a barrier between dispatches of which the first wrote."""
        vk, null, stage = self._maker.vk, self._null, self._stages[_COMPUTE]
        vk.vkCmdPipelineBarrier(commands, stage, self._after, 0, 1, self._computed, 0, null, 0, null)

    def distrust(self) -> None:
        """Note that what was recorded last will not run."""
        self._distrusts = True

    def barrier(self, commands: Any, *, everything: bool = False, host: bool = False) -> None:
        """Record a barrier between all that was noted and all that follows.

        Args:
            commands: Where.
            everything: Also behind what was not noted, of every kind.
            host: Also before what the host reads.
        """
        vk, hazards = self._maker.vk, self.hazards
        if not everything and not host and hazards.writing == _COMPUTES == hazards.reading:
            self._between(commands)
            hazards.passed()
            return
        stages = self._stages.keys() if everything else hazards.reading | hazards.writing
        writing = self._stages.keys() if everything else hazards.writing
        before = sum(self._stages[stage] for stage in stages)
        barrier = self._barrier
        barrier.srcAccessMask = sum(self._writes[stage] for stage in writing)
        barrier.dstAccessMask = self._all_access | (vk.VK_ACCESS_HOST_READ_BIT if host else 0)
        after = self._after | (vk.VK_PIPELINE_STAGE_HOST_BIT if host else 0)
        null = vk.ffi.NULL
        vk.vkCmdPipelineBarrier(commands, before, after, 0, 1, barrier, 0, null, 0, null)
        hazards.passed()
        self._distrusts = False

    def finish(self, commands: Any) -> None:
        """Let the host see what was written so far, where anything was."""
        if self.hazards.writing:
            self.barrier(commands, host=True)
