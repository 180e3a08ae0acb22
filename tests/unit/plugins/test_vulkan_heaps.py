"""Which memory buffers lie in, on recorded devices; and what is asked of a driver that has no device."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from atoll.errors import DeviceError, OutOfMemoryError
from atoll.runtime.tables import Fault, counting, faulty, tracing
from atoll_plugins.vulkan.device import Options, VulkanDevice
from atoll_plugins.vulkan.driver import VulkanDriver
from atoll_plugins.vulkan.heaps import CACHED, COHERENT, LOCAL, VISIBLE, MemoryKind, Plan, plan
from atoll_plugins.vulkan.null import NullDevice, NullVulkan

GIB = 1 << 30
HOST = VISIBLE | COHERENT

# Memory types (flags, heap) and heaps as vulkaninfo prints them for such devices.
LAVAPIPE = NullDevice("lavapipe", 4, ((LOCAL | HOST | CACHED, 0),), (2 * GIB,))
H200 = NullDevice(
    "H200",
    2,
    ((0, 1), (LOCAL, 0), (HOST, 1), (HOST | CACHED, 1), (LOCAL | HOST, 0)),
    (140 * GIB, 94 * GIB),
    4 * GIB - 1,
    256,
)
SMALL_BAR = NullDevice(
    "small BAR",
    2,
    ((LOCAL, 0), (HOST, 1), (LOCAL | HOST, 2), (HOST | CACHED, 1)),
    (8 * GIB, 16 * GIB, GIB // 4),
)
INTEGRATED = NullDevice(
    "integrated", 1, ((LOCAL, 0), (LOCAL | HOST, 0), (LOCAL | HOST | CACHED, 0)), (16 * GIB,)
)
PHONE = NullDevice("phone", 1, ((LOCAL, 0), (LOCAL | VISIBLE | CACHED, 0), (LOCAL | HOST, 0)), (6 * GIB,))
CARVED = NullDevice("carved out", 1, ((LOCAL, 0), (HOST, 1), (HOST | CACHED, 1)), (GIB // 2, 14 * GIB))

GOLDEN = {
    "lavapipe": Plan(False, (0,), (0,), (0,)),
    "H200": Plan(True, (1, 4), (2, 3, 4), (3, 2, 4)),
    "small BAR": Plan(True, (0, 2), (1, 3, 2), (3, 1, 2)),
    "integrated": Plan(False, (2, 1), (1, 2), (2, 1)),
    "phone": Plan(False, (2,), (2,), (2,)),
    "carved out": Plan(True, (0,), (1, 2), (2, 1)),
}
DEVICES = (LAVAPIPE, H200, SMALL_BAR, INTEGRATED, PHONE, CARVED)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_buffers_lie_where_the_device_is_fast(device: NullDevice) -> None:
    kinds = [MemoryKind(at, flags, device.heaps[heap]) for at, (flags, heap) in enumerate(device.types)]
    assert plan(kinds, discrete=device.kind == 2) == GOLDEN[device.name]


def opened(
    *devices: NullDevice, index: int = 0, options: Options | None = None
) -> tuple[NullVulkan, VulkanDevice]:
    state = NullVulkan(devices)
    device = VulkanDriver(options=options or Options(), table=state.table()).open(index)
    assert isinstance(device, VulkanDevice)
    return state, device


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_bytes_go_where_they_should_on_every_device(device: NullDevice) -> None:
    state, found = opened(device, options=Options(staging_bytes=1 << 16))
    handle = found.allocate(1 << 18)
    found.upload(handle, memoryview(bytes(1 << 18)))
    types = {heap for _, _, heap in state.memory.values()}
    staged = GOLDEN[device.name].staged
    assert types == ({0, 1} if staged and len(device.heaps) > 1 else {0})
    found.download(handle, memoryview(bytearray(1 << 18)))
    found.close()
    assert state.memory == {}


def test_any_number_of_devices_are_apart() -> None:
    state = NullVulkan((H200, replace(H200, name="second"), LAVAPIPE))
    driver = VulkanDriver(table=state.table())
    assert [(info.index, info.name) for info in driver.devices()] == [
        (0, "H200"),
        (1, "second"),
        (2, "lavapipe"),
    ]
    found = [driver.open(index) for index in range(3)]
    handles = [device.allocate(1000) for device in found]
    found[1].close()
    with pytest.raises(DeviceError):
        found[1].upload(handles[1], memoryview(b"abcd"))
    for at in (0, 2):
        found[at].upload(handles[at], memoryview(b"abcd"))
        found[at].close()
    assert state.memory == {}


def test_a_full_heap_is_out_of_memory_and_a_freed_one_is_not() -> None:
    small = NullDevice("small", 4, heaps=(200 << 20,))
    state, device = opened(small)
    held = [device.allocate(60 << 20) for _ in range(3)]
    with pytest.raises(OutOfMemoryError, match="has no room for 62914560 bytes"):
        device.allocate(60 << 20)
    device.release(held.pop())
    device.allocate(60 << 20)
    device.close()
    assert state.memory == {}


def test_a_device_lost_is_lost_for_good_and_another_is_not() -> None:
    fault = Fault("vkWaitSemaphores", 1, -4)
    state = NullVulkan((H200, LAVAPIPE))
    driver = VulkanDriver(table=faulty(state.table(), fault))
    lost, other = driver.open(0), driver.open(1)
    handle = lost.allocate(64)
    with pytest.raises(DeviceError, match="was lost"):
        lost.download(handle, memoryview(bytearray(64)))
    for _ in range(3):
        with pytest.raises(DeviceError, match="can no longer be used"):
            lost.wait()
    other.wait()
    again = driver.open(0)
    again.download(again.allocate(64), memoryview(bytearray(64)))
    for device in (lost, other, again):
        device.close()
    assert state.memory == {}


def test_tables_stack_and_each_sees_its_calls() -> None:
    inner, counts = counting(NullVulkan((LAVAPIPE,)).table())
    failing = faulty(inner, Fault("vkMapMemory", 1, -1, stays=True))
    outer, log = tracing(failing)
    device = VulkanDriver(table=outer).open(0)
    with pytest.raises(OutOfMemoryError):
        device.allocate(64)
    device.close()
    tried = [call.result for call in log if call.function == "vkMapMemory"]
    assert tried == [-1]
    assert counts["vkMapMemory"] == 0
    assert counts["vkAllocateMemory"] == counts["vkFreeMemory"] == 1


def test_finalisers_take_no_lock() -> None:
    """One that runs inside the device's lock would wait for itself, were it to take it in another thread."""
    _, device = opened(LAVAPIPE)
    handle = device.allocate(64)
    with device._lock:
        thread = threading.Thread(target=device.release, args=(handle,))
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
    with pytest.raises(DeviceError):
        device.upload(handle, memoryview(b"abcd"))
    device.close()


def test_the_room_is_that_of_the_largest_heap_of_the_device_itself() -> None:
    """No device here states `VK_EXT_memory_budget`: one that does is made up."""
    told = NullDevice(
        types=((HOST, 0), (LOCAL, 1), (LOCAL, 2)),
        heaps=(1 << 40, 1 << 28, 1 << 35),
        budget=((9, 9), (1, 2), (1 << 34, 1 << 20)),
    )
    driver = VulkanDriver(table=NullVulkan((told, NullDevice())).table())
    assert driver.memory(0) == {"total": 1 << 35, "budget": 1 << 34, "used": 1 << 20}
    assert driver.memory(1) == {}
    assert VulkanDriver(library="libnone.so.1").memory(0) == {}
