"""Arguments for a kernel that nobody gave any: seeded, the same for every device and the oracle.

A view has `size` elements in each dimension. Floats lie between -1 and 1 and are short fractions, so
that sums are exact where they can be; integers lie from 0 to `size` - 1, so that they serve as
indices; an integer scalar is `size`.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from atoll.ir import Kernel, Scalar, View
from atoll.ir.nodes import Binary, MathCall
from atoll.ir.ops import Binary as Op
from atoll.ir.walk import all_expressions, has_barrier
from atoll.kernels.pointers import PointerType
from atoll.kernels.shapes import block_for, rank_of
from atoll.kernels.structs import StructType, StructView, spread
from atoll.kernels.vectors import VecType, VecView

if TYPE_CHECKING:
    import numpy as np

    from atoll.kernels.front import Compiled


@dataclass(frozen=True, slots=True)
class Sample:
    """A domain and arguments; :meth:`fresh` gives a copy that a launch may write to."""

    domain: tuple[int, ...]
    arguments: tuple[Any, ...]

    def fresh(self) -> tuple[Any, ...]:
        """Return the arguments, arrays copied."""
        return copy.deepcopy(self.arguments)


def sample(compiled: Compiled, size: int | None = None, seed: int = 0) -> Sample:
    """Return a domain of two blocks, or of `size` in each dimension, with arguments for it."""
    import numpy as np

    random, kernel = np.random.default_rng(seed), compiled.kernel
    rank, block = rank_of(kernel), block_for(kernel)
    least = size or 2 * max(block)
    domain = tuple(-(-least // by) * by if has_barrier(kernel) else least for by in block[:rank])
    given = tuple(_argument(param.type, max(domain), random) for param in compiled.params)
    return Sample(domain, given)


def _argument(
    kind: Scalar | View | StructType | StructView | VecView | PointerType,
    size: int,
    random: np.random.Generator,
) -> Any:
    if isinstance(kind, PointerType):
        return _array(kind.array, size, random)
    if isinstance(kind, VecView):
        return _array(kind.array, size, random)[..., : len(kind.vec.fields)].copy()
    if isinstance(kind, VecType):
        return kind(*(_argument(scalar, size, random) for _, scalar in kind.fields))
    if isinstance(kind, StructType):
        return kind.make(*(_argument(member, size, random) for _, member in kind.declared))
    if isinstance(kind, StructView):
        return _structs(kind, size, random)
    if isinstance(kind, View):
        return _array(kind, size, random)
    if kind.name == "bool":
        return True
    if kind.is_float:
        return float(random.integers(-8, 9)) / 8
    return min(size, kind.range[1])


def _structs(view: StructView, size: int, random: np.random.Generator) -> Any:
    import numpy as np

    made = np.zeros((size,) * view.rank, view.struct.dtype())
    for name, member in view.struct.declared:
        if isinstance(member, Scalar):
            made[name] = _array(View(member, view.rank), size, random)
        else:
            parts = [_array(View(scalar, view.rank), size, random) for _, scalar in member.fields]
            made[name] = np.stack(parts, axis=-1)
    return made


def _array(view: View, size: int, random: np.random.Generator) -> Any:
    import numpy as np

    shape = (size,) * view.rank
    if view.element.is_float:
        names = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
        if view.element.name not in names:
            return _bfloat16(random.integers(-64, 65, shape) / 64)
        return (random.integers(-64, 65, shape) / 64).astype(names[view.element.name])
    top = min(size - 1, view.element.range[1])
    sign = "i" if view.element.is_signed else "u"
    return random.integers(0, top + 1, shape).astype(f"{sign}{view.element.nbytes}")


def _bfloat16(values: Any) -> Any:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    try:
        from ml_dtypes import bfloat16  # type: ignore[import-not-found]
    except ImportError:
        raise UsageError(
            Diagnostic(
                code="ATL0760",
                message="NumPy has no bf16 of its own, so there is no sample argument",
                hint="install `ml_dtypes`",
            )
        ) from None
    return values.astype(bfloat16)


#: How far a device may be from the oracle, relative, where its maths or division is not exact.
BOUNDS = {"f16": 2.0**-8, "bf16": 2.0**-6, "f32": 2.0**-18, "f64": 2.0**-45}


def bound(kernel: Kernel, element: Scalar) -> float:
    """Return the relative difference that a device may show: 0 where every operation is exact."""
    inexact = kernel.contract or any(
        isinstance(node, MathCall) or (isinstance(node, Binary) and node.op is Op.FDIV)
        for node in all_expressions(kernel.body)
    )
    return BOUNDS[element.name] if inexact and element.is_float else 0.0


def differs(compiled: Compiled, mine: tuple[Any, ...], other: tuple[Any, ...]) -> list[str]:
    """Return one sentence for each array in which two runs of a kernel differ."""
    import numpy as np

    kernel = compiled.kernel
    mine, other = (tuple(spread(compiled.params, given)) for given in (mine, other))
    found = []
    for param, a, b in zip(kernel.params, mine, other, strict=True):
        if not isinstance(param.type, View):
            continue
        allowed = bound(kernel, param.type.element)
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        same = np.isclose(wide_a, wide_b, rtol=allowed, atol=allowed, equal_nan=True) if allowed else None
        wrong = ~same if same is not None else ~((a == b) | ((a != a) & (b != b)))
        if wrong.any():
            index = tuple(int(part) for part in np.argwhere(wrong)[0])
            shown = ", ".join(map(str, index))
            count = int(wrong.sum())
            sides = f"{a[index]} here, {b[index]} in the oracle"
            found.append(f"{param.name}[{shown}]: {sides} ({count} of {a.size} differ)")
    return found
