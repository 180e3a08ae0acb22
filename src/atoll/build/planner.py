"""Which actions make these targets? Manifest, set and lanes in; one graph out. Nothing is run or written.

The order: select units, scan boundaries, ask the device lanes, join what they made into roots, generate
headers and tables, ask the host lane, link (:mod:`atoll.build.links`). Words: a *part* is one linked file
(:mod:`atoll.build.parts`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from atoll._util.values import replace
from atoll.boundary.stored import python_imports
from atoll.build.boundaries import (
    Scanned,
    check_declared,
    header_path,
    header_text,
    interface_of,
    missing_roots,
    scan_boundaries,
)
from atoll.build.compdb import compile_commands
from atoll.build.contributions import joined, program_owners
from atoll.build.datafiles import plan_data, python_data, side_copies
from atoll.build.inputs import plan_inputs
from atoll.build.laneplans import HOST, LaneRun, limited
from atoll.build.libraries import find_libraries
from atoll.build.links import install_libraries, link
from atoll.build.parts import (
    MODULE,
    Part,
    check_link_shape,
    check_registry_shape,
    entering_roots,
    is_program_registry,
    output_of,
    parts_of,
)
from atoll.build.programunits import add_sources, after_headers, check_taken
from atoll.build.request import BuildRequest
from atoll.build.resolution import resolution
from atoll.build.roots import (
    add_module,
    add_registry,
    add_root,
    add_runtime,
    driver_of,
    generated_includes,
    registry_files,
    root_header_path,
)
from atoll.build.units import lane_units, select_units
from atoll.build.values import BuildPlan
from atoll.build.work import Work, lane_actions, left_out
from atoll.diagnostics import Diagnostic
from atoll.errors import AtollError, BuildError, UnreadableError
from atoll.graph import Action, Graph
from atoll.manifest import Shape, Target, TargetKind
from atoll.plugin import SourceProduct, Unit

if TYPE_CHECKING:
    from atoll.boundary import Interface


def plan(request: BuildRequest) -> BuildPlan:
    """Return what a build will do.

    Raises:
        ManifestError, BoundaryError, LaneError, StoreError, BuildError: Where something refuses.
    """
    _check_any_target(request)
    selection = select_units(request)
    boundaries = scan_boundaries(request)
    units = lane_units(request, selection, boundaries)
    work = Work(request, selection, boundaries, LaneRun(request), units)
    work.lanes.packages = find_libraries(request.manifest, work.lanes)
    _device_units(work)
    _interfaces(work)
    _data(work)
    for name, target in sorted(request.manifest.targets.items()):
        _target(work, name, target)
    _cxx_modules(work)
    _compile_host(work)
    for part in work.parts:
        link(work, part)
    install_libraries(work)
    return _finish(work)


def _device_units(work: Work) -> None:
    """Run the build program and ask the device lanes; no refusal hides another one.

    Raises:
        AtollError: What one of them refuses; a BuildError with everything where several do.
    """
    errors: list[AtollError] = []
    before = {lane: tuple(listed) for lane, listed in work.units.items()}
    try:
        _program(work)
    except AtollError as error:
        errors.append(error)
    units = before if errors else work.units
    for lane in sorted(units):
        if lane != HOST:
            try:
                work.lanes.plan(lane, units[lane])
            except AtollError as error:
                errors.append(error)
    answered = {lane: listed for lane, listed in units.items() if lane in (HOST, *work.lanes.plans)}
    faults = check_taken(answered, lane_actions(work))
    if len(errors) == 1 and not faults:
        raise errors[0]
    if errors or faults:
        raise BuildError(*(item for error in errors for item in error.diagnostics), *faults)


def _program(work: Work) -> None:
    """Run the build programs of the project and of its dependencies, each on its own units."""
    owners = program_owners(work.request)
    if not owners:
        return
    from atoll.build.programs import declared

    tools = work.lanes.host().describe(work.lanes.lane_request(HOST))
    found = []
    for owner in owners:
        mine = {f"{owner.prefix}{name}" for name in owner.targets}
        units = {
            lane: [unit for unit in listed if unit.target in mine]
            for lane, listed in work.units.items()
            if lane != HOST
        }
        found.append(declared(work.request, owner, tools, units))
    work.declared = joined(found)
    work.actions += work.declared.actions
    work.generated.files |= work.declared.generated
    add_sources(work.request, work.declared, work.units, work.boundaries)


def _check_any_target(request: BuildRequest) -> None:
    if not request.manifest.targets:
        raise BuildError(
            Diagnostic(
                code="ATL0554",
                message="the project has no target",
                notes=(f"manifest: {request.manifest.path}", "targets: none"),
                hint="add `[targets.NAME]` with a `kind`",
            )
        )


def _interfaces(work: Work) -> None:
    """Compare the roots of each boundary, generated entries included, and write its header."""
    made: dict[str, list[SourceProduct]] = {}
    for name in work.boundaries:
        owners = {target for target, table in work.request.manifest.targets.items() if table.boundary == name}
        made[name] = [product for product in work.sources if product.unit.target in owners]
    served = work.request.registry.emitters
    missing = [
        item
        for name, scanned in work.boundaries.items()
        for item in missing_roots(scanned, made[name], served)
    ]
    if missing:
        raise UnreadableError(*missing)
    for name, scanned in work.boundaries.items():
        products = made[name]
        _check_roots(scanned, products)
        work.interfaces[name] = interface_of(work.request, scanned, products)
        work.generated.files[header_path(work.request, scanned)] = header_text(work.interfaces[name])


def _check_roots(scanned: Scanned, products: list[SourceProduct]) -> None:
    known = {root.name for root in scanned.roots}
    strange = [product for product in products if product.root not in known]
    if strange:
        raise BuildError(
            *(
                Diagnostic(
                    code="ATL0555",
                    message=f"`{product.unit.path}` is compiled for the root `{product.root}`, which is none",
                    span=scanned.table.span,
                    notes=(
                        f"roots of the boundary `{scanned.name}`: {', '.join(sorted(known))}",
                        f"compiled for: {product.unit.entry.backend if product.unit.entry else 'processor'}",
                    ),
                    hint=f"add `{product.root}` to `roots`, or leave the backend out of the set",
                )
                for product in strange
            )
        )


def _data(work: Work) -> None:
    if not work.products and not work.request.manifest.data:
        return
    work.data = plan_data(work.request, work.products)
    work.generated.files |= work.data.headers
    work.actions += work.data.actions
    work.generated.units += work.data.units


def _target(work: Work, name: str, target: Target) -> None:
    interface = work.interfaces.get(target.boundary or "")
    if target.kind is TargetKind.PYTHON and interface is None:
        raise BuildError(
            Diagnostic(
                code="ATL0556",
                message=f"the target `{name}` of kind `python` has no boundary",
                span=target.span,
                notes=("kind: python", "boundary: none"),
                hint='name the boundary whose entries it carries: `boundary = "NAME"`',
            )
        )
    _join_sources(work, name, target)
    everything = [unit for listed in work.units.values() for unit in listed] + work.generated.units
    roots: tuple[str, ...] = ()
    registry = False
    if interface is not None:
        scanned = work.boundaries[target.boundary or ""]
        registry = is_program_registry(target, scanned)
        if registry:
            check_declared(name, scanned)
        roots = entering_roots(scanned, everything, name)
        if scanned.table.shape is Shape.LINK:
            check_link_shape(name, scanned, roots, everything, left_out(work, name))
        else:
            check_registry_shape(name, scanned, roots, left_out(work, name))
    parts = parts_of(work.request, name, target, interface, roots)
    work.parts += parts
    for part in parts:
        _fill(work, part, interface, roots, everything, registry=registry)
    shipped = _side_files(work, parts)
    if target.kind is TargetKind.PYTHON:
        from atoll.build.packagetree import package_actions

        assert interface is not None
        modules, beside = python_data(work.request, work.data, parts)
        embedded = work.data.items.get(work.request.manifest.package.name, ())
        imports = python_imports(item for item, _ in embedded)
        files, tree = package_actions(work.request, target, interface, modules, beside, imports)
        work.generated.files |= files
        shipped += tree
    work.actions += [action for action in shipped if action not in work.actions]
    made = [part.output for part in parts] + [path for action in shipped for path in action.outputs]
    work.outputs.append(output_of(work.request, name, target, tuple(made)))


def _side_files(work: Work, parts: tuple[Part, ...]) -> list[Action]:
    """Return what brings side files beside the images of a target."""
    folders = dict.fromkeys(part.output.rpartition("/")[0] for part in parts if part.kind != "static")
    return [action for folder in folders for action in side_copies(work.data, folder)]


def _join_sources(work: Work, name: str, target: Target) -> None:
    """Let the host lane compile what other lanes generated, into the root each of them names."""
    mine = [product for product in work.sources if product.unit.target == name]
    if mine and target.boundary is None:
        raise BuildError(
            Diagnostic(
                code="ATL0565",
                message=f"the target `{name}` has kernels and no boundary that they could be called through",
                span=target.span,
                notes=(
                    f"kernels: {', '.join(sorted({product.unit.path for product in mine}))}",
                    "boundary: none",
                ),
                hint='add a `[boundary.NAME]` and name it: `boundary = "NAME"`',
            )
        )
    interface = work.interfaces.get(target.boundary or "")
    registry = interface is not None and is_program_registry(target, work.boundaries[target.boundary or ""])
    for product in work.sources:
        if product.unit.target == name:
            work.generated.units.append(
                Unit(
                    path=product.path,
                    target=name,
                    root=product.root,
                    includes=(*product.includes, *generated_includes(work.request)),
                    force_include=(root_header_path(work.request, interface.module, product.root),)
                    if interface is not None and registry and product.root
                    else (),
                    hidden=True,
                    flags=("-w",),
                )
            )


def _fill(
    work: Work,
    part: Part,
    interface: Interface | None,
    roots: tuple[str, ...],
    units: list[Unit],
    *,
    registry: bool = False,
) -> None:
    """Add to a part what is neither authored nor made by a lane: core, launchers, table, module."""
    if part.root == MODULE:
        assert interface is not None
        add_module(work.request, work.generated, part, interface, Shape.REGISTRY, _python_headers())
        return
    backends = {product.backend for product in work.products if part.takes(product.unit)}
    drivers = backends & set(work.request.registry.drivers)
    for root in (part.root,) if part.root else roots:
        mine = {unit.entry.backend for unit in units if unit.root == root and unit.entry and part.takes(unit)}
        driver = driver_of(work.request, root, mine)
        drivers |= {driver} if driver else set()
        work.roots.setdefault(part.target, {})[root] = driver
        if part.root or part.kind == "module" or registry:
            assert interface is not None
            table = replace(part, root=root)
            add_root(
                work.request,
                work.generated,
                table,
                interface,
                driver,
                registry=registry,
                declared=_only_declared(work, part, root, driver),
            )
    if interface is not None or drivers:
        add_runtime(work.request, work.generated, part, drivers)
    if registry:
        assert interface is not None
        work.generated.files |= registry_files(work.request, interface)
        add_registry(work.request, work.generated, part, interface, roots)
    if part.kind == "module":
        assert interface is not None
        add_module(work.request, work.generated, part, interface, Shape.LINK, _python_headers())


def _only_declared(work: Work, part: Part, root: str, driver: str) -> bool:
    """Tell whether what a root holds for a driver's backend is source that says no device."""
    data = [item.declared for item in work.products if item.unit.root == root and item.backend == driver]
    text = [item.declared for item in work.sources if item.root == root and part.takes(item.unit)]
    return bool(data or text) and all((*data, *text))


