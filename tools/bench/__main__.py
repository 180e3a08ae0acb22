"""Run a benchmark by its name."""

from __future__ import annotations

import sys
from importlib import import_module

BENCHES = {
    "build": "tools.bench.build",
    "calls": "tools.bench.calls",
    "kernels": "tools.bench.kernels",
    "runtime": "tools.bench.runtime",
}


def main(argv: list[str]) -> int:
    """Run what is named and return its exit code."""
    if not argv or argv[0] not in BENCHES:
        print(f"usage: ./dev bench {'|'.join(BENCHES)} [OPTIONS]", file=sys.stderr)
        return 2
    code: int = import_module(BENCHES[argv[0]]).main(argv[1:])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
