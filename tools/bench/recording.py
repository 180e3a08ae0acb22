"""What do recording, replaying and pooled memory cost? L1, L3, L5 and L8 of the notes on the runtime.

Every side is the processor time of the thread that calls: lavapipe's own threads run on the same cores, and
how often they push the caller aside is no cost of a call. Contenders run in processes of their own, since two
Vulkan loaders' worth of threads disturb each other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import atoll
from atoll import f32, kernel, view

COUNT = 1000

#: wgpu in a process: a device, then a pipeline and what one dispatch of it reads and writes.
WGPU_DEVICE = """
import time
start = time.perf_counter()
import wgpu
device = wgpu.gpu.request_adapter_sync().request_device_sync()
opened = time.perf_counter() - start
"""
WGPU_PIPELINE = """
code = '''
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) i: vec3<u32>) { y[i.x] = 2.0 * x[i.x] + y[i.x]; }
'''
use = wgpu.BufferUsage.STORAGE
x, y = (device.create_buffer(size=4096, usage=use) for _ in range(2))
shader = {"module": device.create_shader_module(code=code), "entry_point": "main"}
pipe = device.create_compute_pipeline(layout="auto", compute=shader)
entries = [{"binding": k, "resource": {"buffer": b, "offset": 0, "size": 4096}} for k, b in enumerate((x, y))]
group = device.create_bind_group(layout=pipe.get_bind_group_layout(0), entries=entries)
def dispatch(enc):
    work = enc.begin_compute_pass()
    work.set_pipeline(pipe)
    work.set_bind_group(0, group)
    work.dispatch_workgroups(16)
    work.end()
"""
_WGPU_BATCH = """
times = []
for _ in range(9):
    enc = device.create_command_encoder()
    start = time.thread_time()
    for _ in range(1000):
        dispatch(enc)
    times.append((time.thread_time() - start) / 1000)
    device.queue.submit([enc.finish()])
    device._poll_wait()
print(sorted(times)[4])
"""

WGPU = WGPU_DEVICE + WGPU_PIPELINE + _WGPU_BATCH

TAICHI = """
import time
import numpy as np
import taichi as ti
ti.init(arch=ti.vulkan, log_level=ti.ERROR)
x, y = ti.ndarray(ti.f32, 1024), ti.ndarray(ti.f32, 1024)
@ti.kernel
def saxpy(x: ti.types.ndarray(), y: ti.types.ndarray()):
    for i in range(1024):
        y[i] = 2.0 * x[i] + y[i]
times = []
for _ in range(9):
    start = time.thread_time()
    for _ in range(100):
        saxpy(x, y)
    times.append((time.thread_time() - start) / 100)
    ti.sync()
print(sorted(times)[4])
"""


@kernel
def saxpy(x: view[f32], y: view[f32]) -> None:
    """What every launch here does."""
    i = atoll.global_id(0)
    y[i] = 2.0 * x[i] + y[i]


def in_a_process(code: str, site: str) -> float | str:
    """Return the milliseconds that a contender prints as seconds, or the last line of what it said."""
    env = {**os.environ, "PYTHONPATH": site}
    with TemporaryDirectory() as folder:
        script = Path(folder, "contender.py")  # a file, since Taichi reads its kernels' source
        script.write_text(code, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, env=env, timeout=180, check=False
        )
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it ended without a word"])[-1][:100]
    return float(done.stdout.split()[-1]) * 1e3


def _timed(work: Callable[[], object], wait: Callable[[], object], rounds: int = 9) -> float:
    """Return the median milliseconds of this thread for some work; what it queued is waited for outside."""
    times = []
    for _ in range(rounds):
        start = time.thread_time()
        work()
        times.append((time.thread_time() - start) * 1e3)
        wait()
    return median(times)


def _arrays() -> tuple[Any, Any]:
    import numpy as np

    x, y = (atoll.array(np.ones(1024, np.float32), device="vulkan") for _ in range(2))
    return x, y


def batch_ms() -> float:
    """Return what one launch costs the host in a batch of a thousand, each after the one before it."""
    x, y = _arrays()
    launch = saxpy.over(1024)
    launch(x, y)

    def work() -> None:
        with x.device.batch():
            for _ in range(COUNT):
                launch(x, y)

    return _timed(work, y.wait) / COUNT


def replay_ms(nodes: int) -> float:
    """Return what replaying a graph of so many launches costs the host."""
    x, y = _arrays()
    launch = saxpy.over(1024)
    launch(x, y)
    with atoll.capture("vulkan") as graph:
        for _ in range(nodes):
            launch(x, y)
    graph.replay()
    y.wait()
    found = _timed(graph.replay, y.wait, 21)
    graph.close()
    return found


def pool_ms() -> tuple[float, int]:
    """Return what a buffer of 1 MiB costs, made and released, and the calls for memory that it came to."""
    from atoll.runtime.tables import counting
    from atoll_plugins.vulkan.driver import VulkanDriver

    table, counts = counting(VulkanDriver().table())
    device = VulkanDriver(table=table).open(0)

    def work() -> None:
        for _ in range(COUNT):
            device.release(device.allocate(1 << 20))

    work()
    before = counts["vkAllocateMemory"]
    found = _timed(work, device.wait) / COUNT
    asked = counts["vkAllocateMemory"] - before
    device.close()
    return found, asked
