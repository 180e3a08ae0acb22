"""The lane of CUDA C++: `.cu` units compiled by nvcc, or by clang where that is the host compiler.

The toolkit is :mod:`atoll_plugins.cuda.toolkit`, the bound of the host compiler
:mod:`atoll_plugins.cuda.hostbound`, how each compiler is spelled :mod:`atoll_plugins.cuda.nvcc` and
:mod:`atoll_plugins.cuda.clang`, what an architecture means :mod:`atoll_plugins.cuda.rules`, how the runtime
is found :mod:`atoll_plugins.cuda.runtime`.
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll.accel import BackendRules
from atoll.artifact import Fact
from atoll.errors import LaneError
from atoll.plugin import LanePlan, LaneRequest, LaneStatus, UnitKind
from atoll.plugin.options import check_options, text_option
from atoll.plugin.values import replace
from atoll.store import Payload
from atoll_plugins.cuda.clang import clang_at_hand, plan_clang, refusal, why_not
from atoll_plugins.cuda.hostbound import choose_host, read_bound
from atoll_plugins.cuda.nvcc import plan_nvcc
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.cuda.runtime import runtime_of, way_of
from atoll_plugins.cuda.toolkit import (
    BOUNDS,
    DRIVER_FLOORS,
    PAYLOADS,
    PINNED,
    Toolkit,
    locate,
    needed_payload,
)
from atoll_plugins.cuda.units import check_entries, refuse_nvcc
from atoll_plugins.formats.device_link import OPTION, refuse_forgotten, wanted

OPTIONS = ("compiler", "host-compiler", "version", "flags", "runtime", OPTION)
# Flags that make device code to be linked, and what a host linker misses of it.
_RELOCATABLE = ("-rdc=true", "--relocatable-device-code=true", "-dc", "--device-c", "-fgpu-rdc")
_MISSED = "__cudaRegisterLinkedBinary_…"


class CudaLane:
    """Compiles `.cu` with nvcc or clang."""

    name = "cuda"
    extensions: Mapping[str, UnitKind] = {".cu": UnitKind.UNIT, ".cuh": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"cuda": CudaRules()}

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return the toolkit's wheels, where units and set need them and no toolkit is named.

        Raises:
            LaneError: For what is refused without the toolkit: entries, a pin, and a host compiler outside
                the bound that the pinned one is known to have.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units or request.accel.get("cuda") is None:
            return ()
        check_entries(request)
        refuse_forgotten(self.name, request, _RELOCATABLE, _MISSED)
        way_of(request)
        payload = needed_payload(request)
        if payload is None:
            refuse_nvcc(
                request, f"`[lane.cuda] compiler` names {text_option(self.name, request, 'compiler')}"
            )
            return ()
        if wanted(self.name, request):
            refuse_nvcc(request, "`[lane.cuda] device-link`")
        if clang_at_hand(request) is None:
            refuse_nvcc(request, "no clang++ on PATH")
            version = text_option(self.name, request, "version") or PINNED
            choose_host(BOUNDS[version], _named_host(request), version, request.environment)
        return (payload,)

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return one object for each unit.

        Raises:
            LaneError: For an entry it cannot compile for, a toolkit that is not whole or too old, a host
                compiler outside the toolkit's bound, and a clang that does not pass its probe.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        check_entries(request)
        refuse_forgotten(self.name, request, _RELOCATABLE, _MISSED)
        toolkit = locate(request)
        found = _planned(request, toolkit)
        link_args, folders = runtime_of(request, toolkit)
        return replace(found, link_args=link_args, runtime=folders, floors=_floors(toolkit))

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether the payload is in the store, and whether a host compiler is there."""
        payload = PAYLOADS[PINNED]
        have = payload.name in stored
        try:
            host, _ = choose_host(BOUNDS[PINNED], None, PINNED, environment)
        except LaneError as error:
            return LaneStatus(
                lane=self.name,
                payload=payload.name,
                can_build=False,
                reason=error.diagnostics[0].message,
                fix=error.diagnostics[0].hint or "",
            )
        return LaneStatus(
            lane=self.name,
            found=f"nvcc {PINNED} in the store, driving {host}" if have else "",
            payload=f"{payload.name} ({'in the store' if have else 'not in the store'})",
            can_build=True if have else None,
            reason="" if have else "the toolkit is fetched by the first build that needs it",
            fix="" if have else "build, or `atoll toolchain add` in the project: it is fetched",
        )


def _planned(request: LaneRequest, toolkit: Toolkit) -> LanePlan:
    """Return the plan of clang where that is the host compiler and can, else that of nvcc."""
    found, passed_over = clang_at_hand(request), ""
    if found is not None:
        clang, why, named = found
        reason = "device code of several units is linked by nvcc" if wanted("cuda", request) else ""
        reason = reason or why_not(request, clang, toolkit)
        if not reason:
            return plan_clang(request, clang, toolkit, why)
        if named:
            raise LaneError(refusal(clang, toolkit, reason))
        passed_over = f"; {clang.cxx.name} {clang.version} compiles no CUDA here: {reason}"
    refuse_nvcc(request, passed_over.removeprefix("; ") or "no clang++ on PATH")
    bound = read_bound(toolkit.host_config)
    named_host = _named_host(request)
    host, why = choose_host(bound, named_host, toolkit.version, request.environment, request.host_compiler)
    return plan_nvcc(request, toolkit, host, why + passed_over)


def _named_host(request: LaneRequest) -> str | None:
    return text_option("cuda", request, "host-compiler")


def _floors(toolkit: Toolkit) -> tuple[Fact, ...]:
    """Return what the runtime needs, as either fact of the probe states it."""
    major = toolkit.release[0]
    driver = DRIVER_FLOORS.get(major)
    stated = (Fact(name="cuda.driver", relation=">=", value=driver),) if driver else ()
    # A driver serves every runtime of the majors that it knows.
    return (*stated, Fact(name="cuda.runtime", relation=">=", value=f"{major}.0"))
