"""What a target's link takes of the project: users before what they use, however deep."""

from __future__ import annotations

import random

from atoll.build.linked import linked_targets, uses
from atoll.build.parts import Part
from atoll.manifest import Manifest, Target, TargetKind
from atoll.manifest.model import Link, Package


def manifest(links: dict[str, tuple[str, ...]], shared: frozenset[str] = frozenset()) -> Manifest:
    def kind(name: str) -> TargetKind:
        if name == "app":
            return TargetKind.EXECUTABLE
        return TargetKind.SHARED if name in shared else TargetKind.STATIC

    targets = {
        name: Target(kind=kind(name), links=tuple(Link(name=other) for other in names))
        for name, names in links.items()
    }
    return Manifest(package=Package(name="p", version="1"), targets=targets)


def order(built: Manifest) -> list[str]:
    parts = {
        name: Part(target=name, kind=str(target.kind), output=name) for name, target in built.targets.items()
    }
    return [part.target for part in uses(built, parts, parts["app"])]


def visited(links: dict[str, tuple[str, ...]], shared: frozenset[str]) -> list[str]:
    """The order by its definition: each after all that it uses, the last link first; turned round."""
    found: list[str] = []

    def visit(name: str) -> None:
        for other in reversed(links[name]):
            if other not in found:
                if other not in shared:
                    visit(other)
                found.append(other)

    visit("app")
    return found[::-1]


def test_a_chain_as_deep_as_a_manifest_can_hold_is_put_in_order() -> None:
    names = [f"t{index}" for index in range(10_000)]
    after: list[tuple[str, ...]] = [*((name,) for name in names), ()]
    links = dict(zip(["app", *names], after, strict=True))
    built = manifest(links)
    assert len(linked_targets(built)) == 10_000
    assert order(built) == names


def test_random_projects_are_ordered_as_the_definition_says() -> None:
    for seed in range(300):
        pick = random.Random(seed)
        names = ["app", *(f"t{index}" for index in range(pick.randrange(1, 12)))]
        links = {
            name: tuple(pick.sample(names[at + 1 :], pick.randint(0, len(names) - at - 1)))
            for at, name in enumerate(names)
        }
        shared = frozenset(name for name in names[1:] if pick.random() < 0.3)
        assert order(manifest(links, shared)) == visited(links, shared), seed
