"""The exceptions. Everything Atoll raises is an :class:`AtollError` that carries diagnostics.

The values they carry live in :mod:`atoll.diagnostics`.
"""

from __future__ import annotations

import errno

from atoll.diagnostics import Diagnostic, render


class AtollError(Exception):
    """The root of everything Atoll raises.

    Attributes:
        diagnostics: What was found, most important first; never empty.
        exit_code: What the command line ends with: 1 refused or failed; 2 wrong usage, or unreadable.
    """

    exit_code = 1

    def __init__(self, *diagnostics: Diagnostic) -> None:
        if not diagnostics:
            raise TypeError("an AtollError carries at least one diagnostic")
        self.diagnostics: tuple[Diagnostic, ...] = diagnostics
        super().__init__("\n".join(render(item) for item in diagnostics))

    def __reduce__(self) -> tuple[type[AtollError], tuple[Diagnostic, ...]]:
        """Pickle by diagnostics, so that errors cross process borders whole."""
        return type(self), self.diagnostics


class UsageError(AtollError):
    """The caller asked for something that cannot be asked."""

    exit_code = 2


class UnreadableError(AtollError):
    """A file could not be read or is not what it should be."""

    exit_code = 2


class AccelError(AtollError):
    """An accel set or a predicate could not be parsed or combined."""


class ManifestError(AtollError):
    """The manifest says something that cannot be built."""


class BoundaryError(AtollError):
    """The marked declarations do not agree or cannot be exported."""


class ArtifactMismatchError(AtollError):
    """No artifact fits what was asked."""


class LaneError(AtollError):
    """A lane refuses, or its toolchain is missing or out of bounds."""


class StoreError(AtollError):
    """A payload could not be fetched, verified or used."""


class BuildError(AtollError):
    """An action failed or the graph is wrong."""


_IN_THE_WAY = frozenset((errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY))
#: What the system refuses for a reason that its user can mend, and what to do.
_REFUSED = {
    **dict.fromkeys(
        (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        "free the disk, or give the project a folder that may be written",
    ),
    **dict.fromkeys(_IN_THE_WAY, "remove what lies there; `atoll clean` removes what builds left"),
    errno.ENAMETOOLONG: "give it a shorter name",
    errno.ELOOP: "its links lead in a circle: make them anew",
    **dict.fromkeys((errno.EMFILE, errno.ENFILE), "allow more open files (`ulimit -n`)"),
    **dict.fromkeys((errno.EIO, errno.ESTALE), None),
}


def mendable(error: OSError) -> bool:
    """Tell whether the system refused for a reason that its user can mend."""
    return error.errno in _REFUSED


def refused_by_system(error: OSError) -> BuildError:
    """Return the refusal of a file that the system did not give."""
    name = error.filename2 or error.filename
    named = () if name is None else (f"file: {_short(str(name))}",)
    return BuildError(
        Diagnostic(
            code="ATL0007",
            message="the system refused a file",
            notes=(*named, f"reason: {error.strerror or error}"),
            hint=_REFUSED.get(error.errno or 0),
        )
    )


def _short(path: str) -> str:
    return path if len(path) <= 400 else f"{path[:200]} [{len(path) - 400} characters left out] {path[-200:]}"


class CompileError(AtollError):
    """A Python kernel cannot be compiled."""


class LaunchError(AtollError):
    """A kernel could not be launched."""


class DeviceError(AtollError):
    """A device is missing, lost or refused an operation."""


class OutOfMemoryError(DeviceError):
    """A device, or the budget it was given, has no room for a buffer; what was there before still is."""


class DeviceLostError(DeviceError):
    """A device was lost. Everything on it is gone, it takes no more work; others are not touched."""


class DeviceTimeoutError(DeviceLostError):
    """Work did not finish in the time it was given. It may still run, so the device is given up."""


class PluginError(AtollError):
    """A plugin is missing, broken or registered twice."""
