"""Which targets of the project does a target link? A name in `links` that is a library here means it.

Words: a *library* here is a target of kind ``static`` or ``shared``; what a target *uses* is what it links,
directly or through static libraries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.manifest import Manifest, Target, TargetKind

if TYPE_CHECKING:
    from atoll.build.parts import Part

LIBRARIES = (TargetKind.STATIC, TargetKind.SHARED)


def linked_targets(manifest: Manifest) -> dict[str, tuple[str, ...]]:
    """Return for each target that links others of the project those targets, in their order.

    Raises:
        BuildError: Where a name is a target that is no library, or targets link each other in a circle.
    """
    found = {name: tuple(_linked(manifest, name, target)) for name, target in manifest.targets.items()}
    links = {name: names for name, names in found.items() if names}
    try:
        TopologicalSorter(links).prepare()
    except CycleError:
        for name in sorted(links):
            _check_circle(manifest, links, name)
    return links


def _linked(manifest: Manifest, name: str, target: Target) -> Iterator[str]:
    for link in target.links:
        other = manifest.targets.get(link.name or "")
        if other is None or link.name is None:
            continue
        if other.kind not in LIBRARIES:
            raise BuildError(
                Diagnostic(
                    code="ATL0566",
                    message=f"the target `{name}` links `{link.name}`, which is no library",
                    span=link.span,
                    notes=(
                        f"kind of `{link.name}`: {other.kind}",
                        "kinds that can be linked: static, shared",
                    ),
                    hint=f'write `kind = "static"` at `[targets.{link.name}]`, or give it another name',
                )
            )
        yield link.name


def _check_circle(manifest: Manifest, links: Mapping[str, tuple[str, ...]], start: str) -> None:
    if start not in used_targets(links, start):
        return
    raise BuildError(
        Diagnostic(
            code="ATL0567",
            message=f"the target `{start}` links itself through others",
            span=manifest.targets[start].span,
            notes=tuple(
                f"`{name}` links: {', '.join(links[name])}"
                for name in dict.fromkeys((start, *used_targets(links, start)))
                if name in links
            ),
            hint="move what they share into a target of its own",
        )
    )


def used_targets(links: Mapping[str, tuple[str, ...]], target: str) -> tuple[str, ...]:
    """Return the targets that a target links, directly or not; each stands before what it links itself."""
    found: list[str] = []
    todo = list(links.get(target, ()))
    seen = set(todo)
    while todo:
        name = todo.pop(0)
        found.append(name)
        more = [other for other in links.get(name, ()) if other not in seen]
        seen.update(more)
        todo += more
    return tuple(found)


def uses(manifest: Manifest, parts: Mapping[str, Part], part: Part) -> tuple[Part, ...]:
    """Return the libraries of the project that enter the link of a part, users before what they use.

    An archive takes none: those that link it do. A shared library holds what it uses.

    Raises:
        BuildError: Where a Python package would need a shared library that no wheel brings.
    """
    if part.kind == "static":
        return ()
    found = tuple(parts[name] for name in _in_link_order(manifest, part.target))
    _check_package(manifest, part, found)
    return found


def _in_link_order(manifest: Manifest, target: str) -> list[str]:
    """Return what a target uses, users first. Without recursion: a chain is as long as its author likes."""
    links = linked_targets(manifest)
    order: dict[str, None] = {}
    path = [(target, reversed(links.get(target, ())))]
    while path:
        name, rest = path[-1]
        other = next((each for each in rest if each not in order), None)
        if other is None:
            path.pop()
            order[name] = None
            continue
        inner = links.get(other, ()) if manifest.targets[other].kind is TargetKind.STATIC else ()
        path.append((other, reversed(inner)))
    del order[target]
    return list(reversed(order))


def _check_package(manifest: Manifest, part: Part, used: tuple[Part, ...]) -> None:
    shared = next((other.target for other in used if other.kind == "shared"), None)
    if shared is not None and manifest.targets[part.target].kind is TargetKind.PYTHON:
        raise BuildError(
            Diagnostic(
                code="ATL0566",
                message=f"the Python package `{part.target}` links the shared library `{shared}`",
                span=manifest.targets[part.target].span,
                notes=(
                    f"kind of `{shared}`: shared",
                    "a wheel carries its own modules and nothing beside them",
                ),
                hint=f'write `kind = "static"` at `[targets.{shared}]`',
            )
        )


def run_paths(part: Part, used: tuple[Part, ...]) -> tuple[str, ...]:
    """Return how a program finds the project's own shared libraries, wherever both are moved together."""
    if not any(other.kind == "shared" for other in used):
        return ()
    place = "$ORIGIN" if part.kind == "shared" else "$ORIGIN/../lib"
    return (f"-Wl,-rpath,{place}",)
