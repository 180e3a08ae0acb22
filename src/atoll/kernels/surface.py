"""What a kernel's body may call: ids, barriers, shared memory, atomics, maths.

In a compiled kernel the front end recognises these functions by identity. Called from Python they
work inside the oracle only, where a work-item is running; anywhere else they refuse.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from atoll.diagnostics import Diagnostic
from atoll.errors import LaunchError
from atoll.ir import Scalar, ops
from atoll.ir.nodes import bits_of, value_of
from atoll.kernels.scalars import Fault, Typed, make
from atoll.kernels.structs import struct_of

if TYPE_CHECKING:
    from atoll.kernels.oracle.item import Item


class _Running:
    """The work-item that runs in this thread's oracle; None where none does."""

    item: Item | None = None


running = _Running()


def _item(name: str) -> Item:
    if running.item is None:
        _outside(name)
    return running.item


def _outside(name: str) -> NoReturn:
    raise LaunchError(
        Diagnostic(
            code="ATL0761",
            message=f"`{name}` is called outside a running kernel",
            hint="call it in a function marked with `@kernel` or `@device`, and launch the kernel",
        )
    )


def global_id(dimension: int = 0) -> Any:
    """Return this work-item's number in the whole launch (i32)."""
    return _item("global_id").id(ops.Id.GLOBAL_ID, dimension)


def local_id(dimension: int = 0) -> Any:
    """Return this work-item's number in its work-group (i32)."""
    return _item("local_id").id(ops.Id.LOCAL_ID, dimension)


def group_id(dimension: int = 0) -> Any:
    """Return this work-group's number (i32)."""
    return _item("group_id").id(ops.Id.GROUP_ID, dimension)


def group_size(dimension: int = 0) -> Any:
    """Return how many work-items a work-group has (i32)."""
    return _item("group_size").id(ops.Id.GROUP_SIZE, dimension)


def num_groups(dimension: int = 0) -> Any:
    """Return how many work-groups the launch has (i32)."""
    return _item("num_groups").id(ops.Id.NUM_GROUPS, dimension)


def lane_id() -> Any:
    """Return this work-item's number in its sub-group (i32)."""
    return _item("lane_id").subgroup_id(ops.Id.LANE_ID)


def subgroup_id() -> Any:
    """Return the number of this work-item's sub-group in its group (i32)."""
    return _item("subgroup_id").subgroup_id(ops.Id.SUBGROUP_ID)


def subgroup_size() -> Any:
    """Return how many work-items a sub-group has (i32): 32 on one device, 8 or 64 or 1 on another."""
    return _item("subgroup_size").subgroup_id(ops.Id.SUBGROUP_SIZE)


def fence(*, scope: str = "device") -> None:
    """Order this work-item's memory traffic as others see it; waits for nobody."""
    _item("fence")
    ops.Scope(scope)


def barrier() -> None:
    """Wait for every work-item of the group; orders its shared and global memory."""
    _item("barrier").barrier()


def shared(element: type[Any], length: int | tuple[int, ...]) -> Any:
    """Return memory that the work-group shares, contents undefined.

    Args:
        element: The type of an element: a scalar, or a struct.
        length: Their number, or the sizes of up to four dimensions: ``tile = atoll.shared(f32, (16, 17))``.
    """
    sizes = tuple(map(int, length if isinstance(length, tuple) else (length,)))
    kind, item = struct_of(element), _item("shared")
    if kind is None:
        return item.shared(element.scalar, sizes)
    from atoll.kernels.oracle.structures import OracleStructs

    return OracleStructs(kind, tuple(item.shared(scalar, sizes) for _, scalar in kind.fields))


def own_array(element: Scalar, sizes: tuple[int, ...], values: tuple[Any, ...]) -> Any:
    """Return an array of this work-item; see :class:`atoll.kernels.scalars.fixed`."""
    from atoll.kernels.oracle.memory import OracleFixed

    _item("fixed")
    return OracleFixed(element, sizes, values)


def bitcast(target: type[Typed], value: Any) -> Any:
    """Return the value of another type of the same width that has the same bits: ``bitcast(u32, x)``."""
    _item("bitcast")
    return make(target.scalar, value_of(target.scalar, bits_of(value.scalar, value.value)))


def _atomic(op: ops.AtomicOp) -> Callable[..., Any]:
    def atomic(view: Any, index: Any, value: Any, *, order: str = "relaxed", scope: str = "device") -> Any:
        item = _item(f"atomic_{op}")
        _known(order, scope)
        return item.atomic(op, view, index, value)

    name = "atomic_exchange" if op is ops.AtomicOp.EXCHANGE else f"atomic_{op}"
    atomic.__name__ = atomic.__qualname__ = name
    atomic.__doc__ = f"Do `{op}` to an element indivisibly and return its old value."
    return atomic


