"""How does a function of arrays run as one kernel? `fuse(f)` traces it, and one kernel serves every shape.

What is computed is the same to the byte as with the primitives one after the other: f16, bf16 and i8 operands
are widened when they are read, arithmetic is f32 or i32, each operation rounds by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from atoll.engine import lowering, plans, shapes, world
from atoll.engine.expression import (
    INSIDE,
    Node,
    Traced,
    exp,
    log,
    maximum,
    minimum,
    recip,
    refused,
    repeat_rows,
    rotate_half,
    row_max,
    row_mean,
    row_min,
    row_sum,
    rsqrt,
    sigmoid,
    spelled,
    sqrt,
    tanh,
    traced,
    walk,
    where,
)
from atoll.engine.world import World, load, record
from atoll.runtime.array import Array, empty

__all__ = [
    "Fused", "World", "exp", "fuse", "load", "log", "maximum", "minimum", "recip", "record", "repeat_rows",
    "rotate_half", "row_max", "row_mean", "row_min", "row_sum", "rsqrt", "sigmoid", "sqrt", "tanh", "where",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Trace:
    """A function traced for some types of operands."""

    node: Node
    inputs: tuple[str, ...]
    numbers: tuple[str, ...]
    out: str
    repeated: frozenset[int]
    by_row: bool
    row_alone: bool
    turned: bool


class Fused:
    """A function that runs as one kernel; made by :func:`fuse`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = getattr(function, "__name__", "fused")
        self.__doc__ = function.__doc__
        #: What a device keeps its launches under, without keeping what the function refers to.
        self._name = object()
        self._traces: dict[tuple[str, ...], _Trace] = {}
        self._kernels: dict[tuple[_Trace, str], tuple[str, str, Any]] = {}

    def __repr__(self) -> str:
        return f"<fused {self.__name__}>"

    def __call__(self, *operands: Any, out: Array | None = None) -> Array:
        """Return the result for some operands: arrays of one device, and numbers.

        Arrays repeat to a common shape as in NumPy. Numbers are arguments of the kernel, not a part of it.
        `out` is an array of the result's shape and type to write to; it may be an operand that is read at the
        same place only.

        Raises:
            LaunchError: Where an operand lies elsewhere or does not fit, the function cannot be traced, or
                the closed world that is used has no kernel of it.
        """
        plan = None
        if operands and world.current() is None:
            plan, made = plans.run(self._name, operands, out)
            if made is not None:
                return made
        arrays = [item for item in operands if isinstance(item, Array)]
        if not arrays:
            raise shapes.refused(self.__name__, "takes at least one array")
        device = shapes.together(self.__name__, *arrays)
        found = self._traced(operands)
        shape = self._shape(found, arrays)
        numbers = [item for item in operands if not isinstance(item, Array)]
        result = (*shape[:-1], 1) if found.row_alone and shape else shape
        if out is None:
            out = empty(result, found.out, device=device)
        elif (out.shape, out.element, out.device) != (result, found.out, device):
            raise shapes.refused(
                self.__name__, "has another result", f"{out!r}", f"{found.out}{list(result)}"
            )
        if out.size and 0 not in shape:
            self._run(found, arrays, numbers, shape, out, plan)
        elif out.size:
            raise shapes.refused(
                self.__name__, "has no value along an axis without elements", f"the shape: {shape}"
            )
        return out

    def key(self, *operands: Any) -> str:
        """Return the name of the kernel that operands like these run, whatever their shapes."""
        found = self._traced(operands)
        return self._kernel(found, "rows" if found.by_row else "strided")[0]

    def _traced(self, operands: tuple[Any, ...]) -> _Trace:
        kinds = tuple(_kind(self.__name__, item) for item in operands)
        if kinds not in self._traces:
            self._traces[kinds] = _trace(self.function, kinds)
        return self._traces[kinds]

    def _shape(self, found: _Trace, arrays: list[Array]) -> tuple[int, ...]:
        plain = [item.shape for at, item in enumerate(arrays) if at not in found.repeated]
        columns = [item.shape[-1:] for at, item in enumerate(arrays) if at in found.repeated]
        shape = shapes.common(self.__name__, *plain, *columns)
        if found.turned and (not shape or shape[-1] % 2):
            raise shapes.refused(
                self.__name__, "turns the halves of an axis that has none", f"the shape: {shape}"
            )
        if found.by_row and not shape:
            raise shapes.refused(self.__name__, "reduces an array without an axis")
        return shape

    def _kernel(self, found: _Trace, layout: str) -> tuple[str, str, Any]:
        key = found, layout
        if key not in self._kernels:
            signature = lowering.Signature(found.inputs, found.numbers, found.out, layout)
            name, text = lowering.text_of(found.node, signature)
            self._kernels[key] = name, text, None
        name, text, kernel = self._kernels[key]
        used = world.current()
        if used is not None and used.closed:
            return name, text, used.kernel(name, spelled(found.node))
        if kernel is None:
            kernel = lowering.kernel_of(name, text)
            self._kernels[key] = name, text, kernel
        if used is not None and name not in used.records:
            from atoll.ir.text import canonical

            kir = canonical(kernel.compiled().module).decode()
            used.records[name] = world.Record(name, spelled(found.node), kir)
        return name, text, kernel

    def _run(
        self,
        found: _Trace,
        arrays: list[Array],
        numbers: list[Any],
        shape: tuple[int, ...],
        out: Array,
        plan: object,
    ) -> None:
        if found.by_row:
            self._by_row(found, arrays, numbers, shape, out)
            return
        if not found.repeated and not found.turned:
            flat = _flat([item.broadcast(shape) for item in arrays], out)
            # What is recorded has both layouts, so that no shape is unknown later.
            used = world.current()
            for layout in () if used is None or used.closed else ("flat", "strided"):
                self._kernel(found, layout)
            if flat is not None:
                kernel, parts = self._kernel(found, "flat")[2], shapes.parts(flat)
                for part in parts:
                    launch, given = kernel.over(part[-1].size, device=out.device, block=256), part[:-1]
                    launch(*given, *numbers, part[-1])
                if len(parts) == 1:
                    plans.keep(plan, launch, (*parts[0][:-1], *numbers, parts[0][-1]), out)
                return
        kernel = self._kernel(found, "strided")[2]
        whole = [*_fours(self.__name__, found, arrays, shape), *shapes.filled([out])]
        over, block = shapes.domain(whole[-1])
        kernel.over(over, device=out.device, block=block)(*whole[:-1], *numbers, whole[-1])

    def _by_row(
        self, found: _Trace, arrays: list[Array], numbers: list[Any], shape: tuple[int, ...], out: Array
    ) -> None:
        kernel = self._kernel(found, "rows")[2]
        given, (result,) = _fours(self.__name__, found, arrays, shape), shapes.filled([out])
        b, rows = result.shape[1], result.shape[2]
        for part in shapes.chunks(result.shape[0] * b * rows, out.device):
            over = (part.stop - part.start) * lowering.LANES
            sizes = shape[-1], rows, b, part.start
            kernel.over(over, device=out.device)(*given, *numbers, result, *sizes)


