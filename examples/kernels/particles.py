"""Structs: n-body with tiles of bodies in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Case, floats

import atoll
from atoll import device, f32, kernel, view

TILE = 32


@atoll.struct
class Vector:
    """Three numbers."""

    x: f32
    y: f32
    z: f32


@atoll.struct
class Body:
    """A mass at a place."""

    x: f32
    y: f32
    z: f32
    mass: f32


@device
def pull(at: Body, other: Body) -> Vector:
    """Return the acceleration that another body gives; softened, so that none is infinite."""
    x, y, z = other.x - at.x, other.y - at.y, other.z - at.z
    inverse = atoll.rsqrt(x * x + y * y + z * z + 0.01)
    strength = other.mass * inverse * inverse * inverse
    return Vector(x * strength, y * strength, z * strength)


@kernel(block=TILE)
def nbody(step: f32, bodies: view[Body], speeds: view[Vector], out: view[Body]):
    """One step: every body feels every other one."""
    tile = atoll.shared(Body, TILE)
    i, lane = atoll.global_id(0), atoll.local_id(0)
    count = bodies.size
    mine = bodies[min(i, count - 1)]
    total = Vector(0.0, 0.0, 0.0)
    for first in range(0, count, TILE):
        if first + lane < count:
            tile[lane] = bodies[first + lane]
        else:
            tile[lane] = Body(0.0, 0.0, 0.0, mass=0.0)
        atoll.barrier()
        for k in range(TILE):
            part = pull(mine, tile[k])
            total = Vector(total.x + part.x, total.y + part.y, total.z + part.z)
        atoll.barrier()
    if i < count:
        speeds[i].x += total.x * step
        speeds[i].y += total.y * step
        speeds[i].z += total.z * step
        speed = speeds[i]
        out[i] = Body(mine.x + speed.x * step, mine.y + speed.y * step, mine.z + speed.z * step, mine.mass)


def _nbody(step: float, bodies: Any, speeds: Any, out: Any) -> None:
    places = np.stack([bodies[axis].astype(np.float64) for axis in "xyz"])
    away = places[:, None, :] - places[:, :, None]
    inverse = 1 / np.sqrt((away**2).sum(axis=0) + 0.01)
    total = (away * (bodies["mass"] * inverse**3)[None]).sum(axis=2)
    for axis, part in zip("xyz", total, strict=True):
        speeds[axis] += part * step
        out[axis] = bodies[axis] + speeds[axis].astype(np.float64) * step
    out["mass"] = bodies["mass"]


def _arguments(random: np.random.Generator) -> tuple[Any, ...]:
    bodies, speeds = np.zeros(70, Body.dtype), np.zeros(70, Vector.dtype)
    for axis in "xyz":
        bodies[axis], speeds[axis] = floats(random, 70), floats(random, 70)
    bodies["mass"] = random.random(70)
    return 0.01, bodies, speeds, np.zeros(70, Body.dtype)


CASES = (Case(nbody, 96, _arguments, _nbody, bound=4e-6),)
