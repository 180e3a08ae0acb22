"""A fuzz target for accel sets and predicates: `python tests/property/fuzz_accel.py [libFuzzer arguments]`.

Runs under atheris; :func:`one` alone is what the seeded sample of the suite calls.
"""

from __future__ import annotations

import inspect
import sys

from atoll.accel import ANY_WORD, AccelSet
from atoll.accel.cfg import evaluate, names, parse_cfg
from atoll.diagnostics import as_json, render
from atoll.errors import AccelError


def one(data: bytes) -> bool:
    """Check what must hold for any bytes; tell whether they spell a set or a predicate."""
    text = data.decode("utf-8", "surrogateescape")
    return _set(text) | _predicate(text)


def _set(text: str) -> bool:
    try:
        found = AccelSet.parse(text, floor_words=ANY_WORD)
    except AccelError as error:
        _told(error, text)
        return False
    assert AccelSet.parse(str(found), floor_words=ANY_WORD) == found
    assert AccelSet.parse(found.canonical()) == found
    assert AccelSet.parse(found.canonical()).canonical() == found.canonical()
    return True


def _predicate(text: str) -> bool:
    try:
        found = parse_cfg(text)
    except AccelError as error:
        _told(error, text)
        return False
    assert isinstance(evaluate(found, accel=AccelSet()), bool)
    assert all(each.span.column >= 1 for each in names(found))
    return True


def _told(error: AccelError, text: str) -> None:
    (diagnostic,) = error.diagnostics
    assert diagnostic.span is not None
    assert 1 <= diagnostic.span.column <= len(text) + 1
    printed = render(diagnostic)
    assert all(char.isprintable() or char == "\n" for char in printed)
    assert len(printed) < 4 * 4096 + 500
    as_json(diagnostic)


def main() -> None:
    """Fuzz until told to stop, with coverage of the two parsers to lead the way."""
    import atheris

    from atoll.accel import cfg, parse

    for module, scanner in ((parse, parse._Scanner), (cfg, cfg._Scanner)):
        for name, step in vars(scanner).items():
            if inspect.isfunction(step) and step.__module__ == module.__name__:
                setattr(scanner, name, atheris.instrument_func(step))
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
