"""Writes commands: a dispatch, a copy, and the barriers that both need.

A launch by itself, a batch and a captured graph are recorded here and nowhere else. What a dispatch reads
and writes is what the layout of its kernel says (KIR's accesses), never what a caller claims.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from atoll.runtime.hazards import Hazards, Use
from atoll_plugins.vulkan.descriptors import Descriptors
from atoll_plugins.vulkan.make import Maker, Pipeline
from atoll_plugins.vulkan.memory import Buffer

_COMPUTE, _TRANSFER = "compute", "transfer"

Size = tuple[int, int, int]


@dataclass(slots=True, kw_only=True, eq=False)  # not frozen: one is made for each launch
class DispatchRequest:
    """One dispatch, whatever it is recorded into; nothing changes one.

    Attributes:
        name: What a trace calls it.
        pipeline: What runs.
        buffers: Bound from 0 on.
        access: For each ``read``, ``write`` or ``both``.
        groups: Work-groups in each dimension.
        push: Its push constants.
        spilled: The buffer of a parameter block that is too large for them.
        keeps: What has to live as long as this.
    """

    name: str
    pipeline: Pipeline
    buffers: tuple[Buffer, ...]
    access: tuple[str, ...]
    groups: Size
    push: bytes
    spilled: Buffer | None = None
    keeps: object = None

    def uses(self) -> list[Use]:
        """Return what it reads and writes; what writes a part reads the rest."""
        pairs = zip(self.buffers, self.access, strict=True)
        return [Use(buffer.buffer, True, access != "read", _COMPUTE) for buffer, access in pairs]


class Recorder:
    """Records into command buffers of one device.

    Attributes:
        hazards: What was touched since the last barrier, over all frames: they run on one queue.
    """

    def __init__(self, maker: Maker, *, full: bool = False) -> None:
        self._maker = maker
        self.hazards = Hazards(full)
        #: Whether barriers were recorded that never ran: the next command is kept behind everything.
        self._distrusts = False
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

    def bind(self, descriptors: Descriptors, request: DispatchRequest) -> int:
        """Return the set that binds a dispatch's buffers; 0 where it has none."""
        if not request.buffers:
            return 0
        return descriptors.bind(request.pipeline, [item.buffer for item in request.buffers])

    def dispatch(self, commands: Any, bound: int, request: DispatchRequest) -> None:
        """Record a dispatch with its set, behind a barrier where it needs one."""
        vk = self._maker.vk
        self._order(commands, request.uses())
        point, layout = vk.VK_PIPELINE_BIND_POINT_COMPUTE, request.pipeline.layout
        vk.vkCmdBindPipeline(commands, point, request.pipeline.pipeline)
        if bound:
            self._sets[0] = bound
            vk.vkCmdBindDescriptorSets(commands, point, layout, 0, 1, self._sets, 0, vk.ffi.NULL)
        if request.push:
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
        if self._distrusts or self.hazards.needed(uses):
            self.barrier(commands, everything=self._distrusts)
        self.hazards.note(uses)

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
        stages = self._stages.keys() if everything else hazards.reading | hazards.writing
        writing = self._stages.keys() if everything else hazards.writing
        before = sum(self._stages[stage] for stage in stages)
        barrier = self._barrier
        barrier.srcAccessMask = sum(self._writes[stage] for stage in writing)
        barrier.dstAccessMask = self._all_access | (vk.VK_ACCESS_HOST_READ_BIT if host else 0)
        after = sum(self._stages.values()) | (vk.VK_PIPELINE_STAGE_HOST_BIT if host else 0)
        null = vk.ffi.NULL
        vk.vkCmdPipelineBarrier(commands, before, after, 0, 1, barrier, 0, null, 0, null)
        hazards.passed()
        self._distrusts = False

    def finish(self, commands: Any) -> None:
        """Let the host see what was written so far, where anything was."""
        if self.hazards.writing:
            self.barrier(commands, host=True)
