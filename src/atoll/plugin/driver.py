"""The driver door: a way to reach devices at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from atoll._util.values import dataclass
from atoll.accel import DeviceFacts
from atoll.plugin.emitter import Emitted, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """One device as its driver states it.

    Attributes:
        driver: The driver's name; with `index` it makes ``vulkan:0``.
        index: From 0, in the driver's order.
        name: The device's own name.
        facts: Hardware and driver for the relations.
        software: True where it runs on the processor; taken only when named.
        limits: Where known: ``push_bytes``, ``buffer_bytes``; of a group ``shared_bytes``, ``group_size`` and
            ``items.0`` to ``items.2``, its work-items together and in each dimension; ``groups.0`` to
            ``groups.2``, the groups of a launch. What is stated is what a launch is held to.
    """

    driver: str
    index: int
    name: str
    facts: DeviceFacts
    software: bool
    limits: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.driver}:{self.index}"


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """A device buffer, by the handle its device gave, and how the kernel uses it."""

    handle: int
    access: str


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """Bytes passed by value; natural alignment of `align` bytes."""

    data: bytes
    align: int


Argument = BufferArgument | ScalarArgument


class Executable(Protocol):
    """Code loaded on a device; unloaded when dropped."""

    @property
    def entry(self) -> str:
        """The entry point's name."""
        ...


class DriverDevice(Protocol):
    """An open device. Calls are synchronous unless they say otherwise; errors are DeviceError."""

    @property
    def info(self) -> DeviceInfo:
        """What it is."""
        ...

    def target(self) -> Target:
        """Return what an emitter should emit for this device."""
        ...

    def load(self, code: Emitted) -> Executable:
        """Load code; compile text where the driver does that."""
        ...

    def allocate(self, nbytes: int) -> int:
        """Return the handle of a new buffer of at least one byte, contents undefined."""
        ...

    def release(self, handle: int) -> None:
        """Free a buffer; harmless when repeated, and on a closed device."""
        ...

    def upload(self, handle: int, data: memoryview, offset: int = 0) -> None:
        """Copy host bytes into a buffer."""
        ...

    def download(self, handle: int, out: memoryview, offset: int = 0) -> None:
        """Copy a buffer into writable host bytes, after all launched work."""
        ...

    def launch(
        self,
        executable: Executable,
        groups: tuple[int, int, int],
        group: tuple[int, int, int],
        arguments: tuple[Argument, ...],
    ) -> None:
        """Queue one launch; later uploads, downloads and launches see its writes."""
        ...

    def wait(self) -> None:
        """Block until all launched work is done; raise what it raised."""
        ...

    def close(self) -> None:
        """Free everything; idempotent."""
        ...


class Recorded(Protocol):
    """Launches that a device recorded; they go with it."""

    def submit(self) -> None:
        """Queue all of them once more."""
        ...

    def close(self) -> None:
        """Let go of them; harmless when repeated, while they run too."""
        ...


class RecordingDevice(Protocol):
    """What a :class:`DriverDevice` may have beside: many launches as one submission."""

    def hold(self) -> None:
        """Keep launches for one submission until :meth:`let_go`, or until the host needs what they write."""
        ...

    def let_go(self) -> None:
        """Submit what was held; each :meth:`hold` has one."""
        ...

    def capture(self) -> None:
        """Keep launches until :meth:`captured`; none of them runs."""
        ...

    def captured(self) -> Recorded:
        """Return the launches since :meth:`capture`."""
        ...


class CopyingDevice(Protocol):
    """What a :class:`DriverDevice` may have beside: copies that the host does not touch."""

    def copy(
        self, other: DriverDevice, source: int, start: int, target: int, offset: int, nbytes: int
    ) -> bool:
        """Copy from a buffer of `other`, which may be this device, in the order of launches on both.

        Args:
            other: Whose buffer is read.
            source: Its handle there.
            start: The first byte read.
            target: The handle of the buffer here.
            offset: The first byte written.
            nbytes: How many.

        Returns:
            False where only the host can copy from that device; nothing was done then.
        """
        ...


Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class DeviceArray:
    """Another library's array that lies in a device's own memory.

    Attributes:
        address: Of the element with the indices 0.
        sizes: Elements in each dimension.
        strides: In elements.
        element: The name of a KIR scalar, or nothing where none is like it.
        writable: Whether it may be written.
        queue: The queue that what makes the array is ordered on, as :meth:`AddressedDevice.bind` takes it.
        owner: Keeps the memory alive.
        where: Its device's number in the driver's order; None where it does not say.
    """

    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    element: str
    writable: bool
    queue: int
    owner: Any
    where: int | None = None


