"""What is linked? Each target becomes one or more parts: a part takes objects and becomes one file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from atoll._util.values import dataclass
from atoll.accel import PROCESSOR as HOST_ROOT
from atoll.build.boundaries import Scanned
from atoll.build.request import BuildRequest
from atoll.build.values import Output
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.manifest import Shape, Target, TargetKind
from atoll.plugin import RuntimeFolder, Unit

if TYPE_CHECKING:
    from atoll.boundary import Interface

MODULE = "@module"
"""The root of the unit that is a Python extension module; no folder can be called so."""
ROOT_SYMBOL = "atoll_root_v1"
_LINK = {
    TargetKind.EXECUTABLE: "executable",
    TargetKind.TEST: "executable",
    TargetKind.STATIC: "static",
    TargetKind.SHARED: "shared",
}
_FILE = {
    TargetKind.EXECUTABLE: "bin/{}",
    TargetKind.TEST: "bin/{}",
    TargetKind.STATIC: "lib/lib{}.a",
    TargetKind.SHARED: "lib/lib{}.so",
}
#: What differs on a host that is not Linux; names of Python's files are Python's own.
_ELSEWHERE = {
    "macos": {TargetKind.SHARED: "lib/lib{}.dylib"},
    "windows": {
        TargetKind.EXECUTABLE: "bin/{}.exe",
        TargetKind.TEST: "bin/{}.exe",
        TargetKind.STATIC: "lib/{}.lib",
        # Windows looks for libraries beside the program.
        TargetKind.SHARED: "bin/{}.dll",
    },
}


def file_of(kind: TargetKind, name: str, host: str) -> str:
    """Return the file that a target becomes on a host, below the build folder."""
    return _ELSEWHERE.get(host, {}).get(kind, _FILE[kind]).format(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file that is linked.

    Attributes:
        target: The target it belongs to.
        kind: As :class:`atoll.plugin.LinkRequest` names kinds.
        output: The file, relative to the root.
        root: The boundary root it holds; empty for everything, `MODULE` for an extension module.
        exports: The symbols it shows; None for all of them.
        args: What its link takes beside what lanes add.
        libraries: Of `args` what the target's own `links` names, for those that link it.
    """

    target: str
    kind: str
    output: str
    root: str = ""
    exports: tuple[str, ...] | None = None
    args: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    def takes(self, unit: Unit) -> bool:
        """Tell whether an object of `unit` enters: a root takes its own and what lies under no root."""
        if unit.target != self.target:
            return False
        if self.root == MODULE or unit.root == MODULE:
            return self.root == unit.root or not self.root
        return not self.root or unit.root in ("", self.root)


def parts_of(
    request: BuildRequest, name: str, target: Target, interface: Interface | None, roots: tuple[str, ...]
) -> tuple[Part, ...]:
    """Return the files that a target is linked into.

    Args:
        request: The build.
        name: The target's name.
        target: What the manifest says of it.
        interface: Its boundary, where it has one.
        roots: The boundary roots that enter this build.
    """
    libraries = (*target.prebuilt, *_libraries(request, target), *prebuilt_paths(target.prebuilt))
    args = (*request.manifest.build.ldflags, *libraries)
    if target.kind is not TargetKind.PYTHON:
        output = f"{request.folder}/{file_of(target.kind, name, request.host)}"
        exports = None
        if target.kind is TargetKind.SHARED and interface is not None:
            exports = tuple(item.name for item in interface.entries)
            if _shape(request, target) is Shape.REGISTRY:
                from atoll.boundary import registry_symbols

                exports += registry_symbols(interface)
        kind = _LINK[target.kind]
        return (Part(target=name, kind=kind, output=output, exports=exports, args=args, libraries=libraries),)
    assert interface is not None
    return tuple(_python_parts(request, name, target, interface, roots, args))


def _python_parts(
    request: BuildRequest,
    name: str,
    target: Target,
    interface: Interface,
    roots: tuple[str, ...],
    args: tuple[str, ...],
) -> Iterable[Part]:
    from atoll.boundary import module_file, root_file

    tree = python_folder(request)
    init = (f"PyInit_{interface.segments[-1]}",)
    module = f"{tree}/{module_file(interface, module_suffix())}"
    system = ("-lpthread", "-ldl")
    if _shape(request, target) is Shape.LINK:
        yield Part(target=name, kind="module", output=module, exports=init, args=(*args, *system))
        return
    yield Part(target=name, kind="module", output=module, root=MODULE, exports=init, args=system)
    for root in roots:
        yield Part(
            target=name,
            kind="shared",
            output=f"{tree}/{root_file(interface, root)}",
            root=root,
            exports=(ROOT_SYMBOL,),
            args=args,
        )


def module_suffix() -> str:
    """Return how an extension module ends that this Python takes: its own where it is free-threaded."""
    import sysconfig

    from atoll.boundary.python import STABLE

    own = str(sysconfig.get_config_var("EXT_SUFFIX"))
    return own if sysconfig.get_config_var("Py_GIL_DISABLED") else STABLE


def _shape(request: BuildRequest, target: Target) -> Shape:
    return request.manifest.boundary[target.boundary or ""].shape


