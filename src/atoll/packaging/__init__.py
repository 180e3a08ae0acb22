"""What does a file carry, and how is it shipped? Measuring through readers, and the wheel writer.

Words: a file is *measured* by readers in a child process with limits (:func:`measure`); a *report*
keeps what each member said; *packing* measures a tree, checks it against what was declared and writes
a wheel. Formats live in plugins; matching is :mod:`atoll.artifact`.
"""

from typing import TYPE_CHECKING, Any

from atoll.packaging.measuring import measure, report
from atoll.packaging.values import Limits, Report

if TYPE_CHECKING:
    from atoll.packaging.metadata import Metadata
    from atoll.packaging.pack import Packed, pack_tree

__all__ = ["Limits", "Metadata", "Packed", "Report", "measure", "pack_tree", "report"]


def __getattr__(name: str) -> Any:
    """Bring the writer in when it is asked for: the child that measures never needs it."""
    import importlib

    homes = {"Metadata": "metadata", "Packed": "pack", "pack_tree": "pack"}
    if name not in homes:
        raise AttributeError(name)
    return getattr(importlib.import_module(f"{__name__}.{homes[name]}"), name)
