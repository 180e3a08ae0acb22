"""Which files take part in this build, and for which devices? Globs, narrowed by the set.

Words: a *constraint* is the `accel` of a source entry; a *unit* here is a file that some lane compiles,
with the build's entries it is compiled for. The checks of a constrained glob stand in :func:`_constrain`
in the order that the spec gives them. Pure but for the walk of the project's files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll._util.near import nearest
from atoll._util.spelling import suffix
from atoll._util.values import dataclass, field, replace
from atoll.accel import AccelSet, BackendRules, Entry, links
from atoll.diagnostics import Diagnostic, Severity
from atoll.errors import AccelError, ManifestError
from atoll.manifest import glob
from atoll.manifest.document import anchored
from atoll.manifest.lanes import Claims, LaneFacts, claims
from atoll.manifest.merge import placed
from atoll.manifest.model import Manifest, Origin, Source, Target
from atoll.manifest.overlay import named_accelerators, unknown_accelerators

DEFAULT_SOURCES = "src/**/*"
# How many further files of one refusal are named.
SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectedUnit:
    """One file that a lane compiles.

    Attributes:
        path: Relative to the project root, forward slashes.
        target: The target that owns it.
        lane: The lane that takes it.
        entries: The build's entries it is compiled for, in the set's order; ``None`` among them for
            the processor. A unit of the host lane has ``(None,)``.
        archs: For each entry's backend what `archs = […]` leaves; empty mapping for no limit.
        source: The source entry that named it.
    """

    path: str
    target: str
    lane: str
    entries: tuple[Entry | None, ...]
    archs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    source: Source

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that the source entry has for its lane."""
        return self.source.flags.get(self.lane, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file or glob that takes no part, and why."""

    target: str
    glob: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What takes part.

    Attributes:
        units: Sorted by target, then path.
        headers: Files named by a glob that their lane tracks as headers, sorted.
        left_out: What a constraint or the set left out.
        warnings: What a person should know.
    """

    units: tuple[SelectedUnit, ...]
    headers: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()


def select(root: Path, manifest: Manifest, accel: AccelSet, lanes: Mapping[str, LaneFacts]) -> Selection:
    """Return the files of every target and what they are compiled for.

    Args:
        root: The project root.
        manifest: A resolved manifest; overlays that are left in it do not count.
        accel: The build's set; empty for none.
        lanes: The installed lanes.

    Raises:
        ManifestError: With every file and glob that is refused.
    """
    chosen = claims(manifest.build.lanes, lanes)
    work = _Work(root, manifest, accel, chosen)
    for name, target in sorted(manifest.targets.items()):
        work.target(name, target)
    if work.faults:
        raise ManifestError(*work.refusals())
    return Selection(
        units=tuple(sorted(work.units, key=lambda unit: (unit.target, unit.path))),
        headers=tuple(sorted(work.headers)),
        left_out=tuple(work.left_out),
        warnings=(*work.warnings, *work.predicates(), *work.strangers()),
    )


class _Refused(Exception):  # noqa: N818 - carries the diagnostic to the one place that keeps it
    def __init__(self, fault: Diagnostic) -> None:
        super().__init__(fault.message)
        self.fault = fault


class _Left(Exception):  # noqa: N818
    """The glob takes no part."""


class _Work:
    def __init__(self, root: Path, manifest: Manifest, accel: AccelSet, chosen: Claims) -> None:
        self.project, self.manifest, self.accel, self.claims = root, manifest, accel, chosen
        self.origin = Origin()
        self.faults: list[Diagnostic] = []
        # Files that nobody takes, by entry and extension, and where the refusal of the first stands.
        self.alike: dict[tuple[int, str], list[str]] = {}
        self.nobodys: list[tuple[int, list[str]]] = []
        self.units: list[SelectedUnit] = []
        self.headers: set[str] = set()
        self.left_out: list[LeftOut] = []
        self.constrained: set[str] = set()
        self.warnings: list[Diagnostic] = []
        self.rules: dict[str, BackendRules] = {
            backend: rules for facts in chosen.lanes.values() for backend, rules in facts.backends.items()
        }

    @property
    def root(self) -> Path:
        """The folder of the package whose target is looked at."""
        return self.project / self.origin.base

    def refusals(self) -> list[Diagnostic]:
        """Return what is refused: files of one extension under one entry are one refusal that names them."""
        for index, alike in self.nobodys:
            others = alike[1 : SHOWN + 1]
            if others:
                more = f" and {len(alike) - SHOWN - 1} more" if len(alike) > SHOWN + 1 else ""
                fault = self.faults[index]
                notes = (*fault.notes, f"the same holds for: {', '.join(others)}{more}")
                self.faults[index] = replace(fault, notes=notes)
        return self.faults

    def predicates(self) -> list[Diagnostic]:
        """Return a warning for each accelerator of a predicate that nobody names."""
        known = {*self.rules, *self.manifest.package.accelerators, *self.constrained}
        return unknown_accelerators(self.manifest.overlays, sorted(known))

    def strangers(self) -> list[Diagnostic]:
        """Return a warning for each backend of the build's set that nothing of the project names."""
        known = {*self.rules, *self.manifest.package.accelerators, *self.constrained}
        known |= named_accelerators(self.manifest.overlays)
        asked = {entry.backend for entry in self.accel}
        for facts in self.claims.lanes.values():
            known |= set(facts.through) if asked & facts.backends.keys() else set()
        return [_stranger(entry.backend, sorted(known)) for entry in self.accel if entry.backend not in known]

    def target(self, name: str, target: Target) -> None:
        """Keep the units of one target."""
        self.origin = target.origin
        owners: dict[str, Source] = {}
        gone: set[str] = set()
        # What says more about a file owns it; what a constraint leaves out stays out.
        for source in sorted((*(target.sources or ()), *target.added), key=_is_plain):
            files: list[str] = []
            try:
                files = self._files(source)
                entries = self._constrain(source, files)
            except _Refused as refused:
                self.faults.append(refused.fault)
                continue
            except _Left as left:
                self.left_out.append(LeftOut(target=name, glob=source.glob, reason=str(left)))
                gone.update(files)
                continue
            for path in files:
                if path not in gone and self._own(owners, path, source):
                    self._file(name, path, source, entries)
        if target.sources is None:
            self._default(name, {*owners, *gone})

    def _default(self, name: str, taken: set[str]) -> None:
        source = Source(glob=DEFAULT_SOURCES)
        pattern = glob.parse(DEFAULT_SOURCES)
        assert isinstance(pattern, glob.Pattern)
        for path in self._expand(source, pattern):
            lane = self.claims.units.get(suffix(path))
            if lane is not None and self.claims.lanes[lane].host and path not in taken:
                self._file(name, path, source, None)

    def _own(self, owners: dict[str, Source], path: str, source: Source) -> bool:
        """Tell whether this entry says how a file is compiled; refuse two that say different things."""
        owner = owners.setdefault(path, source)
        if owner is source:
            return True
        if not _is_plain(source) and replace(owner, glob=source.glob) != source:
            self.faults.append(
                Diagnostic(
                    code="ATL0222",
                    message=f"two source entries say different things about `{path}`",
                    span=source.span,
                    notes=(f"one: {_say(owner)}", f"the other: {_say(source)}"),
                    hint="narrow one of the globs",
                )
            )
        return False

    # the checks of a constrained glob, in the order of the spec

    def _constrain(self, source: Source, files: list[str]) -> AccelSet | None:
        """Return the constraint of a glob that takes part, or None where it has none."""
        if source.accel is None and source.archs is None:
            return None
        if not files:
            raise _Refused(_no_file(source))
        self._no_host_file(source, files)
        if source.accel is None:
            return None
        constraint = self._parse(source)
        self.constrained.update(constraint.backends)
        self._declared(source, constraint)
        if not self.accel:
            raise _Left("the build names no accelerator")
        named = [entry for entry in constraint if self.accel.get(entry.backend) is not None]
        if not named:
            raise _Left(f"the build names none of {', '.join(e.backend for e in constraint)}")
        self._covered(source, named)
        return constraint

    def _parse(self, source: Source) -> AccelSet:
        assert source.accel is not None
        words = {name: rules.floor_word for name, rules in self.rules.items() if rules.floor_word}
        try:
            constraint = AccelSet.parse(source.accel, floor_words=words, source="accel")
        except AccelError as error:
            inner = anchored(error.diagnostics[0], source.accel_span or source.span, len(source.accel))
            notes = (f"glob: {source.glob}", *inner.notes)
            raise _Refused(replace(inner, notes=notes)) from None
        if not constraint:
            raise _Refused(
                Diagnostic(
                    code="ATL0223",
                    message=f"the constraint of `{source.glob}` names no backend",
                    span=source.span,
                    hint="remove `accel`, or name a backend",
                )
            )
        return constraint

    def _no_host_file(self, source: Source, files: list[str]) -> None:
        for path in files:
            extension = suffix(path)
            lane = self.claims.units.get(extension)
            if lane is not None and self.claims.lanes[lane].host:
                raise _Refused(
                    Diagnostic(
                        code="ATL0224",
                        message=f"the constrained glob `{source.glob}` matches a host extension",
                        span=source.span,
                        notes=(f"file: {path}", f"`{extension}` means: a host source ({lane})"),
                        hint="give device sources an extension of their lane, or choose host sources with "
                        "`[target.'cfg(accelerator = …)']`",
                    )
                )

    def _declared(self, source: Source, constraint: AccelSet) -> None:
        own = self.origin
        allowed = own.accelerators if own.package else self.manifest.package.accelerators
        missing = [entry.backend for entry in constraint if entry.backend not in allowed]
        if allowed and missing:
            raise _Refused(
                Diagnostic(
                    code="ATL0225",
                    message=f"`{source.glob}` is for `{missing[0]}`, which this package does not declare",
                    span=source.span,
                    notes=(f"constraint: {source.accel}", f"`[package] accelerators`: {', '.join(allowed)}"),
                    hint=f"add `{missing[0]}` to `[package] accelerators`",
                )
            )

    def _covered(self, source: Source, named: list[Entry]) -> None:
        for entry in named:
            mine = self.accel.get(entry.backend)
            assert mine is not None
            answer = links(AccelSet((mine,)), AccelSet((entry,)), self.rules)
            if not answer:
                raise _Refused(
                    Diagnostic(
                        code="ATL0226",
                        message=f"the build's set does not cover what `{source.glob}` is for",
                        span=source.span,
                        notes=(
                            f"constraint: {source.accel}",
                            f"the build's set: {self.accel}",
                            *(
                                f"{d.dimension}: asked {d.asked}, carried {d.carried}"
                                for d in answer.differences
                            ),
                        ),
                        hint="name a set that covers it (`--accel`), or loosen the constraint",
                    )
                )

    # files

    def _files(self, source: Source) -> list[str]:
        pattern = glob.parse(source.glob)
        if isinstance(pattern, str):
            raise _Refused(
                Diagnostic(
                    code="ATL0214",
                    message=f"the glob `{source.glob[:80]}` cannot be used: {pattern}",
                    span=source.span,
                    notes=("allowed: a path below the project root, with forward slashes, without `..`",),
                )
            )
        return self._expand(source, pattern)

    def _expand(self, source: Source, pattern: glob.Pattern) -> list[str]:
        try:
            links: set[str] = set()
            found = glob.expand(self.root, pattern, links)
        except glob.TooMany:
            raise _Refused(
                Diagnostic(
                    code="ATL0227",
                    message=f"the glob `{source.glob}` looks at too many files",
                    span=source.span,
                    notes=(f"bound: {glob.MAX_ENTRIES} entries, {glob.MAX_DEPTH} folders deep",),
                    hint="start the glob with the folder that holds the sources",
                )
            ) from None
        if not found and source.accel is None and source.archs is None and source.glob != DEFAULT_SOURCES:
            self._nothing(source)
        for path in sorted(links):
            fault = glob.link_fault(self.root, path, source.glob, source.span)
            if fault is not None:
                raise _Refused(fault)
        return found

    def _nothing(self, source: Source) -> None:
        """Refuse a plain entry that names a file that is not there; warn where it is a pattern."""
        if not any(char in source.glob for char in "*?["):
            raise _Refused(_no_file(source))
        self.warnings.append(replace(_no_file(source), severity=Severity.WARNING))

    def _file(self, target: str, path: str, source: Source, constraint: AccelSet | None) -> None:
        extension = suffix(path)
        path = placed(self.origin.base, path)
        if extension in self.claims.headers:
            self.headers.add(path)
            return
        lane = self.claims.units.get(extension)
        if lane is None:
            alike = self.alike.setdefault((id(source), extension), [])
            alike.append(path)
            if len(alike) == 1:
                self.nobodys.append((len(self.faults), alike))
                self.faults.append(self._nobody(path, extension, source))
            return
        facts = self.claims.lanes[lane]
        if facts.host:
            entries: tuple[Entry | None, ...] = (None,)
            archs: dict[str, tuple[str, ...]] = {}
        else:
            chosen, archs = _entries(self.accel, constraint, source, facts)
            entries = (*chosen, None) if facts.processor and constraint is None else tuple(chosen)
        if not entries:
            why = _why_none(self.accel, source, facts)
            self.left_out.append(LeftOut(target=target, glob=path, reason=why))
            return
        self.units.append(
            SelectedUnit(path=path, target=target, lane=lane, entries=entries, archs=archs, source=source)
        )

    def _nobody(self, path: str, extension: str, source: Source) -> Diagnostic:
        shown = extension or "(none)"
        glob_note = f"glob: {source.glob}"
        if extension in self.claims.refused:
            lane = self.claims.refused[extension]
            takes = sorted(e for e, kind in self.claims.lanes[lane].extensions.items() if str(kind) == "unit")
            return Diagnostic(
                code="ATL0228",
                message=f"the lane `{lane}` does not compile `{path}`",
                span=source.span,
                notes=(glob_note, f"extension: {shown}", f"it compiles: {' '.join(takes)}"),
                hint="give the file the extension that says what it is",
            )
        able = self.claims.elsewhere(extension)
        if able:
            return Diagnostic(
                code="ATL0229",
                message=f"no lane of this project takes `{path}`",
                span=source.span,
                notes=(
                    glob_note,
                    f"installed lanes that take `{shown}`: {', '.join(able)}",
                    f"`[build] lanes`: {', '.join(self.manifest.build.lanes) or 'none'}",
                ),
                hint=f"add `{able[0]}` to `[build] lanes`",
            )
        return Diagnostic(
            code="ATL0230",
            message=f"no installed lane knows the extension of `{path}`",
            span=source.span,
            notes=(glob_note, f"extension: {shown}", f"known: {' '.join(sorted(self.claims.units))}"),
            hint="narrow the glob, or install the lane that compiles it",
        )


def _stranger(backend: str, known: list[str]) -> Diagnostic:
    close = nearest(backend, known)
    return Diagnostic(
        code="ATL0235",
        message=f"nothing of this project is compiled for `{backend}`, which the build's set names",
        severity=Severity.WARNING,
        notes=(f"named by lanes, sources, `accelerators` and `cfg`: {', '.join(known) or 'none'}",),
        hint=f"did you mean `{close}`?" if close else "list the lane that compiles for it in `[build] lanes`",
    )


def _is_plain(source: Source) -> bool:
    """Tell whether an entry says nothing but a glob."""
    return source.accel is None and source.archs is None and not source.defines and not source.flags


def _say(source: Source) -> str:
    parts = [f"glob = {source.glob}"]
    parts += [f"accel = {source.accel}"] if source.accel is not None else []
    parts += [f"archs = {' '.join(source.archs)}"] if source.archs is not None else []
    parts += [f"defines = {' '.join(source.defines)}"] if source.defines else []
    parts += [f"flags.{lane} = {' '.join(flags)}" for lane, flags in source.flags.items()]
    return ", ".join(parts)


def _no_file(source: Source) -> Diagnostic:
    return Diagnostic(
        code="ATL0231",
        message=f"`{source.glob}` matches no file",
        span=source.span,
        notes=(f"constraint: {source.accel}",) if source.accel else (),
        hint="mend the glob or remove the entry",
    )


def _entries(
    accel: AccelSet, constraint: AccelSet | None, source: Source, facts: LaneFacts
) -> tuple[list[Entry], dict[str, tuple[str, ...]]]:
    """Return the build's entries a device unit is compiled for, and what `archs` leaves of each."""
    wanted = None if constraint is None else {entry.backend for entry in constraint}
    chosen = [
        entry
        for entry in accel
        if entry.backend in facts.backends and (wanted is None or entry.backend in wanted)
    ]
    if source.archs is None:
        return chosen, {}
    left = {entry.backend: tuple(arch for arch in entry.archs if arch in source.archs) for entry in chosen}
    kept = [entry for entry in chosen if left[entry.backend]]
    return kept, {entry.backend: left[entry.backend] for entry in kept}


def _why_none(accel: AccelSet, source: Source, facts: LaneFacts) -> str:
    if not accel:
        return "the build names no accelerator"
    if not any(entry.backend in facts.backends for entry in accel):
        return f"the build names none of {', '.join(sorted(facts.backends)) or 'the lane’s backends'}"
    return f"none of its archs is in the build's set: {' '.join(source.archs or ())}"