atomic_add = _atomic(ops.AtomicOp.ADD)
atomic_min = _atomic(ops.AtomicOp.MIN)
atomic_max = _atomic(ops.AtomicOp.MAX)
atomic_and = _atomic(ops.AtomicOp.AND)
atomic_or = _atomic(ops.AtomicOp.OR)
atomic_xor = _atomic(ops.AtomicOp.XOR)
atomic_exchange = _atomic(ops.AtomicOp.EXCHANGE)


def atomic_compare_exchange(
    view: Any, index: Any, expected: Any, value: Any, *, order: str = "relaxed", scope: str = "device"
) -> Any:
    """Write `value` where the element equals `expected`, indivisibly; return the old value."""
    item = _item("atomic_compare_exchange")
    _known(order, scope)
    return item.atomic(ops.AtomicOp.COMPARE_EXCHANGE, view, index, value, expected)


def _together(op: ops.SubGroup, text: str) -> Callable[..., Any]:
    name = f"subgroup_{op}"

    def operation(value: Any) -> Any:
        return _item(name).exchange(op, value)

    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = text
    return operation


subgroup_add = _together(ops.SubGroup.ADD, "Return the sum over the sub-group.")
subgroup_min = _together(ops.SubGroup.MIN, "Return the least value of the sub-group.")
subgroup_max = _together(ops.SubGroup.MAX, "Return the greatest value of the sub-group.")
subgroup_and = _together(ops.SubGroup.AND, "Return the bits that all values of the sub-group have.")
subgroup_or = _together(ops.SubGroup.OR, "Return the bits that any value of the sub-group has.")
subgroup_xor = _together(ops.SubGroup.XOR, "Return the exclusive or over the sub-group.")
subgroup_inclusive_add = _together(ops.SubGroup.INCLUSIVE_ADD, "Return the sum up to and with this lane.")
subgroup_exclusive_add = _together(ops.SubGroup.EXCLUSIVE_ADD, "Return the sum before this lane.")
subgroup_all = _together(ops.SubGroup.ALL, "Return whether it holds for the whole sub-group.")
subgroup_any = _together(ops.SubGroup.ANY, "Return whether it holds for any of the sub-group.")


def subgroup_broadcast(value: Any, lane: Any = 0) -> Any:
    """Return the value of one lane, which is the same for the whole sub-group."""
    return _item("subgroup_broadcast").exchange(ops.SubGroup.BROADCAST, value, lambda _: int(lane))


def shuffle(value: Any, lane: Any) -> Any:
    """Return the value of another lane; one's own where there is no such lane."""
    return _item("shuffle").exchange(ops.SubGroup.SHUFFLE, value, lambda _: int(lane))


def shuffle_xor(value: Any, mask: Any) -> Any:
    """Return the value of the lane whose number is this one's with the bits of a mask turned."""
    return _item("shuffle_xor").exchange(ops.SubGroup.SHUFFLE, value, lambda own: own ^ int(mask))


def shuffle_up(value: Any, distance: Any) -> Any:
    """Return the value of the lane so far below; one's own where there is none."""
    return _item("shuffle_up").exchange(ops.SubGroup.SHUFFLE, value, lambda own: own - int(distance))


def shuffle_down(value: Any, distance: Any) -> Any:
    """Return the value of the lane so far above; one's own where there is none."""
    return _item("shuffle_down").exchange(ops.SubGroup.SHUFFLE, value, lambda own: own + int(distance))


def _known(order: str, scope: str) -> None:
    """Check the words; the oracle runs one work-item at a time, so every order holds."""
    ops.Order(order), ops.Scope(scope)


def _math(op: ops.Math, name: str, text: str) -> Callable[..., Any]:
    def function(*operands: Any) -> Any:
        from atoll.kernels.oracle.maths import apply

        _item(name)
        return apply(op, operands)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


