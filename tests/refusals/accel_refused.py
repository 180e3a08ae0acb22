"""How the refusals of accel sets are checked: code, message, column and the characters under the caret."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet
from atoll.diagnostics import Diagnostic, code_info, render
from atoll.errors import AccelError

WORDS = {"cuda": "ptx"}


def refused(text: str, code: str, message: str, caret: str) -> Diagnostic:
    """Check that `text` is refused and that the carets stand below `caret`, the last line it occurs in.

    Args:
        text: An accel set.
        code: The stable code.
        message: The whole message.
        caret: ``before|under``: what stands left of the carets and what stands over them.
    """
    with pytest.raises(AccelError) as caught:
        AccelSet.parse(text, floor_words=WORDS, source="<test>")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (code, message)
    assert code_info(code) is not None
    span = diagnostic.span
    assert span is not None
    assert span.end_column is not None
    before, _, under = caret.partition("|")
    assert (span.column, span.end_column) == (len(before) + 1, len(before) + 1 + max(len(under), 1))
    assert text.startswith(before + under)
    lines = render(diagnostic).split("\n")
    drawn = next(line for line in lines if set(line.strip()) == {"|", "^", " "})
    assert drawn == "   | " + " " * len(before) + "^" * max(len(under), 1)
    return diagnostic
