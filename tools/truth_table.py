"""Measure the pinned wheels of PyPI again and write what was seen: wheels.json and docs/truth-table.md.

    python tools/truth_table.py [NAME...]

Each wheel is fetched by pip into the cache of the tests; every entry of each fat binary in it is compared
with the vendor's own tool. Without names all are measured; it takes minutes.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from atoll.packaging import report  # noqa: E402
from e2e import wheels  # noqa: E402 - the tests' own helpers

PAGE = ROOT / "docs/truth-table.md"
START, END = "<!-- wheels: written by tools/truth_table.py -->\n", "<!-- end -->\n"


def measured(pin: wheels.Pin, program: Path) -> wheels.Pin:
    """Return a pin with what its wheel measures to and how the vendor's tool agrees."""
    found = report(wheels.fetched(pin))
    with tempfile.TemporaryDirectory() as folder:
        compared = [wheels.compared(path, program) for path in wheels.libraries(pin, Path(folder))]
    accel = found.measured.accel
    files = sum(item is None or bool(item) for item in found.members().values())
    return wheels.with_answer(
        pin,
        measured="unknown" if accel is None else str(accel) or "none",
        check=_check(compared, files, found.measured.unread),
    )


def _check(compared: list[wheels.Compared], files: int, unread: tuple[tuple[str, str], ...]) -> str:
    if not compared:
        return f"{files} file{'s' * (files > 1)}, not compared" if files else "nothing to check"
    total, same = sum(item.ours for item in compared), sum(item.equal for item in compared)
    said = f"cuobjdump: {same} of {total} entries equal in {len(compared)} libraries"
    wrong = sum(item.theirs - item.equal for item in compared)
    refused = total - sum(item.theirs for item in compared)
    more = [f"{refused} that it refuses"] if refused else []
    more += [f"{wrong} DIFFERENT"] if wrong else []
    more += [f"{len(unread)} unread"] if unread else []
    return "; ".join((said, *more))


def table(pins: list[wheels.Pin]) -> str:
    """Return the table of the page."""
    rows = ["| wheel | author | measured `accel` | cross-check |", "|---|---|---|---|"]
    rows += [f"| {pin.title} | {pin.author} | `{pin.measured}` | {pin.check} |" for pin in pins]
    return "\n".join(rows) + "\n"


def main(names: list[str]) -> None:
    """Measure the named wheels, or all, and write both files."""
    pins = wheels.pins()
    with tempfile.TemporaryDirectory() as folder:
        program = wheels.cuobjdump(Path(folder))
        for place, pin in enumerate(pins):
            if names and not any(pin.requirement.startswith(name) for name in names):
                continue
            start = time.monotonic()
            pins[place] = measured(pin, program)
            spent = time.monotonic() - start
            print(
                f"{pin.requirement}: {pins[place].measured}: {pins[place].check}: {spent:.1f} s", flush=True
            )
            wheels.write(pins)
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    PAGE.write_text(f"{head}{START}{table(pins)}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
