"""Which wheel is packed from a built tree, and may it be? Measured first, checked, then written.

The wheel's `atoll.json` is the descriptor: one artifact, the wheel, with its measured set; beside it
`members`, the set of each file, which readers of descriptors may ignore.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll._util.values import dataclass, replace
from atoll.accel import PROCESSOR, AccelSet, BackendRules, Difference
from atoll.artifact import Abi, Descriptor, Fact, Index, Measured
from atoll.artifact.descriptor import accel_text
from atoll.diagnostics import Diagnostic
from atoll.errors import ArtifactMismatchError
from atoll.packaging import combine
from atoll.packaging.gate import lacking
from atoll.packaging.measuring import report
from atoll.packaging.metadata import Metadata
from atoll.packaging.tag import Platform, check_asked, platform, python_tag
from atoll.packaging.values import Report
from atoll.packaging.variants import MEMBER as VARIANT_MEMBER
from atoll.packaging.variants import Labelled, check_label, document, labelled
from atoll.packaging.wheel import Written, tree_files, wheel_name, write_wheel

INDEX_LIMIT = 100 << 20  # what PyPI takes of one file unless asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A written wheel.

    Attributes:
        path: The wheel.
        index: What its ``atoll.json`` says.
        members: The set of each file that holds device code.
        platform: Its platform tag, and why.
        sizes: Packed bytes by backend; that of the processor for the rest.
        variant: What a variant wheel says of itself; None for a wheel that is none.
    """

    path: Path
    index: Index
    members: Mapping[str, AccelSet | None]
    platform: Platform
    sizes: Mapping[str, int]
    variant: Labelled | None = None


def pack_tree(
    tree: Path,
    metadata: Metadata,
    out: Path,
    *,
    declared: AccelSet | None = None,
    rules: Mapping[str, BackendRules] | None = None,
    packages: Iterable[str] = (),
    asked_platform: str = "",
    variant: Labelled | None = None,
) -> Packed:
    """Measure a built tree, check it, and write the wheel.

    Args:
        tree: A folder that holds what is to lie in ``site-packages``.
        metadata: What METADATA says.
        out: Where the wheel is written.
        declared: The set the build declares; None where it declares nothing.
        rules: What the lanes know of their backends.
        packages: The folders of the tree that are meant; all of it where empty.
        asked_platform: A platform tag to be held; computed where empty.
        variant: What a variant wheel is to say of itself; its properties are measured anew.

    Raises:
        ArtifactMismatchError: Where a member's device code is unknown, differs from what is declared, or
            the module that import loads needs a vendor's library.
        UsageError: Where tree, metadata or tag cannot be.
    """
    folders = [tree / name for name in packages] or [tree]
    files = {name: path for folder in folders for name, path in tree_files(folder, tree).items()}
    found = together([named(report(folder), tree) for folder in folders], tree.name)
    wrong = [*_vendor(found), *faults(found, declared, rules or {})]
    if wrong:
        raise ArtifactMismatchError(*wrong)
    chosen = platform(found.facts, frozenset(Path(name).name for name in files))
    if asked_platform:
        check_asked(asked_platform, chosen)
        chosen = replace(chosen, tag=asked_platform)
    tag = _tag(files, found, chosen)
    variant = _variant(found, variant, rules or {})
    label = "" if variant is None else variant.label
    index = _index(found, metadata, wheel_name(metadata, tag, label), chosen)
    text = json.dumps(_descriptor(index, found), indent=2, sort_keys=True) + "\n"
    extra = {"atoll.json": text.encode()}
    if variant is not None:
        extra[VARIANT_MEMBER] = document((variant,))
    path, written = write_wheel(files, metadata, out, tag=tag, extra=extra, label=label)
    return Packed(
        path=path,
        index=index,
        members=found.members(),
        platform=chosen,
        sizes=_sizes(written, found),
        variant=variant,
    )


def _variant(found: Report, asked: Labelled | None, rules: Mapping[str, BackendRules]) -> Labelled | None:
    """Return what a variant wheel says of itself, from what was measured; None for a wheel that is none."""
    accel = found.measured.accel
    if asked is None or accel is None:
        return None
    check_label(asked.label, accel)
    measured = labelled(asked.label, accel, found.measured.requires, rules)
    return replace(measured, beside=asked.beside)


def named(found: Report, tree: Path) -> Report:
    """Return the report with members named as in the wheel."""
    start = f"{tree}/"

    def inside(name: str) -> str:
        return name.removeprefix(start)

    measured = found.measured
    return replace(
        found,
        measured=replace(
            measured,
            findings=tuple(replace(item, member=inside(item.member)) for item in measured.findings),
            unread=tuple((inside(name), reason) for name, reason in measured.unread),
        ),
        facts=tuple((inside(name), fact) for name, fact in found.facts),
        files=tuple(inside(name) for name in found.files),
    )


