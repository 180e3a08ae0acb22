"""The oracle: a kernel's own body in CPython, over typed scalars, with every work-item a greenlet.

It is what a device's results are compared with, and it reports what a device cannot: an index out of
bounds, shared memory read before it was written, a barrier that not all reach, and races.
"""

from atoll.kernels.oracle.run import OracleLaunch

__all__ = ["OracleLaunch"]
