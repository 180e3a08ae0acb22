"""Compile a unit's kernels and list what they include.

``kernels_child.py GXX SYCLC SOURCE OUT DEPFILE FLAG...``. The compiler library reads headers and lists none,
so the host compiler's preprocessor is asked; it lists what the host half includes as well.
Run by path, so it imports nothing of Atoll.
"""

import subprocess
import sys


def main(gxx: str, syclc: str, source: str, out: str, depfile: str, *flags: str) -> int:
    """Run both; the first that fails decides."""
    listing = (gxx, "-MM", "-x", "c++", "-std=c++17", "-w", *flags)
    made = subprocess.run([*listing, "-MF", depfile, "-MT", out, source], check=False)
    if made.returncode != 0:
        return made.returncode
    # Its own headers are inside the library, so only what a unit adds is passed on.
    own = [flag for flag in flags if not flag.startswith("-isystem")]
    return subprocess.run([syclc, source, out, *own], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
