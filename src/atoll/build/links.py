"""What is linked, with which words, and what other projects get of a library? The last step of a plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from atoll._util.values import replace
from atoll.build.boundaries import header_path
from atoll.build.datafiles import side_copies
from atoll.build.laneplans import HOST
from atoll.build.libraries import link_args
from atoll.build.linked import linked_targets, run_paths, uses
from atoll.build.parts import MODULE, Part, python_folder, runtime_paths
from atoll.build.work import Work, left_out
from atoll.diagnostics import Diagnostic
from atoll.errors import BuildError
from atoll.plugin import LinkRequest, ObjectProduct, RuntimeFolder

if TYPE_CHECKING:
    from atoll.build.install import Library


def link(work: Work, part: Part) -> None:
    """Ask the host lane for the link of one part.

    Raises:
        BuildError: Where nothing enters it.
    """
    objects = _objects(work, part)
    if not objects:
        raise BuildError(
            Diagnostic(
                code="ATL0559",
                message=f"nothing is linked into the target `{part.target}`",
                span=work.request.manifest.targets[part.target].span,
                notes=(f"file: {part.output}", *left_out(work, part.target)),
                hint="name sources that take part in this build",
            ),
            # A glob that matches nothing is why.
            *work.selection.warnings,
        )
    used = uses(work.request.manifest, {item.target: item for item in work.parts}, part)
    files = tuple(other.output for other in used)
    taken = [objects, *(_objects(work, other) for other in used if other.kind == "static")]
    folders = tuple(dict.fromkeys(folder for each in taken for folder in _runtime(work, each)))
    _search(work, part, folders)
    args = [
        *part.args,
        *_added(work, part, objects),
        *run_paths(part, used),
        *runtime_paths(work.request, part, folders),
    ]
    for other in used:
        if other.kind == "static":
            args += [*other.libraries, *_added(work, other, _objects(work, other))]
    work.lanes.link(
        LinkRequest(
            request=work.lanes.lane_request(HOST),
            kind=part.kind,
            output=part.output,
            inputs=(*dict.fromkeys(product.path for product in objects), *files),
            args=tuple(args),
            exports=part.exports,
        )
    )


def install_libraries(work: Work) -> None:
    """Lay out what other projects use of the libraries; a library's files are made with it."""
    libraries = [part for part in work.parts if part.kind in ("static", "shared") and not part.root]
    if not libraries:
        return
    from atoll.build.install import install, install_folder

    beside = side_copies(work.data, f"{install_folder(work.request)}/lib")
    work.actions += beside
    for part in libraries:
        files, actions = install(work.request, _library(work, part))
        work.generated.files |= files
        work.actions += actions
        actions += beside
        made = tuple(path for action in actions for path in action.outputs)
        work.outputs = [
            replace(output, files=(*output.files, *made)) if output.target == part.target else output
            for output in work.outputs
        ]


def _library(work: Work, part: Part) -> Library:
    from atoll.build.install import Library

    target = work.request.manifest.targets[part.target]
    objects = _objects(work, part)
    scanned = work.boundaries.get(target.boundary or "")
    words = (
        *part.libraries,
        *_lane_args(work, objects),
        *work.generated.libraries.get(part.output, ()),
    )
    tools = work.lanes.host().describe(work.lanes.lane_request(HOST))
    plain = all(product.unit.path.endswith(".c") for product in objects)
    return Library(
        part=part,
        target=target,
        header=header_path(work.request, scanned) if scanned is not None else "",
        headers=work.selection.headers,
        words=words,
        packages=work.lanes.packages.get(part.target, ()),
        uses=linked_targets(work.request.manifest).get(part.target, ()),
        runtime="" if plain else tools.cxx_library.partition(" ")[0].removeprefix("lib"),
        folders=tuple(dict.fromkeys(_runtime(work, objects))),
    )


def _objects(work: Work, part: Part) -> list[ObjectProduct]:
    return [
        product for plan in work.lanes.plans.values() for product in plan.objects if part.takes(product.unit)
    ]


def _added(work: Work, part: Part, objects: list[ObjectProduct]) -> tuple[str, ...]:
    """Return what lanes and generated sources of a part need at its link."""
    packages = () if part.root == MODULE else link_args(work.lanes.packages, part.target)
    return (*packages, *_lane_args(work, objects), *work.generated.libraries.get(part.output, ()))


def _lane_args(work: Work, objects: list[ObjectProduct]) -> Iterator[str]:
    for lane, made in sorted(work.lanes.plans.items()):
        if lane != HOST and any(product in made.objects for product in objects):
            yield from made.link_args


def _search(work: Work, part: Part, folders: tuple[RuntimeFolder, ...]) -> None:
    """Say where a package finds here what another distribution brings where it is installed.

    A program finds most by its RUNPATH; what needs an environment is told it, and its folder, as well.
    """
    if not part.output.startswith(f"{python_folder(work.request)}/"):
        told = tuple(folder for folder in folders if folder.environment)
    else:
        stays = [folder for folder in folders if not folder.inside]
        if stays:
            raise BuildError(_of_this_machine(part, stays[0]))
        told = folders
    if told:
        paths = tuple(folder.path for folder in told)
        settings = tuple(setting for folder in told for setting in folder.environment)
        work.outputs = [
            replace(
                output,
                search=tuple(dict.fromkeys((*output.search, *paths))),
                environment=tuple(dict.fromkeys((*output.environment, *settings))),
            )
            if output.target == part.target
            else output
            for output in work.outputs
        ]


def _of_this_machine(part: Part, folder: RuntimeFolder) -> Diagnostic:
    return Diagnostic(
        code="ATL0577",
        message=f"the package `{part.target}` would look for libraries in a folder of this machine",
        notes=(f"the folder: {folder.path}", "a distribution that brings them: none is known"),
        hint="link the lane's runtime in, or let the lane take its toolchain from the store",
    )


def _runtime(work: Work, objects: list[ObjectProduct]) -> Iterator[RuntimeFolder]:
    for lane, made in sorted(work.lanes.plans.items()):
        if lane != HOST and any(product in made.objects for product in objects):
            yield from made.runtime
