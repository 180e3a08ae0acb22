"""The lane of SYCL: `.sycl` units by a compiler driver that the project names, else by the runtime's wheels.

The drivers are :mod:`atoll_plugins.sycl.drivers`, the wheels :mod:`atoll_plugins.sycl.wheels`.
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll.accel import BackendRules
from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LanePlan, LaneRequest, LaneStatus, UnitKind
from atoll.plugin.options import check_options, text_option
from atoll.store import Payload
from atoll_plugins.formats.hosts import LINUX, MACOS, WINDOWS
from atoll_plugins.formats.lane_refusals import check_host, foreign
from atoll_plugins.sycl.drivers import check_cuda, locate, plan_driver
from atoll_plugins.sycl.rules import SyclRules
from atoll_plugins.sycl.wheels import PAYLOAD, VERSION, plan_wheels

OPTIONS = ("compiler", "version", "flags")


class SyclLane:
    """Compiles `.sycl`."""

    name = "sycl"
    extensions: Mapping[str, UnitKind] = {".sycl": UnitKind.UNIT, ".syclh": UnitKind.HEADER}
    backends: Mapping[str, BackendRules] = {"sycl": SyclRules()}
    through = ("cuda",)
    # The runtime's headers need the C++ library; what an island throws is caught in it.
    tied = True

    def payloads(self, request: LaneRequest) -> tuple[Payload, ...]:
        """Return the runtime's wheels, unless the project names a driver.

        Raises:
            LaneError: For entries, pins and hosts that are refused whatever is installed.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units or request.accel.get("sycl") is None:
            return ()
        return (PAYLOAD,) if _by_wheels(request) else ()

    def plan(self, request: LaneRequest) -> LanePlan:
        """Return what compiles the units.

        Raises:
            LaneError: For what :meth:`payloads` refuses, a driver that is not there, and what the way that is
                taken cannot compile.
        """
        check_options(self.name, request, OPTIONS)
        if not request.units:
            return LanePlan()
        if _by_wheels(request):
            return plan_wheels(request)
        driver = locate(request)
        assert driver is not None
        return plan_driver(request, driver)

    def status(self, environment: Mapping[str, str], stored: frozenset[str]) -> LaneStatus:
        """Say whether the wheels are in the store."""
        have = PAYLOAD.name in stored
        return LaneStatus(
            lane=self.name,
            found=f"SYCL {VERSION} in the store" if have else "",
            payload=f"{PAYLOAD.name} ({'in the store' if have else 'not in the store'})",
            can_build=True if have else None,
            reason="" if have else "the SYCL runtime is fetched by the first build that needs it",
            fix="" if have else "build, or `atoll toolchain add` in the project: it is fetched",
        )


def _by_wheels(request: LaneRequest) -> bool:
    """Tell whether no driver is named.

    Raises:
        LaneError: For a unit of another backend, a pin, a host without wheels, and NVIDIA by wheels.
    """
    faults = [
        foreign("sycl", unit, ("sycl",))
        for unit in request.units
        if not unit.entry or unit.entry.backend != "sycl"
    ]
    if faults:
        raise LaneError(*faults)
    named, pin = (text_option("sycl", request, key) for key in ("compiler", "version"))
    wheels = named in (None, "payload")
    cuda = check_cuda(request)
    fact = "the wheels that hold a SYCL runtime and its compiler library are pinned for Linux"
    fact = "nobody publishes a SYCL runtime for macOS" if request.host == MACOS else fact
    served = (LINUX,) if wheels else (LINUX, WINDOWS)
    check_host("sycl", request, served, fact, "build on Linux, or leave `sycl` out of the set")
    if pin is not None and (pin != VERSION or not wheels):
        raise LaneError(_pinned(pin, "" if wheels else str(named)))
    if wheels and cuda is not None:
        raise LaneError(
            Diagnostic(
                code="ATL0508",
                message="SYCL from wheels does not compile for NVIDIA",
                notes=(
                    f"the build asks for: {request.accel}",
                    "the wheels make SPIR-V alone, and their runtime has no adapter for NVIDIA",
                ),
                hint="name a driver with `[lane.sycl] compiler`, or ask for `sycl` alone",
            )
        )
    return wheels


def _pinned(pin: str, named: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0505",
        message=f'`[lane.sycl] version = "{pin}"` is a pin that the lane cannot serve',
        notes=(
            f"the pin: {pin}",
            f"payloads of the lane: {VERSION}",
            *((f"`compiler` names: {named}",) if named else ()),
        ),
        hint="pin the payload's version, or remove one of the two keys",
    )
