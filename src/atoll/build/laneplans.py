"""What does each lane answer for this build? Payloads first, behind two gates; then its plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from atoll._util.values import dataclass, field, replace
from atoll.build.libraries import Found, equipped
from atoll.build.linked import linked_targets
from atoll.build.request import BuildRequest
from atoll.graph import Action
from atoll.plugin import HOST as HOST
from atoll.plugin import HostLane, LanePlan, LaneRequest, LinkRequest, Unit
from atoll.store import PayloadRoot

TIME_LIMIT = 3600.0
"""Seconds that an action may take where nobody states otherwise."""


@dataclass(slots=True)
class LaneRun:
    """The lanes of one build, asked one after the other.

    Attributes:
        request: The build.
        plans: What each lane answered, by lane; a lane asked twice has its answers joined.
        tools: The payloads that were brought, by lane.
        packages: The libraries of this machine that targets name.
        searched: The folders in which units look files up by name.
    """

    request: BuildRequest
    plans: dict[str, LanePlan] = field(default_factory=dict)
    tools: dict[str, tuple[PayloadRoot, ...]] = field(default_factory=dict)
    packages: Found = field(default_factory=dict)
    searched: dict[str, None] = field(default_factory=dict)

    def plan(self, lane: str, units: Iterable[Unit]) -> LanePlan:
        """Bring what the lane needs for these units and return its plan.

        Raises:
            LaneError: Where the lane refuses.
            StoreError: Where a payload cannot be had.
        """
        plugin = self.request.registry.lanes[lane]
        ready = equipped(self.request.manifest, self.packages, lane, units)
        asked = self.lane_request(lane, tuple(sorted(ready, key=lambda unit: (unit.target, unit.path))))
        self.searched.update((folder, None) for unit in asked.units for folder in unit.includes)
        roots = tuple(self.request.ensure(payload) for payload in plugin.payloads(asked))
        answer = plugin.plan(
            _with_tools(asked, {**asked.tools, **{root.payload.name: root for root in roots}})
        )
        self._keep(lane, answer, roots)
        return answer

    def link(self, link: LinkRequest) -> LanePlan:
        """Return the plan of one link."""
        answer = self.host().link(link)
        self._keep(HOST, answer, ())
        return answer

    def host(self) -> HostLane:
        """Return the lane that links."""
        return cast("HostLane", self.request.registry.lanes[HOST])

    def lane_request(self, lane: str, units: tuple[Unit, ...] = ()) -> LaneRequest:
        """Return what a lane may look at."""
        build, profile = self.request.manifest.build, self.request.profile
        asked = LaneRequest(
            root=self.request.root,
            build=self.request.folder,
            package=self.request.manifest.package.name,
            units=units,
            accel=self.request.accel,
            options=self.request.manifest.lane_options(lane),
            places=self.request.manifest.lane_places(lane),
            optimise=profile.opt,
            debug=profile.debug,
            cflags=build.cflags,
            cxxflags=build.cxxflags,
            cxx_standard=build.cxx_std,
            host=self.request.host,
            host_compiler=str(self.request.manifest.lane_options(HOST).get("compiler", "")),
            links=linked_targets(self.request.manifest),
            kinds={name: str(target.kind) for name, target in self.request.manifest.targets.items()},
            environment=self.request.environment,
        )
        return self._with_compiler(asked) if lane == HOST else asked

    def _with_compiler(self, asked: LaneRequest) -> LaneRequest:
        """Bring a host compiler where the machine has none; once a build."""
        wanted = self.host().fallback(asked)
        known = {root.payload: root for root in self.tools.get(HOST, ())}
        roots = tuple(known.get(payload) or self.request.ensure(payload) for payload in wanted)
        self.tools[HOST] = tuple(dict.fromkeys((*self.tools.get(HOST, ()), *roots)))
        return _with_tools(asked, {root.payload.name: root for root in roots})

    def _keep(self, lane: str, answer: LanePlan, roots: tuple[PayloadRoot, ...]) -> None:
        known = self.plans.get(lane, LanePlan())
        self.plans[lane] = LanePlan(
            actions=known.actions + limited(answer.actions, self.request.manifest.lane_limit(lane)),
            objects=known.objects + answer.objects,
            data=known.data + answer.data,
            sources=known.sources + answer.sources,
            link_args=tuple(dict.fromkeys(known.link_args + answer.link_args)),
            runtime=tuple(dict.fromkeys(known.runtime + answer.runtime)),
            tools=tuple(dict.fromkeys(known.tools + answer.tools)),
            facts=tuple(dict.fromkeys(known.facts + answer.facts)),
            floors=tuple(dict.fromkeys(known.floors + answer.floors)),
            diagnostics=tuple(dict.fromkeys(known.diagnostics + answer.diagnostics)),
            planner_inputs=tuple(dict.fromkeys(known.planner_inputs + answer.planner_inputs)),
        )
        self.tools[lane] = (*self.tools.get(lane, ()), *roots)

    def resolution(self) -> dict[str, Any]:
        """Return for each lane which tools and payloads were taken, and why."""
        return {lane: self._resolved(lane) for lane in sorted(self.plans)}

    def _resolved(self, lane: str) -> dict[str, Any]:
        plan = self.plans[lane]
        return {
            "tools": [
                {"name": tool.name, "path": tool.path, "version": tool.version, "why": tool.why}
                for tool in plan.tools
            ],
            "payloads": [
                {
                    "name": root.payload.name,
                    "requirements": list(root.payload.requirements),
                    "digest": root.digest,
                    "root": str(root.root),
                    "why": root.why,
                }
                for root in self.tools.get(lane, ())
            ],
            "link_args": list(plan.link_args),
            **_found_at(plan),
            "facts": [str(fact) for fact in plan.facts],
            "floors": [str(floor) for floor in plan.floors],
        }


def _found_at(plan: LanePlan) -> dict[str, Any]:
    """Return where what is linked finds libraries at run time, where it needs any."""
    rows = [
        {"folder": folder.path, "requirement": folder.requirement, "inside": folder.inside}
        for folder in plan.runtime
    ]
    return {"runtime": rows} if rows else {}


def limited(actions: Iterable[Action], limit: float | None) -> tuple[Action, ...]:
    """Return the actions with a time limit: their own, that of their lane, or the general one.

    A compiler that hangs would keep a build for ever, and with it whatever waits for the build.
    """
    seconds = TIME_LIMIT if limit is None else limit
    if seconds == 0:
        return tuple(actions)
    return tuple(
        action if action.time_limit is not None else replace(action, time_limit=seconds) for action in actions
    )


def _with_tools(request: LaneRequest, tools: Mapping[str, PayloadRoot]) -> LaneRequest:
    return replace(request, tools=tools)
