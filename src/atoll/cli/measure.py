"""`atoll measure`: which devices do these files run on, as their bytes say?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering, one_line

if TYPE_CHECKING:
    from atoll.accel import AccelSet, DeviceFacts
    from atoll.diagnostics import Diagnostic
    from atoll.packaging import Report
    from atoll.packaging.gate import Rules


@click.command(name="measure")
@click.argument("paths", metavar="FILE...", nargs=-1, required=True)
@click.option("--require", metavar="SPEC", help="Exit 1 where a file does not carry this accel set.")
@click.option("--on", metavar="DEVICE", help="Say whether it runs there: a device, or spelled BACKEND:ARCH.")
@click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")
@click.option(
    "--report", "page", metavar="OUT.html", help="Write a page: libraries down, architectures across."
)
@click.option("-v", "--verbose", is_flag=True, help="Print a row for every file inside and its backends.")
def command(
    paths: tuple[str, ...],
    require: str | None,
    on: str | None,
    as_data: bool,
    page: str | None,
    verbose: bool,
) -> None:
    """Measure which devices files run on: objects, libraries, archives, wheels, folders."""
    from atoll.accel import parse_option
    from atoll.packaging.gate import device_facts
    from atoll.plugin import registry
    from atoll.plugin.rules import backend_rules

    with answering(as_data) as answer:
        if as_data and page is not None:
            raise _two_forms(page)
        rules = backend_rules() if require or on else {}
        required = parse_option(require, option="--require") if require is not None else None
        device = device_facts(on, registry()) if on is not None else None
        session = _Session(rules, required, device)
        for path in paths:
            session.one(path)
        if page is not None:
            session.write(page)
        if as_data:
            answer |= session.data()
        else:
            session.print(verbose=verbose)
    sys.exit(session.code)


def _two_forms(page: str) -> Exception:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    return UsageError(
        Diagnostic(
            code="ATL0473",
            message="two forms of the answer are asked for at once",
            notes=("--json: given", f"--report: {page}"),
            hint="give one of the two",
        )
    )


class _Session:
    """The files of one call, what was said of each, and the exit code."""

    def __init__(self, rules: Rules, required: AccelSet | None, device: DeviceFacts | None) -> None:
        self.rules, self.required, self.device = rules, required, device
        self.reports: list[Report] = []
        self.answers: list[dict[str, Any]] = []
        self.diagnostics: list[Diagnostic] = []
        self.code = 0

    def one(self, path: str) -> None:
        from atoll.errors import UnreadableError
        from atoll.packaging import report

        try:
            found = report(path)
        except UnreadableError as error:
            self.diagnostics += error.diagnostics
            self.code = 2
            return
        self.diagnostics += found.diagnostics
        if any(item.severity == "error" for item in found.diagnostics):
            self.code = 2
        self.reports.append(found)
        self.answers.append({**self._required(found), **self._on(found)})

    def _required(self, found: Report) -> dict[str, Any]:
        from atoll.packaging.gate import lacking, refusal

        if self.required is None:
            return {}
        lacks = lacking(found, self.required, self.rules)
        if lacks:
            self.diagnostics.append(refusal(found, self.required, lacks))
            self.code = self.code or 1
        rows = [
            {
                "member": lack.member,
                "differences": [
                    {"dimension": item.dimension, "asked": item.asked, "carried": item.carried}
                    for item in lack.differences
                ],
            }
            for lack in lacks
        ]
        return {"require": {"asked": str(self.required), "accepted": not lacks, "lacking": rows}}

    def _on(self, found: Report) -> dict[str, Any]:
        from atoll.packaging.gate import runs_on

        if self.device is None:
            return {}
        said, answer = runs_on(found, self.device, self.rules)
        if said is not None:
            self.diagnostics.append(said)
            self.code = self.code or 1
        rows = [
            {"dimension": item.dimension, "asked": item.asked, "carried": item.carried}
            for item in answer.differences
        ]
        return {"on": {"device": self.device.name, "runs": bool(answer), "differences": rows}}

    def write(self, page: str) -> None:
        """Write what was measured as one page of HTML, whole or not at all."""
        from pathlib import Path

        from atoll._util.files import write_atomic
        from atoll.diagnostics import Diagnostic
        from atoll.errors import UsageError
        from atoll.packaging.picture import page as drawn

        try:
            write_atomic(Path(page), drawn(self.reports))
        except OSError as error:
            raise UsageError(
                Diagnostic(
                    code="ATL0474",
                    message=f"the report could not be written to `{page}`",
                    notes=(f"reason: {error.strerror or error}",),
                )
            ) from error

    def data(self) -> dict[str, Any]:
        """Return the one object of `--json`."""
        from atoll.diagnostics import as_json

        rows = [_data(found) | answer for found, answer in zip(self.reports, self.answers, strict=True)]
        return {"files": rows, "diagnostics": [as_json(item) for item in self.diagnostics]}

    def print(self, *, verbose: bool) -> None:
        """Print the data on stdout and what is to be said on stderr."""
        from atoll.diagnostics import render

        for found, answer in zip(self.reports, self.answers, strict=True):
            for line in _lines(found, answer, verbose=verbose):
                click.echo(line)
        for item in self.diagnostics:
            click.echo(render(item), err=True)


def _data(found: Report) -> dict[str, Any]:
    from dataclasses import asdict

    measured = found.measured
    return {
        "path": measured.path,
        "accel": None if measured.accel is None else str(measured.accel),
        "requires": [asdict(fact) for fact in measured.requires],
        "declared": list(measured.declared),
        "members": [
            {"member": name, "accel": None if accel is None else str(accel)}
            for name, accel in found.members().items()
        ],
        "findings": [asdict(finding) for finding in measured.findings],
        "unread": [{"member": name, "reason": reason} for name, reason in measured.unread],
    }


def _lines(found: Report, answer: dict[str, Any], *, verbose: bool) -> list[str]:
    from atoll.artifact.descriptor import accel_text

    measured = found.measured
    lines = [one_line(measured.path), f"  accel     {accel_text(measured.accel)}"]
    lines += [f"  requires  {one_line(text)}" for text in _requires(found)]
    lines += [f"  declared  {one_line(text)}" for text in measured.declared]
    lines += [f"  unread    {one_line(f'{name}: {reason}')}" for name, reason in measured.unread]
    if "require" in answer:
        met = "met" if answer["require"]["accepted"] else "not met"
        lines.append(f"  required  {met} ({answer['require']['asked']})")
    if "on" in answer:
        lines.append(
            f"  runs      {'yes' if answer['on']['runs'] else 'no'} ({one_line(answer['on']['device'])})"
        )
    if verbose:
        lines += _table(found)
    return lines


def _requires(found: Report) -> list[str]:
    """Give the required facts as text, those of one name and relation `=` on one line."""
    groups: dict[str, list[str]] = {}
    for fact in found.measured.requires:
        groups.setdefault(f"{fact.name} {fact.relation}", []).append(fact.value)
    return [f"{name} {', '.join(values)}" for name, values in groups.items()]


def _table(found: Report) -> list[str]:
    from atoll.artifact.descriptor import accel_text

    rows = []
    for name, accel in found.members().items():
        member = one_line(name.removeprefix(f"{found.measured.path}!") or name)
        entries = (
            [accel_text(None)] if accel is None else [str(entry) for entry in accel] or ["declared only"]
        )
        rows += [(member, entry) for entry in entries]
    width = max((len(member) for member, _ in rows), default=0)
    return [f"  {member:<{width}}  {entry}" for member, entry in rows]
