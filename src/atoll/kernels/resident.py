"""How does a launch reach arrays that lie on a device? By handle or address; nothing is copied or waited for.

An array of another device, or one in the host's memory beside arrays of a device, is refused always.
"""

from __future__ import annotations

import struct
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import add, itemgetter, or_
from typing import TYPE_CHECKING, Any, cast

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import Kernel, View, accesses
from atoll.kernels.arguments import ArrayArgument, Checked, _fault, _refuse, scalar_value
from atoll.kernels.contract import hold
from atoll.kernels.launch import Done, Launch, Loaded, _fields, open_device, placed
from atoll.kernels.prepared import _LETTERS, _format, _kind
from atoll.kernels.shapes import Shape
from atoll.kernels.structs import spread
from atoll.kernels.variants import NOTHING, ROW, START, Promises, promises, takes_promises
from atoll.runtime.array import Array
from atoll.runtime.pack import pack_block
from atoll.runtime.regions import bounds

if TYPE_CHECKING:
    from atoll.ir import Parameter
    from atoll.kernels.front import Compiled
    from atoll.plugin import AddressedDevice, Bound

#: How many launches are kept ready with their arrays.
_MOST_KEPT = 64
#: What stands for the address of a buffer that has none, so that two buffers never overlap.
_APART = 1 << 46


def launch_resident(launch: Launch, arguments: Sequence[Any]) -> Done:
    """Queue a launch whose arrays lie on a device: the one that is named, else theirs.

    Raises:
        LaunchError: Where an argument does not fit, naming it; with every array that lies elsewhere.
    """
    kernel = launch.kernel
    compiled = kernel.compiled()
    values = spread(compiled.params, tuple(arguments))
    first = next(item for item in values if isinstance(item, Array))
    device = first.device if launch.device is None else open_device(launch.device)
    checked = _checked(compiled.kernel, values, device)
    hold(kernel.requires, compiled.kernel.name, checked)
    if 0 in launch.shape.domain:
        return Done(device.info.name)
    code, shape, known = placed(launch, device, checked)
    queue(device, code, shape, checked)
    graph = getattr(device, "graph", None)
    for item in checked.arrays:
        if graph is not None:
            graph.note(item.array.buffer, written=item.written)
        elif item.written:
            item.array.buffer.written()
    if compiled.plain and not kernel.requires and all(item.type in _LETTERS for item in code.layout.fields):
        launch._prepared = Ready(launch, compiled, device, code, shape, known)  # type: ignore[assignment]
    return Done(device.info.name)


class _Kept:
    """What one launch found out, for the next on the same arrays.

    Attributes:
        places: Where they lie, as the device is told: addresses, or handles.
        block: The parameter block; None where numbers are in it, which are packed each time.
        values: What the block is packed of.
        buffers: What a graph refers to, and whether it is written.
        written: Those of them that are.
        arrays: The arrays, which are not kept alive.
    """

    __slots__ = ("arrays", "block", "buffers", "places", "values", "written")

    def __init__(
        self, places: tuple[int, ...], block: bytes | None, values: list[Any], buffers: list[tuple[Any, bool]]
    ) -> None:
        self.places, self.block, self.values, self.buffers = places, block, values, buffers
        self.written = [buffer for buffer, writes in buffers if writes]
        self.arrays: list[Any] = []


class _Memory(dict[tuple[int, ...], _Kept]):
    """Launches by the identity of their arrays; one goes with the first of its arrays."""

    __slots__ = ("__weakref__",)

    def keep(self, key: tuple[int, ...], kept: _Kept, arrays: Sequence[Array]) -> None:
        """Keep a launch while all its arrays live; the oldest makes room."""
        mine = weakref.ref(self)

        def forget(_: object) -> None:
            memory = mine()
            if memory is not None:
                memory.pop(key, None)

        kept.arrays = [weakref.ref(item, forget) for item in arrays]
        while len(self) >= _MOST_KEPT:
            self.pop(next(iter(self)), None)
        self[key] = kept


