"""What is known so far of one build that is being planned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atoll._util.values import dataclass, field
from atoll.build.boundaries import Scanned
from atoll.build.contributions import Declared
from atoll.build.datafiles import DataPlan
from atoll.build.laneplans import LaneRun
from atoll.build.parts import Part
from atoll.build.request import BuildRequest
from atoll.build.roots import Generated
from atoll.build.values import Output
from atoll.graph import Action
from atoll.manifest import Selection
from atoll.plugin import DataProduct, SourceProduct, Unit

if TYPE_CHECKING:
    from atoll.boundary import Interface


@dataclass(slots=True)
class Work:
    """What is known so far of one build."""

    request: BuildRequest
    selection: Selection
    boundaries: dict[str, Scanned]
    lanes: LaneRun
    units: dict[str, list[Unit]]
    interfaces: dict[str, Interface] = field(default_factory=dict)
    generated: Generated = field(default_factory=Generated)
    data: DataPlan = field(default_factory=DataPlan)
    parts: list[Part] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    roots: dict[str, dict[str, str]] = field(default_factory=dict)
    declared: Declared = field(default_factory=Declared)
    texts: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[SourceProduct, ...]:
        """What lanes generated for the host lane to compile."""
        return tuple(product for plan in self.lanes.plans.values() for product in plan.sources)

    @property
    def products(self) -> tuple[DataProduct, ...]:
        """What lanes made to be embedded."""
        return tuple(product for plan in self.lanes.plans.values() for product in plan.data)


def left_out(work: Work, target: str) -> Iterator[str]:
    """Give a line for each glob of a target that takes no part, with the reason."""
    for left in work.selection.left_out:
        if left.target == target:
            yield f"left out: {left.glob} ({left.reason})"


def lane_actions(work: Work) -> list[Action]:
    """Return what lanes answered so far."""
    return [action for made in work.lanes.plans.values() for action in made.actions]
