"""What do the readers say of a blob and of all that lies in it? Depth first, bounded, nothing swallowed."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from mmap import ACCESS_READ, mmap
from pathlib import Path

from atoll._util.values import dataclass, field
from atoll.artifact import Fact, Finding, Measured
from atoll.diagnostics import Diagnostic, Severity
from atoll.errors import UnreadableError
from atoll.packaging import combine
from atoll.packaging.values import Limits, Report
from atoll.plugin import Blob, Member, Reader

# Kinds that say: these bytes are device code, so someone must understand them.
DEVICE_KINDS = ("section:", "device:", "offload:")


@dataclass(slots=True)
class Walk:
    """One walk over a file: what was found so far."""

    readers: Sequence[Reader]
    limits: Limits
    findings: dict[Finding, None] = field(default_factory=dict)
    facts: dict[tuple[str, Fact], None] = field(default_factory=dict)
    unread: dict[tuple[str, str], None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    pieces: int = 0
    last: dict[str, Reader] = field(default_factory=dict)

    def visit(self, blob: Blob, depth: int = 0) -> None:
        """Read a blob and its members; what breaks becomes a diagnostic and an unread member."""
        if depth > self.limits.depth:
            self._unknown(blob.name, "ATL0457", f"over {self.limits.depth} containers in one another")
            return
        reader = self._reader(blob)
        if reader is None:
            if blob.kind.startswith(DEVICE_KINDS):
                self._unknown(blob.name, "ATL0453", f"no reader for {blob.kind}")
            return
        if not blob.kind:
            self.files[blob.name] = None
        try:
            for event in reader.read(blob):
                self._take(event, blob, depth)
        except UnreadableError as error:
            self._broken(blob.name, error)
        except (MemoryError, TooMuch):
            raise
        # A foreign reader may raise anything; it is said, and the member is unknown.
        except Exception as error:
            self._unknown(blob.name, "ATL0454", f"reader `{reader.name}`: {type(error).__name__}: {error}")

    def _reader(self, blob: Blob) -> Reader | None:
        # Thousands of modules of one kind may follow one another: whoever read the last one is asked first.
        last = self.last.get(blob.kind) if blob.kind else None
        if last is not None and last.recognises(blob):
            return last
        found = next((reader for reader in self.readers if reader.recognises(blob)), None)
        if found is not None:
            self.last[blob.kind] = found
        return found

    def _take(self, event: Member | Finding | Fact, blob: Blob, depth: int) -> None:
        self.pieces += 1
        if self.pieces > self.limits.pieces:
            raise TooMuch
        match event:
            case Member(inner):
                self.visit(inner, depth + 1)
            case Finding():
                self._found(event, blob)
            case Fact():
                self.facts[blob.name, event] = None

    def _found(self, finding: Finding, blob: Blob) -> None:
        reason = combine.fault(finding) or _contradiction(finding, blob)
        if reason is None:
            self.findings[finding] = None
        else:
            self._unknown(finding.member, "ATL0453", reason)

    def _unknown(self, member: str, code: str, reason: str) -> None:
        if (member, reason) in self.unread:
            return
        self.unread[member, reason] = None
        severity = Severity.WARNING if code == "ATL0453" else Severity.ERROR
        message = {
            "ATL0453": f"`{member}` holds device code that no reader understands",
            "ATL0454": f"reading `{member}` failed",
            "ATL0457": f"`{member}` lies too deep to be read",
        }[code]
        hint = {
            "ATL0453": "what it runs on is unknown; install a package that brings a reader for it",
            "ATL0454": "update or remove the package that brings the reader",
            "ATL0457": "unpack it and measure what lies inside",
        }[code]
        self.diagnostics.append(
            Diagnostic(code=code, message=message, severity=severity, notes=(reason,), hint=hint)
        )

    def _broken(self, member: str, error: UnreadableError) -> None:
        reason = error.diagnostics[0].message
        self.unread[member, "; ".join((reason, *error.diagnostics[0].notes))] = None
        self.diagnostics += error.diagnostics

    def report(self, path: str) -> Report:
        """Return what was found, with the one set that it means."""
        findings = tuple(self.findings)
        measured = Measured(
            path=path,
            accel=None if self.unread else combine.accel(findings),
            requires=combine.requires([*combine.stated(findings), *(fact for _, fact in self.facts)]),
            declared=combine.declared(findings),
            findings=findings,
            unread=tuple(self.unread),
        )
        return Report(
            measured=measured,
            facts=tuple(self.facts),
            files=tuple(self.files),
            diagnostics=tuple(self.diagnostics),
        )


def _contradiction(finding: Finding, blob: Blob) -> str | None:
    """Return how what was measured differs from what Atoll's own record says, or None."""
    if not blob.kind.startswith("device:"):
        return None
    stated = blob.kind.split(":")[1]
    return None if stated == finding.backend else f"its record says {stated}, its bytes {finding.backend}"


class TooMuch(Exception):  # noqa: N818 - a signal between two functions of this room, never seen outside
    """More members or findings than the limits allow."""


def walk_path(path: Path, name: str, readers: Sequence[Reader], limits: Limits) -> Report:
    """Measure a file or a folder in this process; callers want :func:`atoll.packaging.measure`.

    Raises:
        UnreadableError: Where the path is no regular file or folder.
    """
    walk = Walk(readers, limits)
    if path.is_dir():
        for inner, member in files(path, name, walk.diagnostics.append):
            _visit_file(walk, inner, member, 1)
    else:
        _visit_file(walk, path, name, 0)
    return walk.report(name)


def files(folder: Path, name: str, say: Callable[[Diagnostic], None]) -> Iterator[tuple[Path, str]]:
    """Give the regular files below a folder, sorted; links are not followed, and said."""
    # Without recursion: folders may lie in one another as deep as the system lets them.
    open_folders = [(name, _entries(folder))]
    while open_folders:
        above, rest = open_folders[-1]
        entry = next(rest, None)
        if entry is None:
            open_folders.pop()
            continue
        member = f"{above}/{entry.name}"
        if entry.is_symlink():
            say(_link(member, Path(entry.path).readlink()))
        elif entry.is_dir():
            open_folders.append((member, _entries(Path(entry.path))))
        elif entry.is_file():
            yield Path(entry.path), member


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        return iter(sorted(found, key=lambda item: item.name))


def _link(member: str, target: Path) -> Diagnostic:
    return Diagnostic(
        code="ATL0467",
        severity=Severity.NOTE,
        message=f"the link `{member}` was not followed",
        notes=(f"it names {target}",),
    )


def _visit_file(walk: Walk, path: Path, name: str, depth: int) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            raise UnreadableError(not_regular(name))
        # No system maps an empty file; a reader may know by its name that something is missing.
        data = memoryview(mmap(handle, 0, access=ACCESS_READ) if state.st_size else b"")
        walk.visit(Blob(name=name, data=data), depth)
    finally:
        os.close(handle)


def not_regular(name: str) -> Diagnostic:
    """Return the diagnostic for a path that is no file to measure."""
    return Diagnostic(
        code="ATL0002",
        message=f"`{name}` is no regular file and no folder",
        hint="name a file, a wheel or a folder",
    )
