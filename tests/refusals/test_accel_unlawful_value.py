"""A value that the grammar could not spell does not exist: constructors refuse it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from atoll.accel import AccelSet, Entry, Floor, Version
from atoll.errors import AccelError


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: Version(()), "ATL0116"),
        (lambda: Version((-1,)), "ATL0116"),
        (lambda: Version((1, 2), "1.3"), "ATL0116"),
        (lambda: Version.parse("1."), "ATL0116"),
        (lambda: Version.parse("٣"), "ATL0116"),
        (lambda: Version.parse("1\n"), "ATL0116"),
        (lambda: Version.parse("1" * 100), "ATL0116"),
        (lambda: Floor(Version((1,)), "Word"), "ATL0101"),
        (lambda: Entry(backend=""), "ATL0101"),
        (lambda: Entry(backend="none"), "ATL0101"),
        (lambda: Entry(backend="Hip"), "ATL0101"),
        (lambda: Entry(backend="hip\n"), "ATL0101"),
        (lambda: Entry(backend="hip", archs=("a}, vulkan",)), "ATL0101"),
        (lambda: Entry(backend="hip", archs=("",)), "ATL0101"),
        (lambda: Entry(backend="hip", archs=("a", "a")), "ATL0101"),
        (lambda: AccelSet((Entry(backend="hip"), Entry(backend="hip"))), "ATL0101"),
    ],
)
def test_an_unlawful_value_is_refused(make: Callable[[], object], code: str) -> None:
    with pytest.raises(AccelError) as caught:
        make()
    assert caught.value.diagnostics[0].code == code