def _python_headers() -> str:
    import platform
    import sysconfig

    folder = sysconfig.get_path("include")
    if not (Path(folder) / "Python.h").is_file():
        raise BuildError(
            Diagnostic(
                code="ATL0558",
                message="the headers of Python are not there",
                notes=(f"looked for: {folder}/Python.h", f"Python: {platform.python_version()}"),
                hint="install them (Debian: apt-get install python3-dev)",
            )
        )
    return folder


def _cxx_modules(work: Work) -> None:
    """Give each target whose boundary some unit imports the unit of that boundary's module."""
    owners = {
        name: target.boundary
        for name, target in sorted(work.request.manifest.targets.items())
        if target.boundary and target.kind is not TargetKind.PYTHON
    }
    if not owners:
        return
    from atoll.build.cxxmodules import add_cxx_module, imported, texts

    work.texts = texts(work.units.get(HOST, ()))
    wanted = imported(work.request.root, work.texts)
    for name, boundary in owners.items():
        interface = work.interfaces[boundary]
        if interface.module in wanted:
            shape = work.boundaries[boundary].table.shape
            add_cxx_module(work.request, work.generated, name, interface, shape)


def _compile_host(work: Work) -> None:
    units = [*work.units.get(HOST, ()), *work.generated.units]
    if units:
        work.lanes.plan(HOST, units)


