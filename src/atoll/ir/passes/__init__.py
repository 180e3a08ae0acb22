"""How does KIR become better KIR that means the same? Passes on structured SSA, checked after each.

Words: a *flow* is a kernel as SSA (:mod:`atoll.ir.passes.ssa`); a *pass* changes a flow; a *rewrite* is
one named part of a pass (:mod:`atoll.ir.passes.rules`) that can be left out.
"""

from atoll.ir.passes.manager import PASSES, REWRITES, VERSION, optimise

__all__ = ["PASSES", "REWRITES", "VERSION", "optimise"]
