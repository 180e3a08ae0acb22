"""Which KIR programs must every emitter carry right? Each with a launch, arguments and what it is about.

Their texts lie in ``kir/``, a file each. :mod:`atoll.testing.evaluate` says what they compute; the tables of
single operations are :mod:`atoll.testing.tables`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from atoll.ir import BF16, F16, Module
from atoll.ir.parse import parse
from atoll.ir.scalar import rounded
from atoll.ir.verify import verify
from atoll.testing.evaluate import ViewValue
from atoll.testing.program import Arguments, Program, floats, ints
from atoll.testing.tables import table_programs

__all__ = ["Program", "programs"]

#: A file of text a program, by its name.
_TEXTS = Path(__file__).resolve().with_name("kir")


@cache
def _module(name: str) -> Module:
    return verify(parse((_TEXTS / f"{name}.kir").read_text(encoding="ascii")))


def _strided_arguments() -> Arguments:
    return {
        "x": ViewValue([float(value) for value in range(60)], (5, 6), (-8, 1), offset=40),
        "out": ViewValue([0.0] * 64, (6, 5), (2, 12), offset=1),
    }


def _noise(count: int, seed: int) -> list[int]:
    """Return repeatable integers of 32 bits: a linear congruential generator (Numerical Recipes)."""
    found = []
    for _ in range(count):
        seed = (seed * 1664525 + 1013904223) % (1 << 32)
        found.append(seed - (1 << 31))
    return found


def _plain() -> list[Program]:
    """Return the programs about views, strides, ids and the domain."""
    return [
        Program(
            name="saxpy", about="views, scalars, the domain", module=_module("saxpy"), groups=(2, 1, 1),
            domain=(100, 1, 1),
            arguments=lambda: {
                "a": 2.5, "x": floats(*map(float, range(97))), "y": floats(*(0.125 * i for i in range(97))),
                "out": ViewValue([7.0] * 128, (97,), (1,)),
            },
        ),
        Program(
            name="guard", about="a short circuit guards a load", module=_module("guard"), group=(24, 1, 1),
            arguments=lambda: {"x": ints(*[5, 1, 3, 9, 0, 4, 2, 8]), "out": ints(*[9] * 24)},
        ),
        Program(
            name="strided", about="strides of both signs, offsets, two dimensions", module=_module("strided"),
            group=(8, 8, 1), domain=(6, 5, 1), arguments=_strided_arguments,
        ),
        Program(
            name="batched", about="ids in three dimensions", module=_module("batched"), groups=(2, 3, 2),
            group=(4, 2, 3), domain=(7, 5, 6),
            arguments=lambda: {"x": ViewValue([0] * 210, (6, 5, 7), (35, 7, 1))},
        ),
    ]  # fmt: skip


def _flow() -> list[Program]:
    """Return the programs about control flow and barriers."""
    return [
        Program(
            name="block_sum", about="shared memory, a barrier in a loop", module=_module("block_sum"),
            groups=(3, 1, 1),
            arguments=lambda: {"x": floats(*map(float, range(150))), "out": floats(0.0, 0.0, 0.0)},
        ),
        Program(
            name="control", about="nested loops, break, continue, early return", module=_module("control"),
            groups=(2, 1, 1), group=(32, 1, 1), domain=(48, 1, 1),
            arguments=lambda: {"x": ints(*range(-8, 40)), "out": ints(*[9] * 48)},
        ),
        Program(
            name="rotate", about="locals across barriers, break, continue", module=_module("rotate"),
            group=(8, 4, 1),
            arguments=lambda: {"rounds": 12, "x": ints(*range(3, 35)), "out": ints(*[9] * 32)},
        ),
        Program(
            name="early", about="a whole group returns before a barrier", module=_module("early"),
            groups=(5, 1, 1), group=(16, 1, 1),
            arguments=lambda: {"stop": 2, "x": ints(*range(80)), "out": ints(*[9] * 80)},
        ),
    ]  # fmt: skip


def _types() -> list[Program]:
    """Return the programs about narrow integers and floats, and every scalar of the parameter block."""
    noise = _noise(128, 7)
    return [
        Program(
            name="wholes", about="constants that no integer holds, made whole", module=_module("wholes"),
            group=(1, 1, 1), arguments=lambda: {"f": floats(*[7.0] * 24)},
        ),
        Program(
            name="narrow", about="integers of 8 and 16 bits", module=_module("narrow"), group=(64, 1, 1),
            arguments=lambda: {
                "b": -7, "h": 40503, "x": ints(*[(value >> 9) % 256 - 128 for value in noise[:64]]),
                "y": ints(*[value % 65536 for value in noise[64:]]), "p": ints(*[9] * 64),
                "q": ints(*[9] * 64),
            },
        ),
        Program(
            name="half", about="floats of 16 bits: arguments, memory, sums that round",
            module=_module("half"), group=(32, 1, 1),
            arguments=lambda: {
                "a": 0.333251953125, "b": -1.5,
                "x": floats(*[float(rounded(F16, (n * 37 % 101 - 50) / 7)) for n in range(32)]),
                "y": floats(*[float(rounded(BF16, n * 1.7)) for n in range(32)]),
                "p": floats(*[0.0] * 32), "q": floats(*[0.0] * 32),
            },
        ),
        Program(
            name="scalars", about="every scalar in the parameter block", module=_module("scalars"),
            group=(2, 1, 1),
            arguments=lambda: {
                "t": True, "a": -5, "b": 200, "c": -300, "d": 60000, "e": 4000000000, "f": -(1 << 40),
                "g": (1 << 63) + 4096, "h": 1.0e-9, "k": 0.25, "one": ints(9, 9), "two": floats(9.0, 9.0),
            },
        ),
    ]  # fmt: skip


def _own() -> list[Program]:
    """Return the programs about arrays of a work-item, and sub-groups."""
    noise = _noise(128, 7)
    return [
        Program(
            name="private", about="arrays of a work-item, across barriers", module=_module("private"),
            groups=(2, 1, 1), group=(8, 1, 1),
            arguments=lambda: {
                "x": ints(*[n * 7919 - 60000 for n in range(16)]),
                "y": ints(*[0] * 16),
            },
        ),
        Program(
            name="arrays", about="arrays of a work-item, narrow ones too", module=_module("arrays"),
            groups=(2, 1, 1), group=(8, 1, 1), domain=(13, 1, 1),
            arguments=lambda: {
                "x": ints(*[n * 23 % 256 for n in range(13)]),
                "o": floats(*[-1.0] * 13),
            },
        ),
        Program(
            name="subgroups", about="what a sub-group does together, and a fence",
            module=_module("subgroups"), groups=(2, 1, 1), group=(64, 1, 1),
            arguments=lambda: {"x": ints(*noise), "out": ints(*[0] * 128)},
        ),
    ]  # fmt: skip


def _counted() -> list[Program]:
    """Return the programs about atomics."""
    noise = _noise(128, 7)
    return [
        Program(
            name="atomics", about="every atomic on global memory",
            module=_module("atomics"), groups=(2, 1, 1), group=(32, 1, 1),
            arguments=lambda: {
                "x": ints(*[value >> 20 for value in noise[:64]]), "c": ints(*[0] * 4, *[5] * 64),
                "u": ints(0, 0, (1 << 32) - 1, 0), "s": floats(0.5),
            },
        ),
        Program(
            name="shared_atomics", about="atomics on shared memory", module=_module("shared_atomics"),
            groups=(2, 1, 1), group=(32, 1, 1),
            arguments=lambda: {"x": ints(*noise[:64]), "out": ints(*[0] * 8)},
        ),
    ]  # fmt: skip


@cache
def programs() -> tuple[Program, ...]:
    """Return every program."""
    return (*_plain(), *_flow(), *_types(), *_own(), *_counted(), *table_programs())
