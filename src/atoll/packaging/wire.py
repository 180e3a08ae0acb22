"""How does a report cross from the child to the parent? JSON of plain values, checked on the way in.

The child has looked at hostile bytes, so the parent believes nothing of its shape.
"""

from __future__ import annotations

from typing import Any

from atoll.artifact import Fact, Finding, Measured
from atoll.diagnostics import Diagnostic, Severity, as_json
from atoll.packaging import combine
from atoll.packaging.values import Report

_TEXTS = ("member", "backend", "version", "arch", "floor", "floor_word", "note", "code")


def encode(report: Report) -> dict[str, Any]:
    """Return a report as a value that `json` can write; the set is made anew from the findings."""
    measured = report.measured
    shared = {id(item.requires): item.requires for item in measured.findings}
    facts = {key: [_fact(fact) for fact in value] for key, value in shared.items()}
    return {
        "path": measured.path,
        "findings": [_plain(finding, facts[id(finding.requires)]) for finding in measured.findings],
        "unread": [list(row) for row in measured.unread],
        "facts": [[member, *_fact(fact)] for member, fact in report.facts],
        "files": list(report.files),
        "diagnostics": [as_json(item) for item in report.diagnostics],
    }


def _plain(finding: Finding, requires: list[tuple[str, str, str]]) -> dict[str, Any]:
    return {
        **{name: getattr(finding, name) for name in _TEXTS},
        "requires": requires,
        "declared": finding.declared,
    }


def decode(value: dict[str, Any]) -> Report:
    """Return the report of a value that :func:`encode` made.

    Raises:
        KeyError: Where a field is missing.
        TypeError: Where a value is of another type.
        ValueError: Where a finding cannot enter a set.
    """
    findings = tuple(_finding(row) for row in value["findings"])
    facts = tuple((_text(row[0]), _read_fact(row[1:])) for row in value["facts"])
    unread = tuple((_text(row[0]), _text(row[1])) for row in value["unread"])
    measured = Measured(
        path=_text(value["path"]),
        accel=None if unread else combine.accel(findings),
        requires=combine.requires([*combine.stated(findings), *(fact for _, fact in facts)]),
        declared=combine.declared(findings),
        findings=findings,
        unread=unread,
    )
    return Report(
        measured=measured,
        facts=facts,
        files=tuple(_text(name) for name in value["files"]),
        diagnostics=tuple(diagnostic(row) for row in value["diagnostics"]),
    )


def diagnostic(row: dict[str, Any]) -> Diagnostic:
    """Return a diagnostic out of its JSON form; spans do not occur in measuring."""
    return Diagnostic(
        code=_text(row["code"]),
        message=_text(row["message"]),
        severity=Severity(row["severity"]),
        notes=tuple(_text(note) for note in row["notes"]),
        hint=None if row["hint"] is None else _text(row["hint"]),
    )


def _finding(row: dict[str, Any]) -> Finding:
    requires = tuple(_read_fact(fact) for fact in row["requires"])
    finding = Finding(
        **{name: _text(row[name]) for name in _TEXTS}, requires=requires, declared=row["declared"] is True
    )
    if combine.fault(finding) is not None:
        raise ValueError(combine.fault(finding))
    return finding


def _fact(fact: Fact) -> tuple[str, str, str]:
    return fact.name, fact.relation, fact.value


def _read_fact(row: list[Any]) -> Fact:
    name, relation, value = row
    return Fact(name=_text(name), relation=_text(relation), value=_text(value))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is {type(value).__name__}")
    return value
