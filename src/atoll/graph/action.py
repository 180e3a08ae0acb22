"""What one command is, as a value: equality is the cache key."""

from __future__ import annotations

from enum import StrEnum

from atoll._util.values import dataclass


class Role(StrEnum):
    """What an action's outputs are for."""

    SOURCE = "source"
    OBJECT = "object"
    ARTIFACT = "artifact"
    CHECK = "check"
    LINK = "link"


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One command, run without a shell.

    Every path in `argv`, `inputs`, `outputs` and `depfile` is either absolute or relative to the
    project root, with forward slashes. Commands run in the project root.

    Attributes:
        name: What a person calls it, such as ``cuda kernels/saxpy.cu``; unique in a graph.
        argv: The program and its arguments.
        inputs: Everything it reads that is known beforehand, the program's own files included
            where they can change (a compiler found on the host does, its headers do not).
        outputs: Everything it writes, the depfile excepted.
        role: What the outputs are for.
        depfile: A make-style file it writes that lists inputs found while running.
        depfile_style: ``make`` where the tool escapes spaces and friends as make does; ``raw``
            where it does not, so that the graph reads it against the known file names.
        dyndep: An input, made by another action, that lists in ninja's dyndep format which further inputs
            must be there first; only known once other actions have read the sources.
        env: Variables set for it, on top of a scrubbed environment.
        key: Extra text that makes two otherwise equal actions different (a compiler's hash).
        memory: Bytes it may need at its peak, for the pools.
        time_limit: Seconds after which it is stopped; None for no limit.
        on_demand: Whether it runs only where another action turns out to need an output of it.
        description: A line for the progress bar; `name` where empty.
    """

    name: str
    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    role: Role
    depfile: str | None = None
    depfile_style: str = "make"
    dyndep: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    key: str = ""
    memory: int = 256 << 20
    time_limit: float | None = None
    on_demand: bool = False
    description: str = ""
