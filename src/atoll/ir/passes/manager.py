"""Which passes run, in which order, and who looks whether what they leave is still sound?

After every pass the flow is checked; after the last one the kernel is verified as any other is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MappingProxyType

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError
from atoll.ir.module import Kernel, Module
from atoll.ir.passes import cse, dead, divide, fold, invariant
from atoll.ir.passes.check import UnsoundError, check
from atoll.ir.passes.enter import enter
from atoll.ir.passes.leave import leave
from atoll.ir.passes.needs import prune
from atoll.ir.passes.rules import Rules
from atoll.ir.passes.ssa import Flow
from atoll.ir.verify import verify
from atoll.ir.walk import statements, values

#: Part of every cache key: another number where the passes give other code.
VERSION = 1
#: The passes, in the order they run.
PASSES: MappingProxyType[str, Callable[[Flow, Rules], None]] = MappingProxyType(
    {
        "fold": fold.fold,
        "divide": divide.divide,
        "cse": cse.cse,
        "invariant": invariant.invariant,
        "dead": dead.dead,
    }
)
#: Every rewrite by its name.
REWRITES = MappingProxyType({**fold.RULES, **divide.RULES, **cse.RULES, **invariant.RULES, **dead.RULES})
#: A larger kernel is left as it is: passes take time and memory that grow faster than it does.
MAX_STATEMENTS = 5_000


def optimise(module: Module, *, off: Iterable[str] = (), rules: Rules | None = None) -> Module:
    """Return a verified module that computes the same to the bit, with less.

    Args:
        module: A verified module.
        off: Passes, or rewrites as ``PASS.RULE``, to leave out.
        rules: The rewrites, for a test that puts a wrong one in.

    Raises:
        ValueError: Where `off` names what does not exist.
        CompileError: Where a pass makes what is not sound: a fault of Atoll.
    """
    without = frozenset(off)
    unknown = without - PASSES.keys() - REWRITES.keys()
    if unknown:
        raise ValueError(f"no pass or rewrite is called {', '.join(sorted(unknown))}")
    chosen = Rules(REWRITES) if rules is None else rules
    chosen = Rules(chosen.known, chosen.off | without)
    return verify(Module(kernels=tuple(_optimised(kernel, chosen) for kernel in module.kernels)))


def _optimised(kernel: Kernel, rules: Rules) -> Kernel:
    if _large(kernel):
        return kernel
    flow = enter(kernel)
    for name, run in PASSES.items():
        if name not in rules.off:
            run(flow, rules)
            _hold(flow, kernel, name)
    prune(flow)
    return leave(flow)


def _large(kernel: Kernel) -> bool:
    count = 0
    for stmt in statements(kernel.body):
        count += 1 + len(values(stmt))
        if count > MAX_STATEMENTS:
            return True
    return False


def _hold(flow: Flow, kernel: Kernel, name: str) -> None:
    try:
        check(flow)
    except UnsoundError as error:
        raise CompileError(
            Diagnostic(
                code="ATL0705",
                message=f"the pass `{name}` spoils the kernel `{kernel.name}`: {error}",
                span=kernel.span,
                hint="please report the kernel",
            )
        ) from error
