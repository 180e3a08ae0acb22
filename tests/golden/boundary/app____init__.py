"""app, a package made by atoll."""

from . import kernels as kernels
