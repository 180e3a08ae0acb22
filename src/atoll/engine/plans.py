"""What was decided for arrays like these? The next call is a lookup, memory for the result, and a launch.

A *plan* belongs to an operation and to the types, shapes, steps and offsets of its operands; it knows the
launch that the whole way found, and is used where that is sure to be the same: in one dimension, in one part,
with nothing being recorded. Whatever differs takes the whole way, which has the words for it.
"""

from __future__ import annotations

from typing import Any

from atoll.kernels.resident import Ready, Template
from atoll.runtime.array import Array
from atoll.runtime.buffer import Buffer

#: How many plans a device keeps; the oldest makes room.
_MOST = 256


class Plan:
    """A launch for operands that are known but for where they lie.

    Args:
        template: The launch.
        out: An array as the result is; the last argument of the launch, the others in the operands' order.
        count: How many arguments the launch takes.
        numbers: Which of them are numbers.
    """

    __slots__ = ("_count", "_element", "_nbytes", "_numbers", "_shape", "_strides", "_template")

    def __init__(self, template: Template, out: Array, count: int, numbers: tuple[int, ...]) -> None:
        self._template, self._count, self._numbers = template, count, numbers
        self._element, self._shape, self._strides = out.element, out.shape, out.strides
        self._nbytes = max(out.nbytes, 1)

    def run(self, device: Any, buffers: list[Buffer], numbers: list[Any], out: Array | None) -> Array | None:
        """Launch; return the result, or None where the whole way has to be taken."""
        if out is None:
            out = Array(Buffer(device, self._nbytes), self._element, self._shape, self._strides)
        buffers.append(out.buffer)
        given: tuple[Any, ...] = ()
        if numbers:
            filled: list[Any] = [None] * self._count
            for at, number in zip(self._numbers, numbers, strict=True):
                filled[at] = number
            given = tuple(filled)
        if not self._template.launch(buffers, given):
            return None
        out.buffer.written()
        return out


def run(name: object, operands: tuple[Any, ...], out: Array | None = None) -> tuple[Any, Array | None]:
    """Return the result of an operation that has a plan, beside what :func:`keep` keeps one under.

    Args:
        name: The operation; nothing that would keep arrays alive.
        operands: Arrays and numbers.
        out: Where the result goes; None for a new array.
    """
    first = operands[0]
    if type(first) is not Array:
        return None, None
    device = first.buffer.device
    target = None if out is None else out.buffer
    key: list[Any] = [name]
    buffers: list[Buffer] = []
    numbers: list[Any] = []
    for item in operands:
        kind = type(item)
        if kind is Array:
            buffer = item.buffer
            if buffer.device is not device or (target is not None and not buffer.handle):
                return None, None
            buffers.append(buffer)
            key.append((item.element, item.shape, item.strides, item.offset, buffer is target))
        elif kind is int or kind is float:
            numbers.append(item)
            key.append(kind)
        else:
            return None, None
    if out is not None:
        if out.buffer.device is not device or not out.buffer.handle:
            return None, None
        key.append((out.element, out.shape, out.strides, out.offset))
    asked = tuple(key)
    plan = device.plans.get(asked)
    if plan is None or device.graph is not None:
        return asked, None
    return asked, plan.run(device, buffers, numbers, out)


def keep(key: Any, launch: Any, arguments: tuple[Any, ...], out: Array) -> None:
    """Keep a plan of a launch that was just made on an operation's operands in their order, the result last.

    Args:
        key: Of :func:`run`; nothing is kept without.
        launch: The launch.
        arguments: What it was called with.
        out: The operation's result.
    """
    ready = getattr(launch, "_prepared", None)
    if key is None or not isinstance(ready, Ready):
        return
    template = ready.template(arguments)
    if template is None:
        return
    plans = out.device.plans
    while len(plans) >= _MOST:
        plans.pop(next(iter(plans)), None)
    numbers = tuple(at for at, item in enumerate(arguments) if type(item) is not Array)
    plans[key] = Plan(template, out, len(arguments), numbers)
