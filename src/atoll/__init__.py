"""Atoll: compile device code in any language into an ordinary program, and measure what it runs on.

Every public name is imported when it is first used, so that `import atoll` costs next to nothing.
"""

from __future__ import annotations

# As `typing` has it, which would take longer than all of `import atoll`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from atoll.accel import AccelSet as AccelSet
    from atoll.engine.fused import fuse as fuse
    from atoll.errors import AtollError as AtollError
    from atoll.kernels.definition import device as device
    from atoll.kernels.definition import extern as extern
    from atoll.kernels.definition import kernel as kernel
    from atoll.kernels.generics import const as const
    from atoll.kernels.intrinsics.interface import implements as implements
    from atoll.kernels.intrinsics.interface import interface as interface
    from atoll.kernels.intrinsics.interface import intrinsic as intrinsic
    from atoll.kernels.intrinsics.interface import intrinsics as intrinsics
    from atoll.kernels.intrinsics.interface import portable as portable
    from atoll.kernels.intrinsics.standard import Target as Target
    from atoll.kernels.pointers import ptr as ptr
    from atoll.kernels.scalars import bf16 as bf16
    from atoll.kernels.scalars import bool_ as bool_
    from atoll.kernels.scalars import f16 as f16
    from atoll.kernels.scalars import f32 as f32
    from atoll.kernels.scalars import f64 as f64
    from atoll.kernels.scalars import fixed as fixed
    from atoll.kernels.scalars import i8 as i8
    from atoll.kernels.scalars import i16 as i16
    from atoll.kernels.scalars import i32 as i32
    from atoll.kernels.scalars import i64 as i64
    from atoll.kernels.scalars import u8 as u8
    from atoll.kernels.scalars import u16 as u16
    from atoll.kernels.scalars import u32 as u32
    from atoll.kernels.scalars import u64 as u64
    from atoll.kernels.scalars import view as view
    from atoll.kernels.structs import struct as struct
    from atoll.kernels.surface import asm as asm
    from atoll.kernels.surface import atomic_add as atomic_add
    from atoll.kernels.surface import atomic_and as atomic_and
    from atoll.kernels.surface import atomic_compare_exchange as atomic_compare_exchange
    from atoll.kernels.surface import atomic_exchange as atomic_exchange
    from atoll.kernels.surface import atomic_max as atomic_max
    from atoll.kernels.surface import atomic_min as atomic_min
    from atoll.kernels.surface import atomic_or as atomic_or
    from atoll.kernels.surface import atomic_xor as atomic_xor
    from atoll.kernels.surface import barrier as barrier
    from atoll.kernels.surface import bitcast as bitcast
    from atoll.kernels.surface import ceil as ceil
    from atoll.kernels.surface import cos as cos
    from atoll.kernels.surface import exp as exp
    from atoll.kernels.surface import exp2 as exp2
    from atoll.kernels.surface import fence as fence
    from atoll.kernels.surface import floor as floor
    from atoll.kernels.surface import fma as fma
    from atoll.kernels.surface import global_id as global_id
    from atoll.kernels.surface import group_id as group_id
    from atoll.kernels.surface import group_size as group_size
    from atoll.kernels.surface import lane_id as lane_id
    from atoll.kernels.surface import local_id as local_id
    from atoll.kernels.surface import log as log
    from atoll.kernels.surface import log2 as log2
    from atoll.kernels.surface import num_groups as num_groups
    from atoll.kernels.surface import operations as operations
    from atoll.kernels.surface import pow as pow  # noqa: A004
    from atoll.kernels.surface import rint as rint
    from atoll.kernels.surface import rsqrt as rsqrt
    from atoll.kernels.surface import shared as shared
    from atoll.kernels.surface import shuffle as shuffle
    from atoll.kernels.surface import shuffle_down as shuffle_down
    from atoll.kernels.surface import shuffle_up as shuffle_up
    from atoll.kernels.surface import shuffle_xor as shuffle_xor
    from atoll.kernels.surface import sin as sin
    from atoll.kernels.surface import snippet as snippet
    from atoll.kernels.surface import sqrt as sqrt
    from atoll.kernels.surface import subgroup_add as subgroup_add
    from atoll.kernels.surface import subgroup_all as subgroup_all
    from atoll.kernels.surface import subgroup_and as subgroup_and
    from atoll.kernels.surface import subgroup_any as subgroup_any
    from atoll.kernels.surface import subgroup_broadcast as subgroup_broadcast
    from atoll.kernels.surface import subgroup_exclusive_add as subgroup_exclusive_add
    from atoll.kernels.surface import subgroup_id as subgroup_id
    from atoll.kernels.surface import subgroup_inclusive_add as subgroup_inclusive_add
    from atoll.kernels.surface import subgroup_max as subgroup_max
    from atoll.kernels.surface import subgroup_min as subgroup_min
    from atoll.kernels.surface import subgroup_or as subgroup_or
    from atoll.kernels.surface import subgroup_size as subgroup_size
    from atoll.kernels.surface import subgroup_xor as subgroup_xor
    from atoll.kernels.surface import tan as tan
    from atoll.kernels.surface import tanh as tanh
    from atoll.kernels.surface import trunc as trunc
    from atoll.kernels.vectors import vec as vec
    from atoll.packaging import measure as measure
    from atoll.runtime import capture as capture
    from atoll.runtime import devices as devices
    from atoll.runtime import open as open  # noqa: A004
    from atoll.runtime import trace as trace
    from atoll.runtime.array import array as array

_SCALARS = "bool_ i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 view fixed"
_MARKS = "interface intrinsic intrinsics portable implements"
_SURFACE = (
    "global_id local_id group_id group_size num_groups barrier shared bitcast atomic_add atomic_min "
    "atomic_max atomic_and atomic_or atomic_xor atomic_exchange atomic_compare_exchange sqrt rsqrt exp exp2 "
    "log log2 sin cos tan tanh floor ceil trunc rint pow fma lane_id subgroup_id subgroup_size fence "
    "subgroup_add subgroup_min subgroup_max subgroup_and subgroup_or subgroup_xor subgroup_inclusive_add "
    "subgroup_exclusive_add subgroup_all subgroup_any subgroup_broadcast shuffle shuffle_xor shuffle_up "
    "shuffle_down asm snippet operations"
)
# Public name -> the module that has it. No name is also a room of atoll; a test holds it.
_HOMES = {
    "AccelSet": "atoll.accel",
    "AtollError": "atoll.errors",
    "array": "atoll.runtime.array",
    "fuse": "atoll.engine.fused",
    "device": "atoll.kernels.definition",
    "extern": "atoll.kernels.definition",
    "kernel": "atoll.kernels.definition",
    "const": "atoll.kernels.generics",
    "ptr": "atoll.kernels.pointers",
    "vec": "atoll.kernels.vectors",
    "struct": "atoll.kernels.structs",
    "capture": "atoll.runtime",
    "devices": "atoll.runtime",
    "measure": "atoll.packaging",
    "open": "atoll.runtime",
    "trace": "atoll.runtime",
    "Target": "atoll.kernels.intrinsics.standard",
    **dict.fromkeys(_MARKS.split(), "atoll.kernels.intrinsics.interface"),
    **dict.fromkeys(_SCALARS.split(), "atoll.kernels.scalars"),
    **dict.fromkeys(_SURFACE.split(), "atoll.kernels.surface"),
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name in _HOMES:
        from importlib import import_module

        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found
    raise AttributeError(f"module 'atoll' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted({*globals(), *_HOMES})
