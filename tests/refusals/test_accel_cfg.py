"""A predicate that cannot be read is refused at its column; an unknown key with the nearest known one."""

from __future__ import annotations

import pytest

from atoll.accel.cfg import MAX_DEPTH, parse_cfg
from atoll.errors import AccelError


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("", "expected `cfg(…)`, found the end", 1),
        ('os = "x"', "expected `cfg(…)`, found `os`", 1),
        ("cfg", "expected `(`, found the end", 4),
        ("cfg()", "expected a predicate, found `)`", 5),
        ("cfg(any())", "expected a predicate, found `)`", 9),
        ('cfg(any(os = "x",))', "expected a predicate, found `)`", 18),
        ('cfg(not(os = "x", os = "y"))', "expected `)`, found `,`", 17),
        ("cfg(os)", "expected `=`, found `)`", 7),
        ('cfg(os == "x")', "expected a value in double quotes, found `=`", 9),
        ("cfg(os = 'x')", "expected a value in double quotes, found `'`", 10),
        ('cfg(os = "")', 'expected a value in double quotes, found `"`', 10),
        ('cfg(os = "x") or', "expected the end, found `or`", 15),
        ('cfg(os = "x"', "expected `)`, found the end", 13),
    ],
)
def test_a_predicate_that_cannot_be_read_is_refused(text: str, message: str, column: int) -> None:
    with pytest.raises(AccelError) as caught:
        parse_cfg(text, source="atoll.toml")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("ATL0121", message)
    assert diagnostic.span is not None
    assert (diagnostic.span.file, diagnostic.span.column) == ("atoll.toml", column)


@pytest.mark.parametrize(
    ("key", "hint"),
    [("accelrator", "did you mean `accelerator`?"), ("al", "did you mean `all`?"), ("feature", None)],
)
def test_an_unknown_key_is_refused_with_the_nearest(key: str, hint: str | None) -> None:
    with pytest.raises(AccelError) as caught:
        parse_cfg(f'cfg({key} = "x")')
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == ("ATL0122", f"`{key}` is no key of a predicate")
    assert diagnostic.hint == hint
    assert diagnostic.notes == ("known: accelerator, os, arch, compiler, any, all, not",)


def test_nesting_is_bounded() -> None:
    for levels, fits in ((MAX_DEPTH - 1, True), (MAX_DEPTH, False), (600, False)):
        text = "cfg(" + "not(" * levels + 'os = "x"' + ")" * (levels + 1)
        if fits:
            parse_cfg(text)
            continue
        with pytest.raises(AccelError) as caught:
            parse_cfg(text)
        assert caught.value.diagnostics[0].code == "ATL0115"
    with pytest.raises(AccelError) as caught:
        parse_cfg("(" * 10**6)
    assert caught.value.diagnostics[0].code == "ATL0115"
