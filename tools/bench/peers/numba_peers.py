"""Some jobs of examples/kernels in numba-cuda; measured by tools/bench/kernels_on_device.py."""
# mypy: ignore-errors
# ruff: noqa

import numpy

if not hasattr(numpy, "row_stack"):  # NumPy 2.5 took it away, and this numba asks for it
    numpy.row_stack = numpy.vstack

from numba import cuda


@cuda.jit
def _saxpy(a, x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def _add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def _stencil(x, out):
    c, r = cuda.grid(2)
    if r >= x.shape[0] or c >= x.shape[1]:
        return
    if r == 0 or c == 0 or r == x.shape[0] - 1 or c == x.shape[1] - 1:
        out[r, c] = x[r, c]
    else:
        out[r, c] = (x[r - 1, c] + x[r + 1, c] + x[r, c - 1] + x[r, c + 1]) * 0.25


@cuda.jit
def _mandelbrot(left, top, step, limit, counts):
    c, r = cuda.grid(2)
    if r >= counts.shape[0] or c >= counts.shape[1]:
        return
    real, imaginary = left + c * step, top + r * step
    x, y, count = left * 0, left * 0, 0
    while count < limit:
        xx, yy = x * x, y * y
        if xx + yy > 4:
            break
        x, y = xx - yy + real, x * y + x * y + imaginary
        count += 1
    counts[r, c] = count


@cuda.jit
def _matmul(a, b, out):
    c, r = cuda.grid(2)
    if r < out.shape[0] and c < out.shape[1]:
        total = a[r, 0] * 0
        for k in range(a.shape[1]):
            total += a[r, k] * b[k, c]
        out[r, c] = total


@cuda.jit
def _spmv(offsets, columns, values, x, out):
    row = cuda.grid(1)
    if row < out.size:
        total = x[0] * 0
        for at in range(offsets[row], offsets[row + 1]):
            if values[at] == 0:
                continue
            total += values[at] * x[columns[at]]
        out[row] = total


def _arrays(*given):
    return [cuda.as_cuda_array(item) if hasattr(item, "data_ptr") else item for item in given]


def _flat(kernel, size, *given):
    ready = _arrays(*given)
    return lambda: kernel[(size + 255) // 256, 256](*ready)


def _plane(kernel, shape, *given):
    ready = _arrays(*given)
    return lambda: kernel[((shape[1] + 31) // 32, (shape[0] + 7) // 8), (32, 8)](*ready)


def prepare(name, given):
    """Return what launches a job once, or None where numba has no peer here."""
    import numpy as np

    given = [np.float32(item) if isinstance(item, float) else item for item in given]
    match name:
        case "saxpy":
            return _flat(_saxpy, given[-1].numel(), *given)
        case "residual_add":
            return _flat(_add, given[-1].numel(), *given)
        case "stencil":
            return _plane(_stencil, given[-1].shape, *given)
        case "mandelbrot":
            return _plane(_mandelbrot, given[-1].shape, *given)
        case "matmul_naive":
            return _plane(_matmul, given[-1].shape, *given)
        case "spmv":
            return _flat(_spmv, given[-1].numel(), *given)
    return None
