"""Which functions give the same bytes on every device? These: `+ - *`, integers and selects, nothing else.

Division, square roots and the functions of drivers round differently from device to device, and results
below the least normal number are flushed by some; so each function here flushes them itself. A NaN that comes
out is 0x7fc00000. :mod:`atoll.engine.reference` does the same steps in NumPy.

Sources: the polynomials of `exp`, `log` and `tanh` are those of Cephes' single precision functions (Moshier);
`recip` and `rsqrt` are Newton's steps from a guess made of the exponent's bits.
"""

# Kernels are checked by the kernel compiler; to a type checker their numbers are what they are in the oracle.
# mypy: ignore-errors
from __future__ import annotations

import atoll
from atoll import bool_, device, f32, i32, u32

NAN, INF = 0x7FC00000, 0x7F800000
LEAST = 0x00800000  # the least normal number
SIGN, REST = 0x80000000, 0x7FFFFFFF
ROUND = 12582912.0  # 1.5 * 2**23: adding it leaves no bits below 1
LOG2E = 1.44269504088896341
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
EXP_HIGH, EXP_LOW = 88.7228, -87.33


@device
def is_nan(x: f32) -> bool_:
    """Tell whether it is no number, by its bits."""
    return (atoll.bitcast(u32, x) & REST) > INF


@device
def canonical(x: f32) -> f32:
    """Return it, each NaN as the one NaN."""
    return atoll.bitcast(f32, u32(NAN)) if is_nan(x) else x


@device
def recip(x: f32) -> f32:
    """Return 1 / x, within 2 units in the last place."""
    bits = atoll.bitcast(u32, x)
    size = bits & REST
    a = atoll.bitcast(f32, size)
    # The scale keeps every step normal: 1 / a = s / (a * s).
    high, low = size >= u32(0x7E000000), size < u32(0x02000000)
    scale = f32(5.9604644775390625e-08) if high else (f32(16777216.0) if low else f32(1.0))
    b = a * scale
    y = atoll.bitcast(f32, u32(0x7EF311C3) - atoll.bitcast(u32, b))
    y = y * (2.0 - b * y)
    y = y * (2.0 - b * y)
    y = y * (2.0 - b * y)
    y = y * (2.0 - b * y)
    y = y * scale
    found = atoll.bitcast(u32, y)
    found = u32(0) if size > u32(0x7E800000) else found
    found = u32(INF) if size < u32(LEAST) else found
    found = u32(NAN) if size > u32(INF) else (found | (bits & SIGN))
    return atoll.bitcast(f32, found)


@device
def divide(x: f32, y: f32) -> f32:
    """Return x / y, within 3 units in the last place where 1 / y is normal."""
    return x * recip(y)


@device
def rsqrt(x: f32) -> f32:
    """Return one over the square root, within 2 units in the last place; negative numbers give NaN."""
    bits = atoll.bitcast(u32, x)
    size = bits & REST
    half = 0.5 * x
    y = atoll.bitcast(f32, u32(0x5F3759DF) - (size >> u32(1)))
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    found = atoll.bitcast(u32, y)
    found = u32(0) if size == u32(INF) else found
    found = u32(INF) if size < u32(LEAST) else found
    negative = bits >= u32(SIGN) and size >= u32(LEAST)
    return atoll.bitcast(f32, u32(NAN) if negative or size > u32(INF) else found)


@device
def sqrt(x: f32) -> f32:
    """Return the square root, within 2 units in the last place."""
    bits = atoll.bitcast(u32, x)
    size = bits & REST
    found = x * rsqrt(x)
    special = size < u32(LEAST) or bits == u32(INF)
    flushed = x if bits == u32(INF) else f32(0.0)
    return flushed if special else canonical(found)


