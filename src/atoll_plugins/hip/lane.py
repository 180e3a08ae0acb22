"""The lane of HIP C++: `.hip` units compiled by clang, for AMD or, through HIP's headers, for NVIDIA.

Which platform, and what is refused first, is :mod:`atoll_plugins.hip.units`; HIP's own files
:mod:`atoll_plugins.hip.sdk`; the spelling of each platform :mod:`atoll_plugins.hip.amd` and
:mod:`atoll_plugins.hip.nvidia`; what an architecture means :mod:`atoll_plugins.hip.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from atoll.accel import BackendRules
from atoll.errors import LaneError
from atoll.plugin import LanePlan, LaneRequest, LaneStatus, UnitKind
from atoll.plugin.options import check_options
from atoll.store import Payload
from atoll_plugins.formats.device_link import OPTION, refuse_forgotten
from atoll_plugins.hip.amd import STAGES, plan_amd
from atoll_plugins.hip.clangs import choose
from atoll_plugins.hip.nvidia import PAYLOAD, check_cuda, plan_nvidia
from atoll_plugins.hip.rules import HipRules
from atoll_plugins.hip.sdk import check_bitcode, check_runtime, locate
from atoll_plugins.hip.units import NVIDIA, check_entries, platform_of

OPTIONS = ("compiler", "rocm", "flags", OPTION)
# A flag that makes device code to be linked, and what a host linker misses of it.
_RELOCATABLE = ("-fgpu-rdc",)
_MISSED = "__hip_gpubin_handle_…"


class HipLane:
    """Compiles `.hip` with clang."""

    name = "hip"
    extensions: Mapping[str, UnitKind] = {".hip": UnitKind.UNIT, ".hiph": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"hip": HipRules()}
    through = ("cuda",)

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return CUDA's wheels where HIP is compiled for NVIDIA; for AMD the host has everything or nothing.

        Raises:
            LaneError: For entries that are refused whatever is installed.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units or request.accel.get("hip") is None:
            return ()
        check_entries(request)
        refuse_forgotten(self.name, request, _RELOCATABLE, _MISSED)
        if platform_of(request) != NVIDIA:
            return ()
        check_cuda(request)
        return (PAYLOAD,)

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one object for each unit.

        Raises:
            LaneError: For an entry it cannot compile for, a HIP that is not whole or too old, and a clang
                that is not there or lacks a stage.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        check_entries(request)
        refuse_forgotten(self.name, request, _RELOCATABLE, _MISSED)
        return plan_nvidia(request) if platform_of(request) == NVIDIA else plan_amd(request)

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether AMD's side is whole: headers, device libraries, runtime, clang with its linker."""
        request = LaneRequest(root=Path(), build="", package="", environment=environment)
        payload = (
            f"{PAYLOAD.name}, for NVIDIA ({'in the store' if PAYLOAD.name in stored else 'not in the store'})"
        )
        try:
            sdk = locate(request)
            check_bitcode(sdk)
            check_runtime(sdk)
            clang = choose(request, STAGES)
        except LaneError as error:
            first = error.diagnostics[0]
            return LaneStatus(
                lane=self.name, payload=payload, can_build=False, reason=first.message, fix=first.hint or ""
            )
        found = f"HIP {sdk.version} at {sdk.prefix}, {clang.compiler}"
        return LaneStatus(lane=self.name, found=found, payload=payload, can_build=True)
