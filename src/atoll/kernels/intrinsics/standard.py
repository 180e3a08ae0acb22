"""The standard set: what real kernels use and each platform spells differently.

Every body here is portable: right on each platform, without the hint or the faster instruction. Platforms
implement what they have in `atoll_plugins.PLATFORM.intrinsics`. What KIR has itself (atomics, sub-groups,
barriers, maths) is not repeated; docs/reference/intrinsics.md lists both. Identifiers: `ledger.txt`.
"""

# mypy: disable-error-code="no-any-return,empty-body"
from __future__ import annotations

from atoll.kernels import surface
from atoll.kernels.intrinsics.interface import intrinsics, portable
from atoll.kernels.pointers import ptr
from atoll.kernels.scalars import bool_, f32, i32, u32, u64


@intrinsics
class Target:
    """Cache hints, bits, dot products, fast maths, asynchronous copies, a clock."""

    @staticmethod
    @portable
    def ldcs(ptr: ptr[f32]) -> f32:
        """Load what is read once: it need not stay in a cache."""
        return ptr[0]

    @staticmethod
    @portable
    def ldcg(ptr: ptr[f32]) -> f32:
        """Load through the cache that all work-groups share."""
        return ptr[0]

    @staticmethod
    @portable
    def stcs(ptr: ptr[f32], value: f32) -> None:
        """Store what nobody reads soon."""
        ptr[0] = value

    @staticmethod
    @portable
    def stcg(ptr: ptr[f32], value: f32) -> None:
        """Store through the cache that all work-groups share."""
        ptr[0] = value

    @staticmethod
    @portable
    def prefetch(ptr: ptr[f32]) -> None:
        """Ask for an element that is loaded later; no effect is right too."""

    @staticmethod
    @portable
    def popcount(x: u32) -> u32:
        """Return how many bits are set."""
        x = x - ((x >> 1) & 0x55555555)
        x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
        x = (x + (x >> 4)) & 0x0F0F0F0F
        return (x * 0x01010101) >> 24

    @staticmethod
    @portable
    def clz(x: u32) -> u32:
        """Return how many bits above the highest one are clear: 32 for 0."""
        count = u32(0)
        if x == 0:
            count = u32(32)
        else:
            for step in range(5):
                width = u32(16) >> u32(step)
                if x >> (u32(32) - width) == 0:
                    count += width
                    x = x << width
        return count

    @staticmethod
    @portable
    def brev(x: u32) -> u32:
        """Return the bits in the opposite order."""
        x = ((x >> 1) & 0x55555555) | ((x & 0x55555555) << 1)
        x = ((x >> 2) & 0x33333333) | ((x & 0x33333333) << 2)
        x = ((x >> 4) & 0x0F0F0F0F) | ((x & 0x0F0F0F0F) << 4)
        x = ((x >> 8) & 0x00FF00FF) | ((x & 0x00FF00FF) << 8)
        return (x >> 16) | (x << 16)

    @staticmethod
    @portable
    def dot4(a: u32, b: u32, c: i32) -> i32:
        """Return `c` and the products of four pairs of signed bytes, packed lowest first."""
        for byte in range(4):
            shift = u32(24 - 8 * byte)
            c += (i32(a << shift) >> 24) * (i32(b << shift) >> 24)
        return c

    @staticmethod
    @portable
    def fast_rsqrt(x: f32) -> f32:
        """Return about one over the square root."""
        return surface.rsqrt(x)

    @staticmethod
    @portable
    def fast_exp2(x: f32) -> f32:
        """Return about two to the x."""
        return surface.exp2(x)

    @staticmethod
    @portable
    def fast_sin(x: f32) -> f32:
        """Return about the sine of radians, best near zero."""
        return surface.sin(x)

    @staticmethod
    @portable
    def fast_cos(x: f32) -> f32:
        """Return about the cosine of radians, best near zero."""
        return surface.cos(x)

    @staticmethod
    @portable
    def copy_async(to: ptr[f32], source: ptr[f32]) -> None:
        """Start to copy an element of a view to a shared array; it is there after :func:`copy_wait`."""
        to[0] = source[0]

    @staticmethod
    @portable
    def copy_wait() -> None:
        """Wait for what this work-item copies; a barrier shows it to the others."""

    @staticmethod
    @portable
    def assume(condition: bool_) -> None:
        """Promise that a condition holds; no effect is right too."""

    @staticmethod
    @portable
    def muladd(a: f32, b: f32, c: f32) -> f32:
        """Return a * b + c, rounded once or twice, whichever the platform does faster."""
        return a * b + c

    @staticmethod
    @portable
    def mma(
        out: ptr[f32],
        a: ptr[f32],
        b: ptr[f32],
        out_step: i32,
        a_step: i32,
        b_step: i32,
        steps: i32,
        lane: i32,
    ) -> None:
        """Add a product to 16 by 8 elements of a shared array: 32 neighbouring work-items do it together.

        ``out[i * out_step + j] += sum of a[k * a_step + i] * b[k * b_step + j]``, with k below ``8 * steps``.
        All three are shared arrays; barriers stand around it. `lane` says which of the 32 calls, first of a
        multiple of 32 in the work-group; all 32 call it, with the same sizes.
        """
        for row in range(lane // 4, 16, 8):
            for column in range(lane % 4 * 2, lane % 4 * 2 + 2):
                total = out[row * out_step + column]
                for k in range(8 * steps):
                    total += a[k * a_step + row] * b[k * b_step + column]
                out[row * out_step + column] = total

    @staticmethod
    def clock() -> u64:
        """Return the ticks of a counter of the device: only differences mean something."""
