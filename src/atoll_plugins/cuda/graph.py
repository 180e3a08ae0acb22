"""A captured sequence of launches on a CUDA device: one graph, launched as often as wanted.

Once all launches are known, they are recorded into a stream of their own, which captures them: what else the
process does meanwhile on other streams is not part of the graph. Its nodes follow one another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atoll.plugin.values import dataclass
from atoll.runtime.native import Table
from atoll_plugins.cuda.memory import Buffer

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchRequest:
    """One launch, whatever stream it is queued on.

    Attributes:
        name: What a trace calls it.
        function: What runs.
        groups: Work-groups in each dimension.
        group: Work-items of a group.
        pointers: To its arguments.
        buffers: Those of them that are known by handle.
        keeps: What has to live as long as this.
    """

    name: str
    function: Any
    groups: Size
    group: Size
    pointers: Any
    buffers: tuple[Buffer, ...]
    keeps: object

    def queue(self, cu: Table, stream: Any) -> int:
        """Queue it; return the interface's result."""
        null = cu.ffi.NULL
        result: int = cu.cuLaunchKernel(
            self.function, *self.groups, *self.group, 0, stream, self.pointers, null
        )
        return result


class CudaGraph:
    """An executable graph; the device's context is current in every call.

    Args:
        cu: The interface.
        requests: What it runs, in order.
        check: Raises what a function returned.
    """

    def __init__(
        self, cu: Table, requests: Sequence[LaunchRequest], check: Callable[[str, int], None]
    ) -> None:
        self._cu, self._check = cu, check
        #: What it runs; where a trace is made they are queued one by one.
        self.requests = tuple(requests)
        #: Each buffer once.
        self.buffers: tuple[Buffer, ...] = tuple(
            {id(buffer): buffer for request in requests for buffer in request.buffers}.values()
        )
        self._executable = self._instantiate() if requests else None

    def _instantiate(self) -> Any:
        cu, check = self._cu, self._check
        graph = self._captured()
        executable = cu.ffi.new("CUgraphExec *")
        try:
            check("cuGraphInstantiate", cu.cuGraphInstantiateWithFlags(executable, graph, 0))
        finally:
            cu.cuGraphDestroy(graph)
        return executable[0]

    def _captured(self) -> Any:
        cu, check = self._cu, self._check
        stream, graph = cu.ffi.new("CUstream *"), cu.ffi.new("CUgraph *")
        check("cuStreamCreate", cu.cuStreamCreate(stream, cu.CU_STREAM_NON_BLOCKING))
        try:
            mode = cu.CU_STREAM_CAPTURE_MODE_RELAXED
            check("cuStreamBeginCapture", cu.cuStreamBeginCapture_v2(stream[0], mode))
            results = (request.queue(cu, stream[0]) for request in self.requests)
            failed = next((result for result in results if result), 0)
            ended = cu.cuStreamEndCapture(stream[0], graph)
            if (failed or ended) and graph[0] != cu.ffi.NULL:
                cu.cuGraphDestroy(graph[0])
            check("cuLaunchKernel", failed)
            check("cuStreamEndCapture", ended)
        finally:
            cu.cuStreamDestroy_v2(stream[0])
        return graph[0]

    def submit(self) -> None:
        """Queue all of it once more on the default stream."""
        if self._executable is not None:
            self._check("cuGraphLaunch", self._cu.cuGraphLaunch(self._executable, self._cu.ffi.NULL))

    def destroy(self) -> None:
        """Free it; it is not in flight."""
        executable, self._executable = self._executable, None
        if executable is not None:
            self._cu.cuGraphExecDestroy(executable)
