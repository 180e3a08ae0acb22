"""saxpy on every accelerator that is here, and always on the processor."""

import sys
from array import array

from mypkg import kernels


def main() -> int:
    """Call the entry on every root that this machine can run, and print what each reports."""
    x, y = array("f", [1, 2, 3, 4]), array("f", [10, 20, 30, 40])
    for root, reason in kernels.devices().items():
        if reason:
            print(f"{root}: {reason}", file=sys.stderr)
            continue
        kernels.use(root)
        answer = kernels.saxpy(2.0, x, y)
        print(*(f"{value:g}" for value in answer), f" {root}: {kernels.device_name()}")
    kernels.use(None)
    return 0