class Bound(Protocol):
    """Loaded code with its work-group size, ready to be launched again and again.

    A device whose memory has no addresses may have `bind` as :class:`AddressedDevice` has it; then the
    addresses are handles of its buffers. Whoever launches keeps them alive.
    """

    def __call__(self, groups: Size, addresses: Sequence[int], block: bytes, queue: int) -> None:
        """Queue one launch.

        Args:
            groups: Work-groups in each dimension.
            addresses: Of each buffer, in order; the same tuple where nothing changed is the quickest.
            block: The parameter block.
            queue: 0 for the device's own queue, else one that an array named.
        """
        ...


class AddressedDevice(Protocol):
    """What a :class:`DriverDevice` may have beside: a kernel's buffers are addresses, nothing is copied."""

    @property
    def memory(self) -> str:
        """``host`` where kernels read this process's memory; ``own`` where the device has its own."""
        ...

    def bind(self, executable: Executable, group: Size) -> Bound:
        """Return code ready to be launched on addresses of that memory."""
        ...

    def address(self, handle: int) -> int:
        """Return where a buffer lies."""
        ...

    def array(self, value: object) -> DeviceArray | None:
        """Return an array that lies in the device's own memory, or None where `value` is none."""
        ...

    def glance(self, value: object) -> tuple[int, int, object] | None:
        """Return an array's address, its queue, and a key; or None where only :meth:`array` can say.

        Two arrays with equal keys have everything else of :class:`DeviceArray` in common. This is asked in
        every launch, :meth:`array` only of a key that is new.
        """
        ...

    def settle(self, queue: int) -> None:
        """Block until all work of a queue is done; raise what it raised."""
        ...

    # A device that hands released memory out again before its work is done has `expose(handle)` too: other
    # libraries may use that buffer on queues of their own, so releasing it waits for everything.


@dataclass(frozen=True, slots=True, kw_only=True)
class LauncherSource:
    """The C launcher of a driver: one translation unit against ``atoll_launch.h``.

    Attributes:
        text: C11 text that defines ``const atoll_driver atoll_driver_NAME``.
        libraries: Link arguments (``-ldl``); never a vendor's library, those are opened at run time.
    """

    text: str
    libraries: tuple[str, ...] = ()


class Driver(Protocol):
    """A plugin that reaches devices."""

    @property
    def name(self) -> str:
        """The name in ``vulkan:0``, equal to the accel backend its devices run."""
        ...

    @property
    def rank(self) -> int:
        """Order of the default device: the lowest rank with a device that is not software wins."""
        ...

    def devices(self) -> tuple[DeviceInfo, ...]:
        """Return the devices present; empty where there are none. Never raises for absence."""
        ...

    def unavailable(self) -> tuple[str, str] | None:
        """Return (reason, fix) where it reaches no device, else None."""
        ...

    def open(self, index: int) -> DriverDevice:
        """Open a device."""
        ...

    def launcher(self) -> LauncherSource | None:
        """Return its C launcher, or None where it has none."""
        ...


class BudgetingDriver(Protocol):
    """What a :class:`Driver` may have beside: it holds the memory budget of a device itself."""

    def open_within(self, index: int, budget: int) -> DriverDevice:
        """Open a device whose buffers take no more than `budget` bytes together, blocks counted.

        What would take more raises OutOfMemoryError, once what nobody uses was freed.
        """
        ...


class ReportingDriver(Protocol):
    """What a :class:`Driver` may have beside: what a device's memory has at this moment."""

    def memory(self, index: int) -> Mapping[str, int]:
        """Return `total`, `budget` (what this process may take) and `used` (by this process), in bytes.

        Nothing where the device does not say so; `atoll device info` prints it.
        """
        ...