class Ready:
    """A launch on arrays of a device, made short: call it with the arguments; None means to ask everything.

    As :class:`atoll.kernels.prepared.Prepared`: what it does not expect it leaves to the whole check. What
    the same arrays would be asked again is kept (:class:`_Kept`): they change in nothing but what they hold.
    """

    def __init__(
        self, launch: Launch, compiled: Compiled, device: Any, code: Loaded, shape: Shape, known: Promises
    ) -> None:
        from atoll.plugin import registry

        used = accesses(compiled.kernel)
        self._kernel, self._compiled, self._device, self._code = launch.kernel, compiled, device, code
        self._captures = compiled.captures if compiled.captures.names else None
        self._shape, self._groups, self._done = shape, shape.groups, Done(device.info.name)
        promised = takes_promises(registry().emitters[device.target().backend])
        self._known = known if promised else NOTHING
        self._has_addresses = bool(getattr(device, "memory", ""))
        self._bound = device.bound(code.executable, shape.block) if getattr(device, "binds", False) else None
        self._pack = struct.Struct(_format(code.layout)).pack
        self._domain = shape.domain if code.layout.has_domain else ()
        self._last: list[Any] | None = None
        self._params: list[tuple[Any, int, bool]] = [
            (item.type.element.name, item.type.rank, used[item.name] != "read")
            if isinstance(item.type, View)
            else (_kind(item.type), 0, False)
            for item in compiled.kernel.params
        ]
        self._count = len(self._params)
        views = [at for at, item in enumerate(self._params) if item[1]]
        self._views: Callable[[tuple[Any, ...]], Iterable[Any]] | None = None
        if len(views) < self._count:
            self._views = itemgetter(*views) if len(views) > 1 else lambda given: [given[at] for at in views]
        self._numbers = self._places_of_numbers()
        self._kept = _Memory()
        self._seen: set[tuple[int, ...]] = set()

    def _places_of_numbers(self) -> list[tuple[int, int, Any]]:
        """Return for each number its place among the arguments, that in the block's values, and its type."""
        found, at = [], len(self._domain)
        for number, (kind, rank, _) in enumerate(self._params):
            if not rank:
                found.append((number, at, kind))
            at += 1 + 2 * rank if rank else 1
        return found

    def __call__(self, arguments: tuple[Any, ...]) -> Done | None:
        """Launch, or return None where an argument is not what was prepared for."""
        device = self._device
        if (
            len(arguments) != self._count
            or not device.is_open
            or self._kernel._compiled is not self._compiled
            or (self._captures is not None and not self._captures.current())
        ):
            return None
        views = self._views
        key = tuple(map(id, arguments if views is None else views(arguments)))
        kept = self._kept.get(key) or self._found(arguments, key)
        if kept is None:
            return None
        block = kept.block
        if block is None:
            block = self._packed(kept.values, arguments)
            if block is None:
                return None
        graph = device.graph
        if graph is None and self._bound is not None:
            self._bound(self._groups, kept.places, block, 0)
        else:
            self._queue(kept, block)
        if graph is None:
            for buffer in kept.written:
                buffer.written()
        else:
            for buffer, writes in kept.buffers:
                graph.note(buffer, written=writes)
        return self._done

    def template(self, arguments: tuple[Any, ...]) -> Template | None:
        """Return the launch for arrays of these shapes and steps wherever they lie; None where none serves.

        Args:
            arguments: Of a launch that was made. Which of its arrays overlap has to stay as it is.
        """
        values: list[Any] = [*self._domain]
        arrays = self._taken(arguments, values)
        if arrays is None or self._bound is None:
            return None
        block = None if self._numbers else self._packed(values, arguments)
        steps = tuple([item.offset * item.itemsize for item in arrays])
        mask = START - 1 if self._known.plain else 0
        return Template(self, values, block, steps, mask)

    @property
    def serves(self) -> bool:
        """Whether kernel and device are still what was prepared for, and nothing is being recorded."""
        device = self._device
        return (
            device.is_open
            and device.graph is None
            and self._kernel._compiled is self._compiled
            and (self._captures is None or self._captures.current())
        )

    def _queue(self, kept: _Kept, block: bytes) -> None:
        """Queue a launch where the driver takes handles and binds nothing, or record one."""
        device, code = self._device, self._code
        if self._bound is None:
            handles = [buffer.handle for buffer, _ in kept.buffers]
            device.launch(code.executable, self._groups, self._shape.block, _passed(code, handles, block))
            return
        bound = device.graph.bound(self._bound, recorded=device.recording is not None)
        bound(self._groups, kept.places, block, 0)

    def _found(self, arguments: tuple[Any, ...], key: tuple[int, ...]) -> _Kept | None:
        """Return what a launch needs, or None where an argument is unexpected; kept when asked once more."""
        values: list[Any] = [*self._domain]
        arrays = self._taken(arguments, values)
        if arrays is None or (self._known != NOTHING and not self._is_as_promised(arrays)):
            return None
        block = None
        if not self._numbers:
            block = self._packed(values, arguments)
            if block is None:
                return None
        places = tuple([item.address if self._has_addresses else item.buffer.handle for item in arrays])
        buffers = [(item.buffer, writes) for item, (_, _, writes) in self._pairs(arrays)]
        kept = _Kept(places, block, values, buffers)
        if key in self._seen:
            self._kept.keep(key, kept, arrays)
        elif len(self._seen) >= _MOST_KEPT:
            self._seen.clear()
        self._seen.add(key)
        return kept

    def _packed(self, values: list[Any], arguments: tuple[Any, ...]) -> bytes | None:
        """Return the parameter block with the numbers of a launch, or None where one does not fit."""
        if self._numbers:
            values = [*values]
            for number, at, kind in self._numbers:
                value = arguments[number]
                if type(value) is not kind:
                    return None
                values[at] = value
        try:
            return self._pack(*values)
        except (struct.error, OverflowError):
            return None

    def _taken(self, arguments: tuple[Any, ...], values: list[Any]) -> list[Array] | None:
        """Fill in what the arguments give to the block; return the arrays, or None if one is unexpected."""
        arrays: list[Array] = []
        for value, (kind, rank, writes) in zip(arguments, self._params, strict=True):
            if not rank:
                values.append(0)
                continue
            if type(value) is not Array or value.buffer.device is not self._device or value.element != kind:
                return None
            if len(value.shape) != rank or (writes and 0 in value.strides):
                return None
            arrays.append(value)
            values += (0 if self._has_addresses else value.offset, *value.shape, *value.strides)
        return arrays

    def _is_as_promised(self, arrays: list[Array]) -> bool:
        """Tell whether what the code was made for is true of these arrays; the last places are remembered."""
        places = [(_start(item), item.shape, item.strides) for item in arrays]
        if places != self._last:
            found = [_extent(item, writes) for item, (_, _, writes) in self._pairs(arrays)]
            if promises(found, self._asked()) != self._known:
                return False
            self._last = places
        return True

    def _pairs(self, arrays: list[Array]) -> list[tuple[Array, tuple[Any, int, bool]]]:
        return list(zip(arrays, [item for item in self._params if item[1]], strict=True))

    def _asked(self) -> Shape:
        """Return the shape that the promises are asked of: before work-items were joined."""
        if not self._code.wide:
            return self._shape
        domain = (self._shape.domain[0] * ROW, *self._shape.domain[1:])
        return Shape(domain, self._shape.groups, self._shape.block)


