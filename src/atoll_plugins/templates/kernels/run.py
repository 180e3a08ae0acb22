"""Run the kernel on the devices named, or on all of this machine."""

import sys

import numpy as np
from saxpy import saxpy

import atoll

x = np.array([1, 2, 3, 4], np.float32)
y = 10 * x
for device in sys.argv[1:] or [str(info) for info in atoll.devices()]:
    out = np.empty_like(x)
    done = saxpy.over(x.size, device=device)(2.0, x, y, out)
    print(out, done.device)
