"""Kernels whose KIR is kept in golden files beside this one."""

import math
from typing import Literal

import atoll
from atoll import device, f32, i32, kernel, ptr, u32, vec, view

SCALE = 0.5


@kernel
def saxpy(a: f32, x: view[f32], y: view[f32], out: view[f32]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@kernel(block=256)
def block_sum(x: view[f32], out: view[f32]) -> None:
    tile = atoll.shared(f32, 256)
    lane = atoll.local_id(0)
    i = atoll.global_id(0)
    tile[lane] = x[i] if i < x.size else 0.0
    atoll.barrier()
    half = atoll.group_size(0) // 2
    while half > 0:
        if lane < half:
            tile[lane] += tile[lane + half]
        atoll.barrier()
        half //= 2
    if lane == 0:
        out[atoll.group_id(0)] = tile[0]


@device
def first_above(x: view[f32], least: f32, start: i32) -> i32:
    for k in range(start, i32(len(x)), 2):
        if x[k] > least:
            return i32(k)
    return i32(-1)


@kernel(block=(16, 4))
def everything(x: view[f32], m: view[u32, Literal[2]], hist: view[i32], n: i32) -> None:
    i, j = atoll.global_id(0), atoll.global_id(1)
    if not (0 <= i < n and x[i] > 0.0) or j >= m.shape[1]:
        return
    k = first_above(x, SCALE, i) % 7
    m[i, j] ^= u32(k) << 3
    atoll.atomic_add(hist, k if k >= 0 else 0, 1, order="acq_rel")
    y = math.sqrt(abs(x[i])) ** 2 + max(x[-1], 2)
    while True:
        y = y / 3
        if y < 1:
            break
    x[i] = atoll.fma(y, -y, SCALE * 3)


@atoll.extern(link="far away.cu")
def far(v: f32, by: i32) -> f32: ...  # type: ignore[empty-body]


@device
def first(p: ptr[f32], skip: i32) -> f32:
    p = p + skip
    return f32(p[0])


@kernel(block=32)
def language(x: view[f32], v: view[vec[f32, Literal[2]]], by: vec[f32, Literal[2]]) -> None:
    i = atoll.global_id(0)
    total = atoll.subgroup_add(x[i])
    before = atoll.subgroup_exclusive_add(atoll.lane_id())
    if atoll.subgroup_any(total > 1.0):
        total = atoll.subgroup_broadcast(total, atoll.subgroup_size() - 1)
    v[i] = (v[i] + by) * total
    v[i].y = atoll.shuffle_xor(x[i], 1)
    atoll.fence(scope="work_group")
    assert i >= 0
    print(i)
    x[i] = far(first(x, 3), before)
