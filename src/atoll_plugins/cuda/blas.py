"""Products of matrices by NVIDIA's own library, for the *device* tier of the engine.

cuBLASLt is looked for beside the wheels of `nvidia-cublas` and by the loader's name; without it the device
has no `product`. Source of every constant: cublasLt.h and library_types.h of CUDA 12 and 13 (the values are
the same). What it reaches on an H200: docs/benchmarks/runtime.md.

The library counts in columns, arrays here lie in rows: out = x y by rows is outᵀ = yᵀ xᵀ by columns, so y
goes first. TF32 is off: CUBLAS_COMPUTE_32F. Sums of i8 are integers, so they are exact.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError, LaunchError

_TYPES = {"f32": 0, "f16": 2, "i8": 3, "i32": 10, "bf16": 14}  # CUDA_R_32F, _16F, _8I, _32I, _16BF
#: By the result's type: CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32I; and what holds the factors of a sum.
_COMPUTE: dict[str, tuple[int, Any]] = {"f32": (68, ctypes.c_float), "i32": (72, ctypes.c_int32)}
_TRANSPOSE_A, _TRANSPOSE_B = 3, 4  # CUBLASLT_MATMUL_DESC_TRANSA, _TRANSB
_BATCHES, _APART = 5, 6  # CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, _STRIDED_BATCH_OFFSET
_WORKSPACE = 1  # CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
_ALIGNED = (5, 6, 7, 8)  # CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, _B_, _C_, _D_
#: What the library may use beside the operands; NVIDIA's advice for a device of compute capability 9.0.
WORKSPACE_BYTES = 32 << 20
_NAMES = ("libcublasLt.so.13", "libcublasLt.so.12")


class _Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = (
        ("algo", ctypes.c_uint64 * 8),
        ("workspace", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("waves", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


def candidates() -> Iterator[str]:
    """Give where the library may lie: in a wheel of NVIDIA's, then wherever the loader looks."""
    for folder in map(Path, sys.path):
        for name in _NAMES:
            yield from map(str, sorted(folder.glob(f"nvidia/*/lib/{name}")))
    yield from _NAMES


