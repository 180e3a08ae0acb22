"""Kernels written in Python as device units."""
