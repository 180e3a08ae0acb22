"""How does a program with CUDA code find the runtime: linked in, or as a shared library?

Linked in is the default. Shared, a program that runs here finds it in the toolkit by a RUNPATH, and a wheel
in the wheel that brings it, which its own requires. The driver is never linked: the runtime opens it where
there is one, so a program starts on any machine and says there that it has no device.
"""

from __future__ import annotations

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest, RuntimeFolder
from atoll.plugin.options import text_option
from atoll_plugins.cuda.toolkit import PREFIX, Toolkit, missing_stage
from atoll_plugins.formats.device_link import wanted
from atoll_plugins.formats.hosts import WINDOWS

_WAYS = ("static", "shared")


def way_of(request: LaneRequest) -> str:
    """Return ``static`` or ``shared``.

    Raises:
        LaneError: Where `[lane.cuda] runtime` is neither.
    """
    way = text_option("cuda", request, "runtime") or "static"
    if way in _WAYS:
        return way
    raise LaneError(
        Diagnostic(
            code="ATL0512",
            message="the option `runtime` of `[lane.cuda]` is of the wrong kind",
            notes=(f"it must be one of: {', '.join(_WAYS)}", f"the manifest has: {way!r}"),
        )
    )


def runtime_of(request: LaneRequest, toolkit: Toolkit) -> tuple[tuple[str, ...], tuple[RuntimeFolder, ...]]:
    """Return what a link takes for the runtime, and where what was linked finds it.

    Raises:
        LaneError: Where `[lane.cuda] runtime` is neither way, or the toolkit lacks the library.
    """
    way = way_of(request)
    folder = toolkit.libraries
    # What device code calls of the runtime, where device code is linked.
    device = ("-lcudadevrt",) if wanted("cuda", request) else ()
    windows = toolkit.host == WINDOWS
    if way == "static":
        where = folder / ("cudart_static.lib" if windows else "libcudart_static.a")
        if not where.is_file():
            raise LaneError(missing_stage(str(where), where.name, str(toolkit.root)))
        return (f"-L{folder}", *device, *toolkit.static_runtime), ()
    if windows:
        return _beside(toolkit)
    name = f"libcudart.so.{toolkit.release[0]}"
    if not (folder / name).exists():
        raise LaneError(missing_stage(str(folder / name), name, str(toolkit.root)))
    major, minor = toolkit.release
    brings = f"nvidia-cuda-runtime>={major}.{minor},<{major + 1}" if toolkit.digest else ""
    inside = f"{PREFIX}/lib" if toolkit.digest else ""
    # No wheel has the name that `-lcudart` looks for.
    return (
        (f"-L{folder}", *device, f"-l:{name}"),
        (RuntimeFolder(path=str(folder), requirement=brings, inside=inside),),
    )


def _beside(toolkit: Toolkit) -> tuple[tuple[str, ...], tuple[RuntimeFolder, ...]]:
    """Return the same for Windows, where a program finds libraries in folders that PATH names."""
    major, minor = toolkit.release
    inside = f"{PREFIX}/bin/x86_64" if toolkit.digest else ""
    brings = f"nvidia-cuda-runtime>={major}.{minor},<{major + 1}" if toolkit.digest else ""
    folder = RuntimeFolder(path=str(toolkit.root / "bin/x86_64"), requirement=brings, inside=inside)
    return (f"-L{toolkit.libraries}", "-lcudart"), (folder,)