def _kind(name: str, value: Any) -> str:
    if isinstance(value, Array):
        if value.element not in INSIDE:
            raise shapes.refused(name, "takes arrays of other types", value.element, ", ".join(INSIDE))
        return value.element
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise shapes.refused(name, f"takes arrays of a device and numbers, not a {type(value).__name__}")
    return "number i32" if isinstance(value, int) else "number f32"


def _trace(function: Callable[..., Any], kinds: tuple[str, ...]) -> _Trace:
    given, inputs, numbers = [], list[str](), list[str]()
    for kind in kinds:
        if kind.startswith("number"):
            given.append(Traced(Node("number", (), kind[7:], (len(numbers),))))
            numbers.append(kind[7:])
        else:
            given.append(Traced(Node("input", (), INSIDE[kind], (len(inputs), kind))))
            inputs.append(kind)
    result = function(*given)
    if isinstance(result, tuple | list):
        refused("a fused function returns one value", f"returned: {len(result)}")
    node = traced(result).node
    if node.type == "bool":
        refused("the result is a comparison", hint="write `where(condition, 1.0, 0.0)`")
    every = walk(node)
    by_row = lowering.is_by_row(node)
    return _Trace(
        node,
        tuple(inputs),
        tuple(numbers),
        node.value if node.op == "cast" else node.type,
        frozenset(item.of[0].value[0] for item in every if item.op == "repeat_rows"),
        by_row,
        by_row and lowering.is_row_alone(node),
        any(item.op == "rotate_half" for item in every),
    )


def _fours(name: str, found: _Trace, arrays: list[Array], shape: tuple[int, ...]) -> list[Array]:
    """Return operands with four dimensions, repeated to a shape; one whose rows repeat keeps its rows."""
    if len(shape) > 4:
        raise shapes.refused(name, "has operands of more than four dimensions", f"{shape}")
    given = []
    for at, item in enumerate(arrays):
        if at in found.repeated:
            if item.ndim > 2:
                raise shapes.refused(name, "repeats the rows of more than two dimensions", f"{item.shape}")
            rows = item.shape[-2] if item.ndim == 2 else 1
            given.append(item.broadcast((rows, shape[-1])))
        else:
            given.append(item.broadcast(shape))
    filled = shapes.filled(given)
    lead = (1,) * (4 - len(shape)) + shape[:-2] if len(shape) > 1 else (1, 1)
    return [
        item.broadcast((*lead[-2:], item.shape[2], item.shape[3])) if at in found.repeated else item
        for at, item in enumerate(filled)
    ]


def _flat(arrays: list[Array], out: Array) -> list[Array] | None:
    """Return operands in one dimension where all of them lie in one row of steps, else None."""
    joined = shapes.merged([*arrays, out])
    return joined if joined[0].ndim == 1 else None


def fuse(function: Callable[..., Any]) -> Fused:
    """Return a function of arrays that runs as one kernel on their device.

    It is traced once for each combination of types: arithmetic, comparisons, `where`, the functions here, row
    reductions (`row_sum`, `row_max`, `row_min`, `row_mean`) and views (`repeat_rows`, `rotate_half`).
    """
    return Fused(function)
