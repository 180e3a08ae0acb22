"""The compiler: `python compile.py IN OUT`. Text to `POLY`, the version, the count and the coefficients."""

import math
import struct
import sys
from pathlib import Path

MAGIC = b"POLY"
VERSION = 1
HEADER = struct.Struct("<4sII")
MOST = 1 << 16


def compiled(text: str) -> bytes:
    """Return the bytes of a polynomial.

    Raises:
        ValueError: With the line.
    """
    numbers = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        try:
            (value,) = map(float, words)
        except ValueError:
            raise ValueError(f"{number}: `{line.strip()}` is not one coefficient") from None
        if not math.isfinite(value):
            raise ValueError(f"{number}: a coefficient is finite, not {value}")
        numbers.append(value)
    if not 1 <= len(numbers) <= MOST:
        raise ValueError(f"1: a polynomial has 1 to {MOST} coefficients, not {len(numbers)}")
    return HEADER.pack(MAGIC, VERSION, len(numbers)) + struct.pack(f"<{len(numbers)}d", *numbers)


def main(source: str, target: str) -> int:
    """Compile one file."""
    try:
        code = compiled(Path(source).read_text(encoding="utf-8"))
    except ValueError as error:
        print(f"{source}:{error}", file=sys.stderr)
        return 1
    Path(target).write_bytes(code)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
