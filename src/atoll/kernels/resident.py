"""How does a launch reach arrays that lie on a device? By handle or address; nothing is copied or waited for.

An array of another device, or one in the host's memory beside arrays of a device, is refused always.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import Kernel, View, accesses
from atoll.kernels.arguments import ArrayArgument, Checked, _fault, _refuse, scalar_value
from atoll.kernels.contract import hold
from atoll.kernels.launch import Done, Launch, Loaded, Shape, _fields, executable_for, open_device
from atoll.kernels.structs import spread
from atoll.kernels.variants import narrowed, promises
from atoll.runtime.array import Array
from atoll.runtime.pack import pack_block
from atoll.runtime.regions import bounds

if TYPE_CHECKING:
    from atoll.ir import Parameter
    from atoll.plugin import AddressedDevice

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
    known = promises(checked.arrays, launch.shape)
    code = executable_for(kernel, device, launch.shape.block, known)
    shape = narrowed(launch.shape) if code.wide else launch.shape
    queue(device, code, shape, checked)
    graph = getattr(device, "graph", None)
    for item in checked.arrays:
        if graph is not None:
            graph.note(item.array.buffer, written=item.written)
        elif item.written:
            item.array.buffer.written()
    return Done(device.info.name)


def queue(device: Any, code: Loaded, shape: Shape, checked: Checked) -> None:
    """Queue one launch on arrays of a device."""
    from atoll.plugin import BufferArgument, ScalarArgument

    arrays = [cast("Array", item.array) for item in checked.arrays]
    if getattr(device, "memory", ""):
        block = pack_block(code.layout, _fields(shape, checked, [0] * len(arrays)))
        bound = cast("AddressedDevice", device).bind(code.executable, shape.block)
        bound(shape.groups, [item.address for item in arrays], block, 0)
        return
    block = pack_block(code.layout, _fields(shape, checked, [item.offset for item in arrays]))
    handles = (item.buffer.handle for item in arrays)
    buffers = [BufferArgument(*pair) for pair in zip(handles, code.layout.access, strict=True)]
    scalars = (ScalarArgument(block, 8),) if block else ()
    device.launch(code.executable, shape.groups, shape.block, (*buffers, *scalars))


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
    base = value.buffer.address if getattr(device, "memory", "") else value.buffer.handle * _APART
    first = base + value.offset * item
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