@cache
def library() -> Any:
    """Return the library, or None."""
    for name in candidates():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class Products:
    """Multiplies arrays of one device; its handle and workspace live as long as it does.

    Args:
        lib: The library.
        device: The device of the driver: it allocates the workspace and makes its context current.
    """

    def __init__(self, lib: Any, device: Any) -> None:
        self._lib, self._device = lib, device
        self._handle = ctypes.c_void_p()
        with device.current():
            self._call("cublasLtCreate", ctypes.byref(self._handle))
        self._workspace = device.allocate(WORKSPACE_BYTES)

    def close(self) -> None:
        """Give the handle back; the device's context is current, and its buffers go with it."""
        self._lib.cublasLtDestroy(self._handle)

    def __call__(self, x: Any, y: Any, out: Any) -> None:
        """Queue out = x y on the device's own stream: (batch, m, k) by (batch, k, n).

        The result is f32, or i32 of operands that are i8.

        Raises:
            LaunchError: Where an operand has gaps in both of its last dimensions.
            DeviceError: Where the library fails.
        """
        made: list[tuple[str, ctypes.c_void_p]] = []
        try:
            with self._device.current():
                self._multiply(x, y, out, made)
        finally:
            for function, item in reversed(made):
                getattr(self._lib, function)(item)

    def _multiply(self, x: Any, y: Any, out: Any, made: list[tuple[str, ctypes.c_void_p]]) -> None:
        kind = _TYPES[x.element]
        batch, m, n = out.shape
        k = x.shape[2]
        (turn_y, step_y), (turn_x, step_x) = leading(y), leading(x)
        result, (compute, number) = _TYPES[out.element], _COMPUTE[out.element]
        operation = self._made(made, "MatmulDesc", compute, result)
        for attribute, turn in ((_TRANSPOSE_A, turn_y), (_TRANSPOSE_B, turn_x)):
            self._set("cublasLtMatmulDescSetAttribute", operation, attribute, ctypes.c_int32(turn))
        sizes = (k, n) if turn_y else (n, k), (m, k) if turn_x else (k, m)
        a = self._layout(made, kind, *sizes[0], step_y, batch, y.strides[0])
        b = self._layout(made, kind, *sizes[1], step_x, batch, x.strides[0])
        c = self._layout(made, result, n, m, out.strides[1], batch, out.strides[0])
        chosen = self._chosen(made, operation, (a, b, c), [aligned(item) for item in (y, x, out, out)])
        one, zero = number(1), number(0)
        at_y, at_x, at_out = (ctypes.c_void_p(item.address) for item in (y, x, out))
        space = ctypes.c_void_p(self._device.address(self._workspace)), ctypes.c_size_t(WORKSPACE_BYTES)
        told = (ctypes.byref(one), at_y, a, at_x, b, ctypes.byref(zero), at_out, c, at_out, c)
        self._call("cublasLtMatmul", self._handle, operation, *told, ctypes.byref(chosen.algo), *space, None)

    def _chosen(
        self, made: Any, operation: Any, layouts: tuple[Any, Any, Any], starts: list[int]
    ) -> _Heuristic:
        wish = self._made(made, "MatmulPreference")
        set_ = "cublasLtMatmulPreferenceSetAttribute"
        self._set(set_, wish, _WORKSPACE, ctypes.c_size_t(WORKSPACE_BYTES))
        for attribute, start in zip(_ALIGNED, starts, strict=True):
            self._set(set_, wish, attribute, ctypes.c_uint32(start))
        best, count = _Heuristic(), ctypes.c_int()
        told = (*layouts, layouts[2], wish, 1, ctypes.byref(best), ctypes.byref(count))
        self._call("cublasLtMatmulAlgoGetHeuristic", self._handle, operation, *told)
        if not count.value or best.state:
            raise _failed("cublasLtMatmulAlgoGetHeuristic", "no algorithm")
        return best

    def _layout(self, made: Any, kind: int, rows: int, cols: int, step: int, batch: int, apart: int) -> Any:
        sizes = ctypes.c_uint64(rows), ctypes.c_uint64(cols), ctypes.c_int64(step)
        item = self._made(made, "MatrixLayout", kind, *sizes)
        set_ = "cublasLtMatrixLayoutSetAttribute"
        self._set(set_, item, _BATCHES, ctypes.c_int32(batch))
        self._set(set_, item, _APART, ctypes.c_int64(apart))
        return item

    def _made(self, made: list[tuple[str, ctypes.c_void_p]], what: str, *arguments: Any) -> ctypes.c_void_p:
        item = ctypes.c_void_p()
        self._call(f"cublasLt{what}Create", ctypes.byref(item), *arguments)
        made.append((f"cublasLt{what}Destroy", item))
        return item

    def _set(self, function: str, item: Any, attribute: int, value: Any) -> None:
        self._call(function, item, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))

    def _call(self, function: str, *arguments: Any) -> None:
        result = getattr(self._lib, function)(*arguments)
        if result:
            raise _failed(function, f"status {result}")


def aligned(item: Any) -> int:
    """Return the largest power of two, to 256, that an array's first element lies at a multiple of."""
    address = int(item.address)
    return min(256, address & -address) if address else 256


def leading(item: Any) -> tuple[int, int]:
    """Return whether an operand is turned (1) or not (0), and the step between its rows or columns.

    Raises:
        LaunchError: Where neither of its last dimensions lies without gaps.
    """
    rows, cols = item.shape[1:]
    down, right = item.strides[1:]
    if right == 1 or cols == 1:
        return 0, max(down if rows > 1 else cols, cols, 1)
    if down == 1 or rows == 1:
        return 1, max(right, rows, 1)
    raise LaunchError(
        Diagnostic(
            code="ATL0822",
            message="`matmul` of the device tier takes operands whose rows or columns lie without gaps",
            notes=(f"the shape: {item.shape}", f"the strides: {item.strides}"),
            hint="copy it with `atoll.engine.copy(x)`",
        )
    )


def _failed(function: str, result: str) -> DeviceError:
    return DeviceError(
        Diagnostic(code="ATL0803", message=f"`{function}` failed", notes=(f"it returned {result}",))
    )
