"""How an island is called: from marked declarations to a C header and a Python module.

Words: an *entry* is one exported function; an *extent* says how many elements a pointer reaches; a
*root* is a folder that holds one implementation of the entries; a *seam* is the place where an
implementation is swapped. Which roots a build takes is decided in :mod:`atoll.build`.
"""

from atoll.boundary.values import Access, Entry, Extent, Parameter

__all__ = ["Access", "Entry", "Extent", "Parameter"]
