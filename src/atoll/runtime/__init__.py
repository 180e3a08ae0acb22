"""Devices, buffers and launches over the installed drivers.

Which device, how arguments become a launch, what a launch reports. A driver reaches hardware
(:mod:`atoll.plugin`); compiling a kernel is :mod:`atoll.kernels`' job.
"""
