"""The primitives as kernels, each written once; how they are called is :mod:`atoll.engine`'s business."""
