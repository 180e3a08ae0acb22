"""KIR: the small typed structured IR between the front end and every emitter.

Its specification is docs/reference/kir.md. Knows no Python internals and no device.

Words: a *module* holds *kernels*; a body is *statements* over typed *expressions*
(:mod:`atoll.ir.nodes`); semantics stand in the operation (:mod:`atoll.ir.ops`); a *layout* says how
arguments reach a kernel. Emitters use it as ``from atoll.ir import nodes, ops``.
"""

from atoll.ir import nodes, ops
from atoll.ir.layout import LAUNCH_ABI, LaunchLayout, ParamField, layout
from atoll.ir.module import VERSION, Kernel, LocalVariable, Module, Parameter, PrivateArray, SharedArray
from atoll.ir.names import base_name, is_entry, is_reserved, kernel_symbol
from atoll.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    SCALARS,
    U8,
    U16,
    U32,
    U64,
    Kind,
    Pointer,
    Scalar,
    Space,
    View,
)
from atoll.ir.walk import accesses, has_barrier

__all__ = [
    "BF16",
    "BOOL",
    "F16",
    "F32",
    "F64",
    "I8",
    "I16",
    "I32",
    "I64",
    "LAUNCH_ABI",
    "SCALARS",
    "U8",
    "U16",
    "U32",
    "U64",
    "VERSION",
    "Kernel",
    "Kind",
    "LaunchLayout",
    "LocalVariable",
    "Module",
    "ParamField",
    "Parameter",
    "Pointer",
    "PrivateArray",
    "Scalar",
    "SharedArray",
    "Space",
    "View",
    "accesses",
    "base_name",
    "has_barrier",
    "is_entry",
    "is_reserved",
    "kernel_symbol",
    "layout",
    "nodes",
    "ops",
]
