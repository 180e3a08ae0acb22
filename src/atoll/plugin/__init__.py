"""The five doors: lane, emitter, driver, probe, reader; and the registry behind them.

Words: a *lane* compiles one device language; an *emitter* turns KIR into text or bytes; a *driver*
reaches devices at run time; a *probe* states facts; a *reader* measures a file format. A plugin is a
class that takes no arguments, registered at an entry point of its door. First-party plugins have no
other way in. :mod:`atoll.testing` has the conformance suites.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from atoll.plugin.lane import (
    HOST,
    DataProduct,
    FoundPackage,
    HostLane,
    HostTools,
    Lane,
    LanePlan,
    LaneRequest,
    LaneStatus,
    LinkRequest,
    ObjectProduct,
    RuntimeFolder,
    SourceProduct,
    ToolChoice,
    Unit,
    UnitKind,
)
from atoll.plugin.registry import Registry, registry

if TYPE_CHECKING:
    from atoll.ir import LaunchLayout, ParamField
    from atoll.plugin.driver import (
        AddressedDevice,
        Argument,
        Bound,
        BudgetingDriver,
        BufferArgument,
        CopyingDevice,
        DeviceArray,
        DeviceInfo,
        Driver,
        DriverDevice,
        Executable,
        LauncherSource,
        Recorded,
        RecordingDevice,
        ReportingDriver,
        ScalarArgument,
    )
    from atoll.plugin.emitter import Disassembler, Emitted, Emitter, Target
    from atoll.plugin.probe import Probe
    from atoll.plugin.reader import Blob, Mark, Member, Reader

# A build asks lanes; the other doors are imported by who speaks of them, and KIR with them.
_DEVICE = (
    "AddressedDevice",
    "Argument",
    "Bound",
    "BudgetingDriver",
    "BufferArgument",
    "CopyingDevice",
    "DeviceArray",
    "DeviceInfo",
    "Driver",
    "DriverDevice",
    "Executable",
    "LauncherSource",
    "Recorded",
    "RecordingDevice",
    "ReportingDriver",
    "ScalarArgument",
)
_LATE = {
    **dict.fromkeys(("LaunchLayout", "ParamField"), "atoll.ir"),
    **dict.fromkeys(_DEVICE, "atoll.plugin.driver"),
    **dict.fromkeys(("Disassembler", "Emitted", "Emitter", "Target"), "atoll.plugin.emitter"),
    **dict.fromkeys(("Blob", "Mark", "Member", "Reader"), "atoll.plugin.reader"),
    "Probe": "atoll.plugin.probe",
}

__all__ = [
    "HOST",
    "AddressedDevice",
    "Argument",
    "Blob",
    "Bound",
    "BudgetingDriver",
    "BufferArgument",
    "CopyingDevice",
    "DataProduct",
    "DeviceArray",
    "DeviceInfo",
    "Disassembler",
    "Driver",
    "DriverDevice",
    "Emitted",
    "Emitter",
    "Executable",
    "FoundPackage",
    "HostLane",
    "HostTools",
    "Lane",
    "LanePlan",
    "LaneRequest",
    "LaneStatus",
    "LaunchLayout",
    "LauncherSource",
    "LinkRequest",
    "Mark",
    "Member",
    "ObjectProduct",
    "ParamField",
    "Probe",
    "Reader",
    "Recorded",
    "RecordingDevice",
    "Registry",
    "ReportingDriver",
    "RuntimeFolder",
    "ScalarArgument",
    "SourceProduct",
    "Target",
    "ToolChoice",
    "Unit",
    "UnitKind",
    "registry",
]


def __getattr__(name: str) -> Any:
    """Import a door where something speaks of it."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)
