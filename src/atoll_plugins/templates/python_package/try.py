"""Call both entries on every root that this machine can run; needs the package and nothing else."""

from array import array

from PACKAGE import kernels

x, y = array("f", [1, 2, 3, 4]), array("f", [10, 20, 30, 40])
for root, reason in kernels.devices().items():
    if reason:
        print(f"{root}: not here: {reason}")
        continue
    kernels.use(root)
    out = array("f", [0, 0, 0, 0])
    kernels.saxpy(2.0, x, y, out)
    print(f"saxpy {out.tolist()} on {root}: {kernels.device_name()}")
    kernels.axpy(2.0, x, y, out, over=len(out))
    print(f"axpy  {out.tolist()} on {root}: {kernels.device_name()}")