@device
def exp(x: f32) -> f32:
    """Return e to the x, within 2 units in the last place; what would be below 2**-126 is 0."""
    inside = min(max(x, EXP_LOW), EXP_HIGH)
    n = (inside * LOG2E + ROUND) - ROUND
    r = (inside - n * LN2_HIGH) - n * LN2_LOW
    p = f32(1.9875691500e-4)
    p = p * r + 1.3981999507e-3
    p = p * r + 8.3334519073e-3
    p = p * r + 4.1665795894e-2
    p = p * r + 1.6666665459e-1
    p = p * r + 5.0000001201e-1
    p = (p * (r * r) + r) + 1.0
    twice = n > 127.5  # 2**128 is no number
    found = p * atoll.bitcast(f32, (min(i32(n), 127) + 127) << 23)
    found = found + found if twice else found
    found = f32(0.0) if x < EXP_LOW else found
    bits = u32(INF) if x > EXP_HIGH else atoll.bitcast(u32, found)
    return atoll.bitcast(f32, u32(NAN) if is_nan(x) else bits)


@device
def log(x: f32) -> f32:
    """Return the natural logarithm, within 2 units in the last place; of what is below 2**-126, -inf."""
    bits = atoll.bitcast(u32, x)
    e = i32(bits >> u32(23)) - 126
    m = atoll.bitcast(f32, (bits & u32(0x007FFFFF)) | u32(0x3F000000))  # from 0.5 to 1
    small = m < 0.707106781186547524
    k = f32(e - 1) if small else f32(e)
    f = (m + m) - 1.0 if small else m - 1.0
    z = f * f
    p = f32(7.0376836292e-2)
    p = p * f - 1.1514610310e-1
    p = p * f + 1.1676998740e-1
    p = p * f - 1.2420140846e-1
    p = p * f + 1.4249322787e-1
    p = p * f - 1.6668057665e-1
    p = p * f + 2.0000714765e-1
    p = p * f - 2.4999993993e-1
    p = p * f + 3.3333331174e-1
    y = (p * f) * z
    y = y + k * LN2_LOW
    y = y - 0.5 * z
    found = (f + y) + k * LN2_HIGH
    size = bits & REST
    out = u32(INF) if bits == u32(INF) else atoll.bitcast(u32, found)
    out = u32(0xFF800000) if size < u32(LEAST) else out
    negative = bits >= u32(SIGN) and size >= u32(LEAST)
    return atoll.bitcast(f32, u32(NAN) if negative or size > u32(INF) else out)


@device
def tanh(x: f32) -> f32:
    """Return the hyperbolic tangent, within 4 units in the last place."""
    z = x * x
    p = f32(-5.70498872745e-3)
    p = p * z + 2.06390887954e-2
    p = p * z - 5.37397155531e-2
    p = p * z + 1.33314422036e-1
    p = p * z - 3.33332819422e-1
    near = (p * z) * x + x
    bits = atoll.bitcast(u32, x)
    size = atoll.bitcast(f32, bits & REST)
    far = 1.0 - 2.0 * recip(exp(size + size) + 1.0)
    far = atoll.bitcast(f32, atoll.bitcast(u32, far) | (bits & SIGN))
    return canonical(near if size < 0.625 else far)


@device
def sigmoid(x: f32) -> f32:
    """Return 1 / (1 + exp(-x))."""
    return recip(1.0 + exp(-x))


@device
def cos_turns(u: f32) -> f32:
    """Return the cosine of `u` turns, for u from 0 to 1: a polynomial on a quarter of a turn."""
    far = u - 0.5
    a = atoll.bitcast(f32, atoll.bitcast(u32, far) & REST)  # from 0 to 0.5, of the half turned back
    flip = a > 0.25
    q = 0.5 - a if flip else a
    t = q * 6.283185307179586
    z = t * t
    p = f32(-2.7557314e-7)
    p = p * z + 2.4801587e-5
    p = p * z - 1.3888889e-3
    p = p * z + 4.1666667e-2
    p = p * z - 0.5
    c = p * z + 1.0
    return c if flip else -c
