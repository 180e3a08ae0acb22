"""What does a file carry, and how is it shipped? Measuring through readers, and the wheel writer.

Words: a file is *measured* by readers in a child process with limits (:func:`measure`); a *report*
keeps what each member said; *packing* measures a tree, checks it against what was declared and writes
a wheel. Formats live in plugins; matching is :mod:`atoll.artifact`.
"""

from atoll.packaging.measure import measure, report
from atoll.packaging.values import Limits, Report

__all__ = ["Limits", "Report", "measure", "report"]
