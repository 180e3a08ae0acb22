"""How does a test launch emitted code on a device, straight through the driver door?

Arguments are those of :mod:`atoll.testing.evaluate`; views come back changed. The parameter block is
filled here by the rules of docs/reference/launch-abi.md, apart from the runtime's own code: two readings of
one page.
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll.ir import SCALARS, LaunchLayout, Module, Scalar, View, nodes
from atoll.plugin import Argument, BufferArgument, DriverDevice, Emitted, Emitter, ScalarArgument
from atoll.testing.evaluate import Number, Size, ViewValue

_WHOLE: Size = (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF)


def run(
    emitter: Emitter,
    device: DriverDevice,
    module: Module,
    name: str,
    arguments: Mapping[str, Number | ViewValue],
    groups: Size,
    group: Size,
    domain: Size | None = None,
) -> Emitted:
    """Emit a kernel for a device and launch it; views are changed in place."""
    code = emitter.emit(module, name, device.target(), group)
    launch(device, code, module, name, arguments, groups, group, domain)
    return code


def launch(
    device: DriverDevice,
    code: Emitted,
    module: Module,
    name: str,
    arguments: Mapping[str, Number | ViewValue],
    groups: Size,
    group: Size,
    domain: Size | None = None,
) -> None:
    """Launch emitted code; views are changed in place."""
    kernel = module.kernel(name)
    elements = {view.name: view.type.element for view in kernel.views if isinstance(view.type, View)}
    buffers: dict[str, int] = {}
    try:
        for view in code.layout.buffers:
            data = _packed(elements[view], _view(arguments, view))
            buffers[view] = device.allocate(max(1, len(data)))
            device.upload(buffers[view], memoryview(data))
        block = parameter_block(code.layout, arguments, domain or _WHOLE)
        passed: list[Argument] = [
            BufferArgument(buffers[view], access)
            for view, access in zip(code.layout.buffers, code.layout.access, strict=True)
        ]
        passed += [ScalarArgument(block, 8)] if block else []
        device.launch(device.load(code), groups, group, tuple(passed))
        device.wait()
        for view in code.layout.buffers:
            value = _view(arguments, view)
            out = bytearray(len(value.data) * elements[view].nbytes)
            device.download(buffers[view], memoryview(out))
            value.data[:] = _unpacked(elements[view], bytes(out))
    finally:
        for handle in buffers.values():
            device.release(handle)


def parameter_block(layout: LaunchLayout, arguments: Mapping[str, Number | ViewValue], domain: Size) -> bytes:
    """Return the bytes of the parameter block."""
    block = bytearray(layout.block_bytes)
    for item in layout.fields:
        head, _, rest = item.path.partition(".")
        if not rest:
            value = arguments[head]
            assert not isinstance(value, ViewValue)
            data = _field(SCALARS[item.type], value)
        elif rest.isdigit():
            data = domain[int(rest)].to_bytes(4, "little")
        else:
            data = _extent(_view(arguments, head), rest).to_bytes(8, "little", signed=True)
        block[item.offset : item.offset + len(data)] = data
    return bytes(block)


def _extent(view: ViewValue, what: str) -> int:
    kind, _, axis = what.partition(".")
    if kind == "offset":
        return view.offset
    return (view.shape if kind == "size" else view.strides)[int(axis)]


def _field(scalar: Scalar, value: Number) -> bytes:
    """Return a scalar as it stands in the block: narrow integers extended to four bytes."""
    bits = nodes.bits_of(scalar, value)
    if scalar.is_signed and scalar.bits < 32:
        bits = int(nodes.value_of(scalar, bits)) & 0xFFFFFFFF
    return bits.to_bytes(max(4, scalar.nbytes), "little")


def _view(arguments: Mapping[str, Number | ViewValue], name: str) -> ViewValue:
    value = arguments[name]
    assert isinstance(value, ViewValue)
    return value


def _packed(element: Scalar, view: ViewValue) -> bytes:
    return b"".join(nodes.bits_of(element, value).to_bytes(element.nbytes, "little") for value in view.data)


def _unpacked(element: Scalar, data: bytes) -> list[Number]:
    size = element.nbytes
    return [
        nodes.value_of(element, int.from_bytes(data[at : at + size], "little"))
        for at in range(0, len(data), size)
    ]