def together(reports: list[Report], name: str) -> Report:
    """Return one report of several folders."""
    findings = tuple(item for each in reports for item in each.measured.findings)
    unread = tuple(row for each in reports for row in each.measured.unread)
    measured = Measured(
        path=name,
        accel=None if unread else combine.accel(findings),
        requires=combine.requires(fact for each in reports for fact in each.measured.requires),
        declared=combine.declared(findings),
        findings=findings,
        unread=unread,
    )
    return Report(
        measured=measured,
        facts=tuple(row for each in reports for row in each.facts),
        files=tuple(row for each in reports for row in each.files),
        diagnostics=tuple(item for each in reports for item in each.diagnostics),
    )


def faults(found: Report, declared: AccelSet | None, rules: Mapping[str, BackendRules]) -> list[Diagnostic]:
    """Return why what was measured may not be shipped: code that is unknown, or other than declared."""
    return [*_unknown(found), *_different(found, declared, rules)]


def _unknown(found: Report) -> list[Diagnostic]:
    return [
        Diagnostic(
            code="ATL0460",
            message=f"`{member}` holds device code that is unknown",
            notes=(f"reason: {reason}", "a wheel states what it runs on, and unknown cannot be stated"),
            hint="install the reader it needs, or leave the member out",
        )
        for member, reason in found.measured.unread
    ]


def _vendor(found: Report) -> list[Diagnostic]:
    """Refuse a vendor's library among what the loader must find before import succeeds."""
    modules = {name for name, fact in found.facts if fact.name == "abi.module" and _is_module(name, fact)}
    return [
        Diagnostic(
            code="ATL0462",
            message=f"importing `{name}` needs a vendor's library",
            notes=(f"needed by the loader: {fact.value}", "without it the import fails on every machine"),
            hint="link it into the shared object of its backend, which is opened on demand",
        )
        for name, fact in found.facts
        if fact.name == "needed" and name in modules
    ]


def _is_module(name: str, fact: Fact) -> bool:
    return Path(name).name.split(".")[0] == fact.value


def _different(
    found: Report, declared: AccelSet | None, rules: Mapping[str, BackendRules]
) -> list[Diagnostic]:
    if declared is None or found.measured.accel is None:
        return []
    rows = [(lack.member, item) for lack in lacking(found, declared, rules) for item in lack.differences]
    rows += [
        (member, item) for member, accel in found.members().items() for item in _surplus(accel, declared)
    ]
    return [
        Diagnostic(
            code="ATL0461",
            message=f"`{member}` does not carry what the build declares",
            notes=(
                f"{item.dimension}: declared {item.asked}, measured {item.carried}",
                f"declared  {declared}",
                f"measured  {accel_text(found.measured.accel)}",
            ),
            hint="build it anew, or declare what is built",
        )
        for member, item in rows
    ]


def _surplus(accel: AccelSet | None, declared: AccelSet) -> list[Difference]:
    """Return what a member carries beyond what is declared: a backend, or an architecture."""
    found = []
    for entry in accel or ():
        stated = declared.get(entry.backend)
        if stated is None:
            found.append(Difference("accel", "none", str(entry)))
        elif stated.archs and set(entry.archs) - set(stated.archs):
            more = sorted(set(entry.archs) - set(stated.archs))
            found.append(Difference("accel", ", ".join(stated.archs), ", ".join(more)))
    return found


def _tag(files: Mapping[str, Path], found: Report, chosen: Platform) -> str:
    """Return the wheel's tag; an extension module of the stable ABI serves every later Python."""
    if not chosen.machine:
        return "py3-none-any"
    modules = [name for name in files if name.endswith(".so") and _exports(found, name)]
    if not modules:
        return f"py3-none-{chosen.tag}"
    return f"{python_tag(modules)}-{chosen.tag}"


def _exports(found: Report, name: str) -> bool:
    return any(member == name and fact.name == "abi.module" for member, fact in found.facts)


def _index(found: Report, metadata: Metadata, path: str, chosen: Platform) -> Index:
    measured = found.measured
    wheel = Descriptor(
        role="wheel",
        path=path,
        provenance=f"{metadata.name} {metadata.version}",
        abi=Abi(arch=chosen.machine, os="linux", libc="gnu") if chosen.machine else Abi(),
        accel=measured.accel,
        requires=measured.requires,
        declared=measured.declared,
    )
    return Index(package=metadata.name, version=metadata.version, artifacts=(wheel,))


def _descriptor(index: Index, found: Report) -> dict[str, object]:
    members = [
        {"path": name, "accel": None if accel is None else str(accel)}
        for name, accel in sorted(found.members().items())
    ]
    return {**index.as_json(), "members": members}


def _sizes(written: tuple[Written, ...], found: Report) -> dict[str, int]:
    """Return the packed bytes by backend; a file of several counts for their sum's name."""
    backends: dict[str, set[str]] = {}
    for finding in found.measured.findings:
        backends.setdefault(finding.member.partition("!")[0], set()).add(finding.backend)
    sizes: dict[str, int] = {}
    for item in written:
        name = "+".join(sorted(backends.get(item.name, {PROCESSOR})))
        sizes[name] = sizes.get(name, 0) + item.packed
    return dict(sorted(sizes.items()))
