"""What went wrong, as a value: a stable code, a place, both sides and one hint.

Words: a *diagnostic* is one finding; a *span* is a place in a text; a *code* is the stable name of a
kind of diagnostic (``ATL0412``), listed with its explanation in :mod:`atoll.diagnostics.codes`.
The exceptions that carry diagnostics live in :mod:`atoll.errors`.
"""

from atoll.diagnostics.codes import CodeInfo, code_info, codes
from atoll.diagnostics.render import as_json, render
from atoll.diagnostics.values import Diagnostic, Severity, Span

__all__ = [
    "CodeInfo",
    "Diagnostic",
    "Severity",
    "Span",
    "as_json",
    "code_info",
    "codes",
    "render",
]