def python_folder(request: BuildRequest) -> str:
    """Return the folder that holds the packages of python targets, relative to the root."""
    return f"{request.folder}/python"


def output_of(request: BuildRequest, name: str, target: Target, files: tuple[str, ...]) -> Output:
    """Return what a target becomes, for people and for `run`."""
    path = files[0]
    if target.kind is TargetKind.PYTHON:
        package = request.manifest.boundary[target.boundary or ""].module.split(".")[0]
        path = f"{python_folder(request)}/{package}"
    return Output(
        target=name,
        kind=str(target.kind),
        path=path,
        files=files,
        args=target.args,
        timeout=target.timeout,
        exclusive=target.exclusive,
    )


def entering_roots(scanned: Scanned, units: Iterable[Unit], target: str) -> tuple[str, ...]:
    """Return the roots of a boundary that have something in this build of a target, in their order."""
    present = {unit.root for unit in units if unit.target == target}
    return tuple(root.name for root in scanned.roots if root.name in present)


def is_program_registry(target: Target, scanned: Scanned) -> bool:
    """Tell whether every root enters one link, each behind its suffix; a package opens libraries instead."""
    return scanned.table.shape is Shape.REGISTRY and target.kind is not TargetKind.PYTHON


def check_registry_shape(
    name: str, scanned: Scanned, roots: tuple[str, ...], left_out: Iterable[str] = ()
) -> None:
    """Refuse a registry without the processor's root: there would be nothing to fall back on.

    Raises:
        BuildError: With the roots that enter.
    """
    if HOST_ROOT in roots:
        return
    folder = scanned.folders.get(HOST_ROOT)
    hint = f"add a folder `{HOST_ROOT}` that defines the entries for the processor"
    if folder is not None:
        hint = f'let its sources take part in every build: `sources = ["{folder}/*.cpp"]`'
    raise BuildError(
        Diagnostic(
            code="ATL0575",
            message=f"the registry of `{name}` lacks the root `{HOST_ROOT}`",
            span=scanned.table.span,
            notes=(
                f"roots of the boundary `{scanned.name}`: {', '.join(scanned.folders)}",
                f"in this build: {', '.join(roots) or 'none'}",
                *left_out,
            ),
            hint=hint,
        )
    )


def check_link_shape(
    name: str,
    scanned: Scanned,
    roots: tuple[str, ...],
    units: Iterable[Unit],
    left_out: Iterable[str] = (),
) -> None:
    """Refuse a link that two implementations of one boundary would enter, or none.

    Raises:
        BuildError: With the roots and what lets each of them in.
    """
    if len(roots) == 1:
        return
    listed = list(units)
    lets = [
        f"the root `{root}` enters with: {', '.join(sorted({u.path for u in listed if u.root == root}))}"
        for root in roots
    ]
    own = next((root for root in roots if root != HOST_ROOT), "")
    if roots:
        raise BuildError(
            Diagnostic(
                code="ATL0551",
                message=f"two roots of the boundary `{scanned.name}` would enter the link of `{name}`",
                span=scanned.table.span,
                notes=("shape: link, which takes exactly one root", *lets),
                hint="put the fallback's sources under `[target.'cfg(accelerator = \"none\")'…]`"
                + (f', not `cfg(not(accelerator = "{own}"))`, or write `shape = "registry"`' if own else ""),
            )
        )
    raise BuildError(
        Diagnostic(
            code="ATL0552",
            message=f"no root of the boundary `{scanned.name}` enters the link of `{name}`",
            span=scanned.table.span,
            notes=(
                f"roots: {', '.join(root.name for root in scanned.roots)}",
                "sources of this build: none of theirs",
                *left_out,
            ),
            hint="add the sources of one root for this set",
        )
    )


def prebuilt_paths(files: tuple[str, ...]) -> tuple[str, ...]:
    """Return how `run` and `test` find prebuilt shared libraries where they lie."""
    shared = [PurePosixPath(path) for path in files if ".so" in PurePosixPath(path).name]
    return tuple(dict.fromkeys(f"-Wl,-rpath,{path.parent}" for path in shared))


def _libraries(request: BuildRequest, target: Target) -> tuple[str, ...]:
    """Return the libraries named for the linker; a name that is a target of the project is no such name."""
    names = (link.name for link in target.links if link.name not in request.manifest.targets)
    return tuple(f"-l{name}" for name in names if name)


def runtime_paths(request: BuildRequest, part: Part, folders: Iterable[RuntimeFolder]) -> tuple[str, ...]:
    """Return how what is linked finds the libraries that a lane needs.

    A program finds them where they lie here; what a package holds, where the distribution that brings them
    puts them on any machine.
    """
    if part.kind == "static":
        return ()
    above = ""
    if part.output.startswith(f"{python_folder(request)}/"):
        depth = part.output.removeprefix(f"{python_folder(request)}/").count("/")
        above = "/".join(["$ORIGIN", *[".."] * depth])
    return tuple(
        f"-Wl,-rpath,{above}/{folder.inside}" if above and folder.inside else f"-Wl,-rpath,{folder.path}"
        for folder in folders
    )
