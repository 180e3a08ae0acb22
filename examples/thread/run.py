"""Call both entries on every root that this machine can run, and print what each reports.

Needs the wheel of this example and nothing else.
"""

import sys
from array import array

from thread import kernels


def answers(name: str) -> list[str]:
    """Return one line an entry: the four results and the device that the call reported."""
    kernels.use(name)
    x, y = array("f", [1, 2, 3, 4]), array("f", [10, 20, 30, 40])
    lines = []
    for entry, domain in ((kernels.saxpy, {}), (kernels.axpy, {"over": 4})):
        out = array("f", [0, 0, 0, 0])
        entry(2.0, x, y, out, **domain)
        lines.append(f"{' '.join(f'{value:g}' for value in out)}  {name}: {kernels.device_name()}")
    return lines


def main(asked: list[str]) -> int:
    missing = 0
    for name, reason in kernels.devices().items():
        if asked and name not in asked:
            continue
        if reason:
            print(f"{name}: not on this machine\n{reason}", file=sys.stderr)
            missing += name in asked
            continue
        print(*answers(name), sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
