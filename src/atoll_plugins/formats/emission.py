"""What does every emitter check before it writes a word?

The kernel is there, its work-group size is known where it must be, and the target has every operation;
what it lacks is refused at once with all places. The result is a :class:`Job`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import CompileError
from atoll.ir import Kernel, LaunchLayout, Module, has_barrier, layout, nodes
from atoll.ir.contract import contracted
from atoll.ir.module import Extern, LocalVariable, Parameter, PrivateArray, SharedArray
from atoll.ir.subgroups import emulated, sized
from atoll.ir.walk import expressions, has_subgroups, statements, values
from atoll.plugin import Target
from atoll_plugins.formats.inline import NO_INLINE, Languages, inline_faults

Group = tuple[int, int, int]
Node = nodes.Expr | nodes.Stmt | Parameter | LocalVariable | PrivateArray | SharedArray
#: Why a target lacks a node, or None where it has it.
Lacks = Callable[[Node], str | None]


def lacks_nothing(_node: Node) -> str | None:
    """Return None: the target has every operation and every type."""
    return None


NO_GROUP: Group = (0, 0, 0)
#: The widest sub-group of a device that says its width at run time only.
WIDEST = 64
#: The most work-items of a group that any emitter accepts.
MOST_ITEMS = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One kernel, ready to be written.

    Attributes:
        group: The work-group size that the code is fixed to; zeros where any serves.
        waits: Whether it has a barrier, and so no domain.
    """

    kernel: Kernel
    target: Target
    layout: LaunchLayout
    group: Group
    waits: bool


def prepare(
    module: Module,
    name: str,
    target: Target,
    group: Group,
    *,
    fixed: bool,
    lacks: Lacks,
    subgroups: int | None = None,
    width: int | None = None,
    links: bool = False,
    inline: Languages = NO_INLINE,
    fuses: bool = True,
) -> Job:
    """Return the job of emitting a kernel.

    Args:
        module: Verified KIR.
        name: The kernel's base name.
        target: What to emit for.
        group: The size asked for, or zeros.
        fixed: Whether the target needs the size for every kernel, not only for one with a barrier.
        lacks: What the target lacks.
        subgroups: What the size of a group is a multiple of where its sub-groups are full; in any other
            group they are emulated. None where the target has no sub-groups.
        width: How many work-items a full sub-group has, where the target always has one answer.
        links: Whether what is emitted is linked later, so that it may call what others define.
        inline: The languages of inline code that the target takes.
        fuses: Whether a kernel that asks for contraction is better for it: the target has the instruction.

    Raises:
        CompileError: Where there is no such kernel, no usable size, or where the target lacks something.
    """
    try:
        kernel = module.kernel(name)
    except KeyError:
        raise CompileError(_no_kernel(module, name)) from None
    waits = has_barrier(kernel)
    faults = _lacking(kernel, target, lacks) + inline_faults(kernel, target, inline)
    if not links:
        faults += [_unlinked(item, target) for item in kernel.externs]
    size = group if any(group) else kernel.group
    reason = _group_fault(kernel, group, size, needed=fixed or waits)
    if reason:
        faults.append(_group_diagnostic(kernel, target, reason))
    if faults:
        raise CompileError(*faults)
    if fuses:
        kernel = contracted(kernel, lambda node: lacks(node) is None)
    used = size if fixed or waits else NO_GROUP
    found = layout(kernel, used)
    full = subgroups is not None and size[0] * size[1] * size[2] % subgroups == 0
    if not full and has_subgroups(kernel):
        kernel = emulated(kernel, size)
        found = replace(found, shared_bytes=layout(kernel, used).shared_bytes)
    elif width is not None:
        kernel = sized(kernel, width)
    return Job(kernel=kernel, target=target, layout=found, group=used, waits=waits)


def _no_kernel(module: Module, name: str) -> Diagnostic:
    listed = ", ".join(kernel.name for kernel in module.kernels) or "none"
    return Diagnostic(
        code="ATL0783",
        message=f"no kernel `{name}` in this module",
        notes=(f"kernels: {listed}",),
        hint="name one of them",
    )


def _lacking(kernel: Kernel, target: Target, lacks: Lacks) -> list[Diagnostic]:
    found = []
    for node in _nodes(kernel):
        reason = lacks(node)
        if reason is not None:
            found.append(_lack(kernel, target, reason, node.span or kernel.span))
    return found


def _nodes(kernel: Kernel) -> list[Node]:
    found: list[Node] = [*kernel.params, *kernel.shared, *kernel.arrays, *kernel.locals]
    for stmt in statements(kernel.body):
        found.append(stmt)
        for value in values(stmt):
            found += expressions(value)
    return found


def _lack(kernel: Kernel, target: Target, reason: str, span: Span | None) -> Diagnostic:
    return Diagnostic(
        code="ATL0780",
        message=f"`{target}` lacks {reason}",
        span=span,
        notes=(f"kernel: {kernel.name}", f"target: {target}"),
        hint="use another operation or type here, or leave this target out of the set",
    )


def _unlinked(item: Extern, target: Target) -> Diagnostic:
    return Diagnostic(
        code="ATL0786",
        message=f"the code for `{target}` is not linked, so it cannot call `{item.name}`",
        span=item.span,
        notes=(f"target: {target}", f"`{item.name}` is defined by: {item.link}"),
        hint="leave this target out, or write a function marked with `@atoll.device`",
    )


def _group_fault(kernel: Kernel, asked: Group, size: Group, *, needed: bool) -> str | None:
    if any(asked) and any(kernel.group) and asked != kernel.group:
        return f"the kernel's contract says {kernel.group}, {asked} was asked for"
    if not any(size):
        return "the size is not known" if needed else None
    if min(size) < 1 or size[0] * size[1] * size[2] > MOST_ITEMS:
        return f"{size} is not between 1 and {MOST_ITEMS} work-items"
    return None


def _group_diagnostic(kernel: Kernel, target: Target, reason: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0782",
        message=f"no code for `{kernel.name}` without a usable work-group size",
        span=kernel.span,
        notes=(f"target: {target}", f"reason: {reason}"),
        hint="state the size in the launch contract: `@kernel(block=256)`",
    )


def cannot_emit(target: str, known: str) -> CompileError:
    """Return the refusal of a target that the emitter does not serve."""
    return CompileError(
        Diagnostic(
            code="ATL0781",
            message=f"no code can be emitted for `{target}`",
            notes=(f"asked for: {target}", f"served: {known}"),
            hint="name a target that is served",
        )
    )