sqrt = _math(ops.Math.SQRT, "sqrt", "Return the square root, correctly rounded.")
rsqrt = _math(ops.Math.RSQRT, "rsqrt", "Return one over the square root.")
exp = _math(ops.Math.EXP, "exp", "Return e to the x.")
exp2 = _math(ops.Math.EXP2, "exp2", "Return two to the x.")
log = _math(ops.Math.LOG, "log", "Return the natural logarithm.")
log2 = _math(ops.Math.LOG2, "log2", "Return the logarithm of base two.")
sin = _math(ops.Math.SIN, "sin", "Return the sine of radians.")
cos = _math(ops.Math.COS, "cos", "Return the cosine of radians.")
tan = _math(ops.Math.TAN, "tan", "Return the tangent of radians.")
tanh = _math(ops.Math.TANH, "tanh", "Return the hyperbolic tangent.")
floor = _math(ops.Math.FLOOR, "floor", "Return the greatest whole number not above x, as a float.")
ceil = _math(ops.Math.CEIL, "ceil", "Return the least whole number not below x, as a float.")
trunc = _math(ops.Math.TRUNC, "trunc", "Return x without its fraction, as a float.")
rint = _math(ops.Math.RINT, "rint", "Return the nearest whole number, half to even, as a float.")
pow = _math(ops.Math.POW, "pow", "Return x to the y.")  # noqa: A001 - the surface's word
fma = _math(ops.Math.FMA, "fma", "Return x * y + z, rounded once.")


def _inline(name: str, text: str) -> Callable[..., NoReturn]:
    def function(_text: str, _constraints: str, *_operands: Any) -> NoReturn:
        _item(name)
        raise Fault("ATL0758", f"`{name}` is code of a device, and Python has no body of it")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


asm = _inline(
    "asm", "Put assembly of the device here: `asm(text, constraints, *operands)`, letters as LLVM has them."
)
snippet = _inline("snippet", "Put text of the target's device language here; the constraints are types.")
operations = _inline(
    "operations",
    "Put instructions of the binary that is emitted here, one a line; the constraints are types.",
)

#: The functions the front end knows, by identity.
IDS: dict[object, ops.Id] = {
    global_id: ops.Id.GLOBAL_ID,
    local_id: ops.Id.LOCAL_ID,
    group_id: ops.Id.GROUP_ID,
    group_size: ops.Id.GROUP_SIZE,
    num_groups: ops.Id.NUM_GROUPS,
}
#: Ids of sub-groups take no dimension.
SUBGROUP_IDS: dict[object, ops.Id] = {
    lane_id: ops.Id.LANE_ID,
    subgroup_id: ops.Id.SUBGROUP_ID,
    subgroup_size: ops.Id.SUBGROUP_SIZE,
}
TOGETHER: dict[object, ops.SubGroup] = {
    subgroup_add: ops.SubGroup.ADD,
    subgroup_min: ops.SubGroup.MIN,
    subgroup_max: ops.SubGroup.MAX,
    subgroup_and: ops.SubGroup.AND,
    subgroup_or: ops.SubGroup.OR,
    subgroup_xor: ops.SubGroup.XOR,
    subgroup_inclusive_add: ops.SubGroup.INCLUSIVE_ADD,
    subgroup_exclusive_add: ops.SubGroup.EXCLUSIVE_ADD,
    subgroup_all: ops.SubGroup.ALL,
    subgroup_any: ops.SubGroup.ANY,
    subgroup_broadcast: ops.SubGroup.BROADCAST,
    shuffle: ops.SubGroup.SHUFFLE,
    shuffle_xor: ops.SubGroup.SHUFFLE,
    shuffle_up: ops.SubGroup.SHUFFLE,
    shuffle_down: ops.SubGroup.SHUFFLE,
}
ATOMICS: dict[object, ops.AtomicOp] = {
    atomic_add: ops.AtomicOp.ADD,
    atomic_min: ops.AtomicOp.MIN,
    atomic_max: ops.AtomicOp.MAX,
    atomic_and: ops.AtomicOp.AND,
    atomic_or: ops.AtomicOp.OR,
    atomic_xor: ops.AtomicOp.XOR,
    atomic_exchange: ops.AtomicOp.EXCHANGE,
    atomic_compare_exchange: ops.AtomicOp.COMPARE_EXCHANGE,
}
MATHS: dict[object, ops.Math] = {
    sqrt: ops.Math.SQRT,
    rsqrt: ops.Math.RSQRT,
    exp: ops.Math.EXP,
    exp2: ops.Math.EXP2,
    log: ops.Math.LOG,
    log2: ops.Math.LOG2,
    sin: ops.Math.SIN,
    cos: ops.Math.COS,
    tan: ops.Math.TAN,
    tanh: ops.Math.TANH,
    floor: ops.Math.FLOOR,
    ceil: ops.Math.CEIL,
    trunc: ops.Math.TRUNC,
    rint: ops.Math.RINT,
    pow: ops.Math.POW,
    fma: ops.Math.FMA,
}
