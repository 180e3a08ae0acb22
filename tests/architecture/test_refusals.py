"""Every code of the build engine stands in a file of `tests/refusals/`, with the words of its messages.

A file below ``texts/`` holds a whole refusal, word for word.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("build", "dependencies", "graph", "lanes", "manifest", "programs", "store")
# Codes of other tables that a build can end with.
FURTHER = ("ATL0007", "ATL0316", "ATL0317", "ATL0318", "ATL0319")
CODE = re.compile(r"ATL\d{4}")


def wanted() -> set[str]:
    """Return the codes that must be covered."""
    tables = (importlib.import_module(f"atoll.diagnostics.table.{name}").CODES for name in TABLES)
    return {code for table in tables for code in table} | set(FURTHER)


def messages(sources: Iterable[Path]) -> dict[str, set[str]]:
    """Return the longest fixed words of each message, by code."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                for code, words in _said(node):
                    found[code].add(words)
    return found


def _said(call: ast.Call) -> Iterator[tuple[str, str]]:
    """Give code and words of one call that makes a diagnostic: `message=`, or the argument after the code."""
    named = {item.arg: item.value for item in call.keywords if item.arg}
    listed = [*call.args, *(value for name, value in named.items() if name == "code")]
    codes = {code for item in listed for code in _codes(item)}
    text = named.get("message")
    if text is None:
        text = next(
            (after for item, after in zip(call.args, call.args[1:], strict=False) if _codes(item)), None
        )
    for words in _words(text) if text is not None else ():
        yield from ((code, words) for code in codes)


def _codes(node: ast.expr) -> set[str]:
    constants = (item for item in ast.walk(node) if isinstance(item, ast.Constant))
    return {item.value for item in constants if isinstance(item.value, str) and CODE.fullmatch(item.value)}


def _words(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from _words(node.body)
        yield from _words(node.orelse)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [item.value for item in node.values if isinstance(item, ast.Constant)]
        yield max((str(part) for part in parts), key=len, default="")


def uncovered(tests: Iterable[Path], said: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return each code that no file holds: a whole refusal, or the code with the words of a message.

    Words that no call in the sources states (an action's own refusal) are not asked for.
    """
    texts = [plain(path.read_text(encoding="utf-8")) for path in tests]
    found = {code: {plain(words) for words in said.get(code, ())} or {""} for code in sorted(wanted())}
    return {
        code: words
        for code, words in found.items()
        if not any(f"[{code}]:" in text for text in texts)
        and not any(code in text and any(each in text for each in words) for text in texts)
    }


def plain(text: str) -> str:
    """Return a text as it reads: without escapes of patterns, quotes and breaks between literals."""
    return re.sub(r"\"\s*f?\"|\\|\s+", "", text.strip())


def test_every_code_is_held_by_a_refusal_with_its_text(tell: Callable[[str], None]) -> None:
    said = messages((ROOT / "src").rglob("*.py"))
    files = sorted((ROOT / "tests/refusals").glob("texts/*.txt")) + sorted(
        (ROOT / "tests/refusals").glob("*.py")
    )
    missing = uncovered(files, said)
    tell(f"{len(wanted())} codes, {len(files)} files")
    assert len(wanted()) > 90
    assert not missing, "\n".join(f"{code}: {sorted(words)}" for code, words in missing.items())


def test_a_code_that_no_file_holds_is_seen(tmp_path: Path) -> None:
    said = messages((ROOT / "src").rglob("*.py"))
    path = tmp_path / "test_one.py"
    path.write_text('assert found.code == "ATL0601"\nassert "`x` failed" in text\n')
    assert "ATL0601" not in uncovered([path], said)
    path.write_text('assert found.code == "ATL0601"\n')
    assert "ATL0601" in uncovered([path], said)
    text = tmp_path / "text.txt"
    text.write_text("error[ATL0601]: whatever it says\n")
    assert "ATL0601" not in uncovered([text], said)
    assert uncovered([], said).keys() == wanted()