def _finish(work: Work) -> BuildPlan:
    request, lanes = work.request, work.lanes.plans
    owners = {product.path: product.unit.target for made in lanes.values() for product in made.objects}
    of_lanes = after_headers(work.declared, lane_actions(work), owners)
    actions = tuple({action.name: action for action in (*limited(work.actions, None), *of_lanes)}.values())
    makers = {output: action for action in actions for output in action.outputs}
    objects = [product for made in lanes.values() for product in made.objects]
    stated = [floor for made in lanes.values() for floor in made.floors]
    floors = tuple(dict.fromkeys((*stated, *work.declared.floors)))
    return BuildPlan(
        folder=request.folder,
        plan_folder=request.plan_folder,
        graph=Graph(actions=actions, searched=tuple(work.lanes.searched)),
        outputs=tuple(work.outputs),
        generated=work.generated.files,
        resolution=resolution(work, floors),
        commands=compile_commands(request.root, objects, makers, work.products),
        floors=floors,
        diagnostics=(
            *(request.packages.warnings if request.packages is not None else ()),
            *work.selection.warnings,
            *work.declared.warnings,
            *(item for made in lanes.values() for item in made.diagnostics),
        ),
        inputs=plan_inputs(
            request,
            [
                *(path for made in lanes.values() for path in made.planner_inputs),
                *(path for found in work.lanes.packages.values() for item in found for path in item.inputs),
                *work.declared.inputs,
                *(header for scanned in work.boundaries.values() for header in scanned.headers),
                *(one.path for one in work.data.tables),
                *work.texts,
            ],
        ),
    )
