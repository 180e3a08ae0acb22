"""Do the devices of this machine keep KIR's memory model? Needs `src`, cffi and NumPy.

    PYTHONPATH=src python tools/litmus.py cuda,vulkan,opencl,cpu,interpreter [LAUNCHES] [GROUPS] [PART]

Every test of `atoll.testing.litmus` in each place; the outcomes with how often they were seen, and those
that the model forbids. `passing_relaxed` forbids nothing: its outcome `10` says that a device is weak
enough for the others to mean something. `cuda-cpp` is CUDA C++ through the nvcc on PATH. Ends with 1
where a forbidden outcome was seen.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.emitters_on_device import DOORS, Nvcc, make

from atoll.runtime import Device
from atoll.testing.litmus import GROUP, TESTS, WEAK, violations


def proof(backend: str, launches: int, groups: int, part: str) -> bool:
    """Run every test on one device of a backend; tell whether the model was kept."""
    driver, emitter = map(make, DOORS["cpu" if backend == "interpreter" else backend])
    if backend == "interpreter":
        driver = type(driver)({"PATH": "/nowhere"})
    if backend == "cuda-cpp":
        emitter = Nvcc(emitter)
    found = [info for info in driver.devices() if part in info.name]
    if not found:
        print(f"{backend}: no device ({driver.unavailable()})")
        return False
    device = Device(driver.open(found[0].index))
    said = violations(emitter, device, groups=groups, launches=launches, tests=(*TESTS, WEAK))
    print(f"{backend}: {device.name}, {launches} launches of {groups * GROUP} instances a test")
    for name, (seen, forbidden) in said.items():
        counts = ", ".join(f"{''.join(map(str, key))}: {times}" for key, times in sorted(seen.items()))
        print(f"  {name}: {counts}" + (f"  FORBIDDEN {forbidden} times" if forbidden else ""))
    device.close()
    return not any(forbidden for _, forbidden in said.values())


def main() -> None:
    """Read the command line."""
    backends, launches, groups, part, *_ = [*sys.argv[1:], *("cpu", "20", "256", "")[len(sys.argv) - 1 :]]
    kept = [proof(backend, int(launches), int(groups), part) for backend in backends.split(",")]
    sys.exit(0 if all(kept) else 1)


if __name__ == "__main__":
    main()
