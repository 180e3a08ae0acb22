"""How is an example kernel checked? A launch, and what NumPy says of it.

Words: a *case* is one kernel with arguments, a reference and a bound.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """One kernel, its launch, and its answer.

    Attributes:
        kernel: The kernel.
        domain: How many work-items run, in each dimension.
        arguments: Makes the arguments from a random generator, the same for the same seed.
        reference: Changes copies of the arguments as the kernel has to, in NumPy.
        bound: How far an element may be off, as a part of its size or, below 1, of 1. Zero where the kernel
            only does what every device rounds alike.
        bounds: The same for single parameters.
    """

    kernel: Any
    domain: int | tuple[int, ...]
    arguments: Callable[[np.random.Generator], Arguments]
    reference: Callable[..., None]
    bound: float = 0.0
    bounds: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's name."""
        return str(self.kernel.__name__)

    def given(self, seed: int = 0) -> Arguments:
        """Return arguments of a seed."""
        return self.arguments(np.random.default_rng(seed))

    def expected(self, given: Arguments) -> Arguments:
        """Return the arguments as they are after the launch. Arrays that are one array stay one."""
        after = copy.deepcopy(given)
        with np.errstate(all="ignore"):
            self.reference(*after)
        return after

    def faults(self, found: Arguments, expected: Arguments) -> list[str]:
        """Return one sentence for each argument that is outside the bound."""
        names = self.kernel.function.__code__.co_varnames
        said = []
        for name, mine, theirs in zip(names, found, expected, strict=False):
            if isinstance(mine, np.ndarray):
                said += self._fault(name, mine, theirs)
        return said

    def _fault(self, name: str, mine: Any, theirs: Any) -> list[str]:
        bound = self.bounds.get(name, self.bound)
        if mine.dtype.names:
            pairs = [(mine[part], theirs[part]) for part in mine.dtype.names]
        else:
            pairs = [(mine, theirs)]
        for one, other in pairs:
            a, b = one.astype(np.float64), other.astype(np.float64)
            near = (a == b) | (np.isnan(a) & np.isnan(b))
            near |= np.abs(a - b) <= bound * np.maximum(1.0, np.abs(b))
            if not near.all():
                at = tuple(int(part) for part in np.argwhere(~near)[0])
                return [f"{name}{list(at)} is {a[at]!r}, not {b[at]!r}; {int((~near).sum())} of {a.size}"]
        return []


def floats(random: np.random.Generator, *shape: int, scale: float = 1.0) -> Any:
    """Return normally distributed f32."""
    return (random.standard_normal(shape) * scale).astype(np.float32)


def zeros(*shape: int) -> Any:
    """Return f32 zeros."""
    return np.zeros(shape, np.float32)