class Template:
    """A launch whose arrays are known but for where they lie.

    Args:
        ready: Its kernel.
        values: What the parameter block is packed of.
        block: The block; None where numbers are in it.
        steps: Bytes from the start of each array's buffer to its own; a handle's are in the block.
        mask: Of an address, what has to be zero; a device without addresses starts every buffer evenly.
    """

    __slots__ = (
        "_block", "_bound", "_groups", "_has_addresses", "_mask", "_ready", "_steps", "_values",
    )  # fmt: skip

    def __init__(
        self, ready: Ready, values: list[Any], block: bytes | None, steps: tuple[int, ...], mask: int
    ) -> None:
        self._ready, self._values, self._block, self._mask = ready, values, block, mask
        self._has_addresses, self._steps = ready._has_addresses, steps if any(steps) else None
        self._bound, self._groups = cast("Bound", ready._bound), ready._groups

    def launch(self, buffers: Sequence[Any], numbers: tuple[Any, ...]) -> bool:
        """Launch on arrays in these buffers; False where that has to be asked anew, and nothing was done."""
        ready, block = self._ready, self._block
        if not ready.serves:
            return False
        if block is None:
            block = ready._packed(self._values, numbers)
            if block is None:
                return False
        if not self._has_addresses:
            places = tuple([buffer.handle for buffer in buffers])
        else:
            places = tuple([buffer._address or buffer.address for buffer in buffers])
            if self._steps is not None:
                places = tuple(map(add, places, self._steps))
            if self._mask and reduce(or_, places) & self._mask:
                return False
        self._bound(self._groups, places, block, 0)
        return True


