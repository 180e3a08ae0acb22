"""Moves bodies: a struct by value, and an array of structs that is changed in place."""

import atoll
from atoll import f32, kernel, view


@atoll.struct
class Step:
    time: f32


@atoll.struct
class Body:
    place: f32
    speed: f32


@kernel
def advance(step: Step, bodies: view[Body]):
    """Move each body by one step."""
    i = atoll.global_id(0)
    if i < bodies.size:
        bodies[i].place = bodies[i].place + step.time * bodies[i].speed
