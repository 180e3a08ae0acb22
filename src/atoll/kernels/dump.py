"""Which stages of a kernel are printed when a launch compiles it? Those that ``ATOLL_DUMP`` names.

They are what the launch runs: with what is known of its arrays, which ``atoll kernel show`` cannot know.
"""

from __future__ import annotations

import sys

from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.ir import Module
from atoll.ir.text import text
from atoll.kernels.front.compile import Compiled
from atoll.plugin import Disassembler, Emitted, Emitter, registry

VARIABLE = "ATOLL_DUMP"
KIR = ("kir", "kir-optimised")


def dump(named: str, compiled: Compiled, module: Module, emitter: Emitter, emitted: Emitted) -> None:
    """Print the stages that are named, separated by commas, to standard error.

    Args:
        named: ``kir`` is what the front end made, ``kir-optimised`` what was emitted, the rest is emitters'.
        compiled: The kernel as the front end left it.
        module: What the emitter was given.
        emitter: Of a binary it gives the disassembly, where it can.
        emitted: Its code.

    Raises:
        UsageError: Where no installed emitter has a stage of such a name.
    """
    words = {word.strip() for word in named.split(",")} - {""}
    _check(words)
    stages = {"kir": lambda: text(compiled.module), "kir-optimised": lambda: text(module)}
    stages[emitted.stage] = lambda: _readable(emitter, emitted)
    for stage in (stage for stage in stages if stage in words):
        said = f"// {compiled.kernel.name}: {stage} for {emitted.target}\n{stages[stage]().rstrip()}\n"
        sys.stderr.write(said)


def _check(words: set[str]) -> None:
    found = registry()
    known = [*KIR, *(stage for backend in found.emitters for stage in found.emitters_of(backend))]
    for word in sorted(words - set(known)):
        raise UsageError(
            Diagnostic(
                code="ATL0763",
                message=f"{VARIABLE} names `{word}`, which is no stage",
                notes=(f"stages: {', '.join(dict.fromkeys(known))}",),
            )
        )


def _readable(emitter: Emitter, emitted: Emitted) -> str:
    if emitted.text:
        return emitted.code.decode()
    if isinstance(emitter, Disassembler):
        return emitter.disassemble(emitted.code)
    return f"{len(emitted.code)} bytes"