def _start(value: Array) -> int:
    """Return where an array lies, or what stands for it."""
    base = value.buffer.address if value.device.memory else value.buffer.handle * _APART
    return base + value.offset * value.itemsize


def _extent(value: Array, written: bool) -> ArrayArgument:
    first = _start(value)
    low, high = bounds(first, value.shape, value.strides, value.itemsize)
    return ArrayArgument(low, high, first, value.itemsize, written, "", value, value.shape, value.strides, 0)


def _passed(code: Loaded, handles: Sequence[int], block: bytes) -> tuple[Any, ...]:
    from atoll.plugin import BufferArgument, ScalarArgument

    buffers = [BufferArgument(*pair) for pair in zip(handles, code.layout.access, strict=True)]
    return (*buffers, ScalarArgument(block, 8)) if block else tuple(buffers)


def queue(device: Any, code: Loaded, shape: Shape, checked: Checked) -> None:
    """Queue one launch on arrays of a device."""
    arrays = [cast("Array", item.array) for item in checked.arrays]
    if getattr(device, "memory", ""):
        block = pack_block(code.layout, _fields(shape, checked, [0] * len(arrays)))
        bound = cast("AddressedDevice", device).bind(code.executable, shape.block)
        bound(shape.groups, [item.address for item in arrays], block, 0)
        return
    block = pack_block(code.layout, _fields(shape, checked, [item.offset for item in arrays]))
    handles = [item.buffer.handle for item in arrays]
    device.launch(code.executable, shape.groups, shape.block, _passed(code, handles, block))


def _checked(kernel: Kernel, values: Sequence[Any], device: Any) -> Checked:
    if len(values) != len(kernel.params):
        names = ", ".join(param.name for param in kernel.params)
        message = f"`{kernel.name}` takes {len(kernel.params)} arguments, not {len(values)}"
        raise LaunchError(_fault(message, f"its parameters: {names}"))
    used, faults = accesses(kernel), list[Diagnostic]()
    arrays, scalars = list[ArrayArgument](), dict[str, bool | int | float]()
    for param, value in zip(kernel.params, values, strict=True):
        try:
            if isinstance(param.type, View):
                arrays.append(_array(param, param.type, value, used[param.name] != "read", device))
            else:
                scalars[param.name] = scalar_value(param, value)
        except LaunchError as error:
            faults += error.diagnostics
    if faults:
        raise LaunchError(*faults)
    return Checked(tuple(arrays), scalars)


def _array(param: Parameter, view: View, value: Any, written: bool, device: Any) -> ArrayArgument:
    if not isinstance(value, Array):
        raise elsewhere(param.name, "the host's memory", str(device.info))
    if value.device is not device:
        raise elsewhere(param.name, str(value.device.info), str(device.info))
    if value.element != view.element.name or value.ndim != view.rank:
        raise _refuse(param, f"an array of {value.ndim} dimensions of {value.element}")
    repeats = any(step == 0 and count > 1 for step, count in zip(value.strides, value.shape, strict=True))
    if written and repeats and value.size:
        raise _refuse(param, "an array that repeats its elements, which the kernel would write")
    item = view.element.nbytes
    first = _start(value)
    low, high = bounds(first, value.shape, value.strides, item)
    return ArrayArgument(low, high, first, item, written, param.name, value, value.shape, value.strides, 0)


def elsewhere(name: str, where: str, wanted: str) -> LaunchError:
    """Return the error of an operand that lies on another device."""
    return LaunchError(
        Diagnostic(
            code="ATL0821",
            message=f"the operand `{name}` lies on another device",
            notes=(f"it lies in: {where}", f"this launch runs on: {wanted}"),
            hint=f'copy it with `atoll.array({name}, device="{wanted}")`',
        )
    )
