"""How a stage of compilation is shown: KIR, or what a target's emitter gives. Needs no device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from atoll._util.near import nearest
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError
from atoll.ir import Module
from atoll.kernels.definition import KernelFunction
from atoll.kernels.shapes import block_for
from atoll.plugin import Disassembler, Emitted, Emitter, Target, registry

if TYPE_CHECKING:
    from atoll.kernels.front import Compiled


def show(
    kernel: KernelFunction,
    target: str,
    stage: str | None = None,
    *,
    lines: bool = False,
    without: Sequence[str] = (),
) -> str | bytes:
    """Return a stage of a kernel: text as `str`, a binary that is named as `bytes`.

    Without a stage it is the target's text: of a binary its disassembly, where its emitter has one.
    With `lines` the code says which line of the source each statement is from; `without` names passes, and
    rewrites of them as ``PASS.RULE``, that are left out. ``kir`` is what the front end made, and
    ``kir-optimised`` what the passes made of it.

    Raises:
        UsageError: Where the target or the stage does not exist.
        CompileError: Where the target lacks what the kernel needs.
    """
    if stage in ("kir", "kir-optimised"):
        from atoll.ir.text import text

        compiled = _compiled(kernel, target)
        return text(compiled.module if stage == "kir" else _passed(compiled, without))
    emitter, wanted = target_named(target)
    if stage is not None:
        stages = registry().emitters_of(emitter.backend)
        if stage not in stages:
            raise UsageError(
                Diagnostic(
                    code="ATL0763",
                    message=f"the target `{target}` has no stage `{stage}`",
                    notes=(f"its stages: kir, kir-optimised, {', '.join(stages)}",),
                )
            )
        emitter = stages[stage]
        wanted = emitter.target(None, target.partition(":")[2])
    emitted = emit(kernel, emitter, replace(wanted, lines=lines), without)
    if emitted.text:
        return emitted.code.decode()
    if stage is None and isinstance(emitter, Disassembler):
        return emitter.disassemble(emitted.code)
    return emitted.code


def _compiled(kernel: KernelFunction, target: str) -> Compiled:
    """Return a kernel's KIR, which only a kernel with intrinsics has for each target."""
    if not kernel.compiled().looked:
        return kernel.compiled()
    return kernel.compiled_for(target_named(target)[1])


def emit(kernel: KernelFunction, emitter: Emitter, target: Target, without: Sequence[str] = ()) -> Emitted:
    """Return the code of a kernel for a target, at its contract's block or the default one."""
    found = kernel.compiled().kernel
    module = _passed(kernel.compiled_for(target), without)
    return emitter.emit(module, found.name, target, block_for(found))


def _passed(compiled: Compiled, without: Sequence[str]) -> Module:
    """Return a kernel's module after the passes, some left out.

    Raises:
        UsageError: Where no pass and no rewrite has one of the names.
    """
    if not without:
        return compiled.optimised
    from atoll.ir.passes import PASSES, REWRITES, optimise

    unknown = [name for name in without if name not in PASSES and name not in REWRITES]
    if unknown:
        raise UsageError(
            Diagnostic(
                code="ATL0763",
                message=f"no pass is called `{unknown[0]}`",
                notes=(f"passes: {', '.join(PASSES)}", f"rewrites: {', '.join(REWRITES)}"),
            )
        )
    return optimise(compiled.module, off=without)


def target_named(text: str) -> tuple[Emitter, Target]:
    """Return the emitter and the target that ``PLATFORM`` or ``PLATFORM:ARCH`` names.

    Raises:
        UsageError: Where no emitter serves the platform.
    """
    platform, _, arch = text.partition(":")
    emitters = registry().emitters
    if platform not in emitters:
        near = nearest(platform.partition("+")[0], emitters)
        raise UsageError(
            Diagnostic(
                code="ATL0763",
                message=f"no emitter for the platform `{platform}`",
                notes=(f"emitters: {', '.join(emitters)}",),
                hint=f"write `{near}`, or `{near}:ARCH`" if near else None,
            )
        )
    emitter = emitters[platform]
    return emitter, emitter.target(None, arch)
