"""The lane door: which actions compile a `.poly` file?"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from pathlib import Path

from atoll.accel import BackendRules
from atoll.accel.atleast import AtLeastRules
from atoll.graph import Action, Role
from atoll.plugin import DataProduct, LanePlan, LaneRequest, LaneStatus, ToolChoice, UnitKind
from atoll.plugin.options import check_options
from atoll.plugin.tools import python_program
from atoll.store import Payload

COMPILER = str(Path(__file__).with_name("compile.py"))


class PolyLane:
    """Compiles with a script of this package."""

    name = "poly"
    extensions: Mapping[str, UnitKind] = {".poly": UnitKind.UNIT}
    backends: Mapping[str, BackendRules] = {"poly": AtLeastRules(format="poly")}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Name the toolchains to fetch; this lane brings its own."""
        return ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Describe one action and one product a unit; the graph runs the actions later."""
        check_options(self.name, request, known=())
        if not request.units:
            return LanePlan()
        actions, data = [], []
        for unit in request.units:
            output = f"{request.build}/{self.name}/{unit.target}/{unit.path}.bin"
            actions.append(
                Action(
                    name=f"poly {unit.target} {unit.path}",
                    argv=(python_program(), COMPILER, unit.path, output),
                    inputs=(unit.path, COMPILER),
                    outputs=(output,),
                    role=Role.ARTIFACT,
                )
            )
            data.append(DataProduct(path=output, unit=unit, backend="poly"))
        tool = ToolChoice(name="compile.py", path=COMPILER, version="1.0", why="it is a part of this package")
        return LanePlan(actions=tuple(actions), data=tuple(data), tools=(tool,))

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Fill the lane's row of `atoll doctor`."""
        return LaneStatus(
            lane=self.name, found=f"compile.py, Python {platform.python_version()}", can_build=True
        )
