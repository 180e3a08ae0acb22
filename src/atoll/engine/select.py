"""Which variant of a primitive runs, and how exact is it? Decided on a capability and shapes; pure.

The rules, in order; each decision keeps the reason, and one that gives less than was asked warns:

* the *exact* tier (the default) gives the same bytes on every device; its variants differ in speed alone, and
  what decides on bytes (the parts that a long K is split into) depends on shapes and never on a device;
* the *device* tier gives the same bytes on one device and driver: it may call the vendor's library. Where
  there is none the exact variant runs, which is one of its answers, and the engine says so;
* f16, bf16 and i8 operands are stored narrow and computed in f32; the result of arithmetic on f16 and bf16 is
  rounded to their type once, the result of a product is f32.
"""

from __future__ import annotations

import warnings
from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from atoll.engine.capabilities import Capability


class Tier(StrEnum):
    """How far results are the same."""

    EXACT = "exact"
    DEVICE = "device"
    TOLERANCE = "tolerance"


class FallbackWarning(UserWarning):
    """A primitive ran in another way than was asked for, by a rule of the engine."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What runs, and why.

    Attributes:
        primitive: Its name.
        variant: The kernel that runs, or `library`.
        tier: How far the result is the same.
        reason: The rule that decided.
        parts: Into how many parts K is split.
        fallback: Whether it is less than what was asked for.
    """

    primitive: str
    variant: str
    tier: Tier
    reason: str
    parts: int = 1
    fallback: bool = False


#: The last decisions, the newest last.
decisions: deque[Decision] = deque(maxlen=256)

#: K is split where one tile of results would wait for so many products.
LONG, PART = 8192, 2048
#: The larger tiles serve from here on, and the largest from so many results.
WIDE, MANY = 128, 1 << 22


@dataclass(frozen=True, slots=True)
class Product:
    """The sizes of a product of matrices: `batch` times (m, k) by (k, n)."""

    batch: int
    m: int
    n: int
    k: int
    element: str = "f32"


def parts_of(product: Product) -> int:
    """Return into how many parts K is split: a matter of shapes alone, as the bytes depend on it."""
    few = product.batch * product.m * product.n <= WIDE * WIDE
    return -(-product.k // PART) if few and product.k >= LONG else 1


def decide_product(product: Product, able: Capability, tier: Tier) -> Decision:
    """Return how a product of matrices runs."""
    if tier is Tier.DEVICE and able.library:
        return Decision(
            "matmul", "library", Tier.DEVICE, "the device tier was asked for, and the driver has one"
        )
    fallback = tier is Tier.DEVICE
    parts = parts_of(product)
    if not able.shares:
        variant, reason = "plain", "shared memory gains nothing here"
    elif able.group_size < 256:
        variant, reason = "plain", f"a group has {able.group_size} work-items here, tiles take 256"
    elif min(product.m, product.n) >= WIDE and product.batch * product.m * product.n >= MANY:
        variant, reason = "block", f"there are {MANY} results or more"
    elif product.m >= WIDE and product.n >= WIDE:
        variant, reason = "wide", f"both sides have {WIDE} or more"
    else:
        variant, reason = "tiled", f"a side has less than {WIDE}"
    if fallback:
        reason = f"`{able.device}` has no library for the device tier; {reason}"
    return Decision("matmul", variant, Tier.EXACT, reason, parts, fallback)


def note(decision: Decision) -> Decision:
    """Keep a decision among the last ones, and warn where it is less than was asked."""
    decisions.append(decision)
    if decision.fallback:
        warnings.warn(f"{decision.primitive}: {decision.reason}", FallbackWarning, stacklevel=4)
    return decision
