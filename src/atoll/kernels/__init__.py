"""Kernels written in Python: the front end to KIR, the oracle, the launch.

Words: a *kernel* is a function marked with :func:`kernel`; its *domain* is how many work-items run;
the *oracle* runs the unchanged body in CPython over typed scalars. Everything after the front end
depends on KIR (:mod:`atoll.ir`) alone.
"""

from atoll.kernels.definition import DeviceFunction, KernelFunction, device, kernel

__all__ = ["DeviceFunction", "KernelFunction", "device", "kernel"]
