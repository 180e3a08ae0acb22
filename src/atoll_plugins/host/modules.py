"""How are C++ modules built? For each target: scan its units, collate the scans, compile in that order.

A target takes part where it, or a target that it links, has a unit named ``.cppm``. Every such unit writes
a *module file* beside its object; which other module files it reads first is only known once the units were
scanned, so each compilation names the collated list as its dyndep file. Nothing else is scanned: units in
C, generated ones but for modules, and device units import nothing.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.graph import Action, Role
from atoll.plugin import LaneRequest, ObjectProduct, ToolChoice
from atoll.plugin.tools import find_program, output_path, python_program, suffix
from atoll.plugin.values import dataclass, replace
from atoll_plugins.formats.host_compilers import Compiler

if TYPE_CHECKING:
    from atoll_plugins.host.library_modules import LibraryModules

Built = tuple[Action, ObjectProduct]

INTERFACE = ".cppm"
_SCAN = str(Path(__file__).with_name("scan_modules.py"))
_COLLATE = str(Path(__file__).with_name("collate_modules.py"))
_OLDEST = {"gcc": 11, "clang": 16}
_SMALL = 64 << 20
_PLAIN = frozenset((string.ascii_letters + string.digits + "_./+-,=@~").encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Modules:
    """The compilations of a plan, those of modules in their order."""

    actions: tuple[Action, ...]
    objects: tuple[ObjectProduct, ...]
    tools: tuple[ToolChoice, ...] = ()
    planner_inputs: tuple[str, ...] = ()


def plan_modules(request: LaneRequest, compiler: Compiler, built: Iterable[Built]) -> Modules:
    """Return the compilations with scans and collations where a target has modules.

    Raises:
        LaneError: Where the compiler or its scanner cannot.
    """
    listed = list(built)
    taking = with_modules(request)
    if not taking:
        return Modules(actions=tuple(a for a, _ in listed), objects=tuple(p for _, p in listed))
    _check_version(compiler, taking)
    scanner = _scanner(request, compiler)
    actions: list[Action] = []
    objects: list[ObjectProduct] = []
    scans: dict[str, list[Action]] = {target: [] for target in taking}
    for action, product in listed:
        target = product.unit.target
        if target in scans and _is_scanned(product.unit.path):
            names = _Names(product)
            scans[target].append(_scan(action, names, scanner))
            action, product = _compilation(request, action, names, compiler, product)
        actions.append(action)
        objects.append(product)
    from atoll_plugins.host.library_modules import library_modules

    library = library_modules(request, compiler, listed[0][0])
    for target, found in scans.items():
        actions += [*found, _collate(request, compiler, target, found, library)]
    return Modules(
        actions=(*actions, *library.actions),
        objects=tuple(objects),
        tools=(*_tools(scanner, compiler), *library.tools),
        planner_inputs=(*((str(scanner),) if scanner else ()), *library.inputs),
    )


def with_modules(request: LaneRequest) -> tuple[str, ...]:
    """Return the targets that provide a module or link one that does, sorted."""
    provide = {unit.target for unit in request.units if suffix(unit.path) == INTERFACE}
    targets = {unit.target for unit in request.units}
    return tuple(sorted(t for t in targets if provide & {t, *linked(request.links, t)}))


def linked(links: Mapping[str, tuple[str, ...]], target: str) -> tuple[str, ...]:
    """Return the targets that a target links, directly or not."""
    found: dict[str, None] = {}
    todo = list(links.get(target, ()))
    while todo:
        name = todo.pop(0)
        if name not in found:
            found[name] = None
            todo += links.get(name, ())
    return tuple(found)


def _is_scanned(path: str) -> bool:
    generated = path.startswith(".atoll/plan/") and not path.endswith(INTERFACE)
    return not path.endswith(".c") and not generated


class _Names:
    """The files beside one object."""

    def __init__(self, product: ObjectProduct) -> None:
        # The list of dyndep has no spelling for `|`.
        self.object = product.path.replace("|", "%7C")
        base = self.object.removesuffix(".o")
        self.source = product.unit.path
        # g++ 12 cannot tell itself the path of a module file that is not ASCII ("malformed string"), and
        # clang 19 lists one with a backslash under another name in its depfile.
        self.bmi, self.map = f"{_plain(base)}.bmi", f"{base}.modmap"
        self.scan, self.scan_depfile, self.depfile = f"{base}.scan", f"{base}.scan.d", f"{base}.d"


def _plain(path: str) -> str:
    """Return a path of a module file that no compiler misreads: every unusual byte as `%XX`."""
    coded = path.encode("utf-8", "surrogateescape")
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in coded)


def _scan(action: Action, names: _Names, scanner: Path | None) -> Action:
    driver, *flags = action.argv[: action.argv.index("-MD")]
    found = ("-MD", "-MF", names.scan_depfile, "-MT", "scan")
    if scanner is None:
        # Without -fmodules-ts the text keeps its directives; its macro is given all the same.
        command = (driver, *flags, "-D__cpp_modules=201810L", "-E", *found, "-x", "c++", names.source)
    else:
        language = ("-x", "c++-module") if names.source.endswith(INTERFACE) else ()
        own = (driver, *flags, *language, *found, "-c", names.source, "-o", names.object)
        command = (str(scanner), "-format=p1689", "--", *own)
    form = "preprocessed" if scanner is None else "p1689"
    files = (names.scan, names.source, names.object, names.bmi, names.map)
    return replace(
        action,
        name=f"scan {action.name.removeprefix('host ')}",
        argv=(python_program(), "-I", "-S", _SCAN, form, *files, "--", *command),
        inputs=(*action.inputs, *((str(scanner),) if scanner else ()), _SCAN),
        outputs=(names.scan,),
        role=Role.SOURCE,
        depfile=names.scan_depfile,
        description=f"scan {names.source}",
    )


def _compilation(
    request: LaneRequest, action: Action, names: _Names, compiler: Compiler, product: ObjectProduct
) -> Built:
    """Return the compilation with the module files it reads and, for an interface, the one it writes."""
    flags = action.argv[: action.argv.index("-MD")]
    interface = names.source.endswith(INTERFACE)
    if compiler.family == "gcc":
        more = ["-fmodules-ts", "-Mno-modules", f"-fmodule-mapper={names.map}"]
        more += ["-x", "c++"] if interface else []
    else:
        more = [f"@{names.map}"]
        more += ["-x", "c++-module", f"-fmodule-output={names.bmi}"] if interface else []
    ends = ("-MD", "-MF", names.depfile, "-c", names.source, "-o", names.object)
    # A module file of g++ holds the time it was built at, unless it is told another one.
    still = (("SOURCE_DATE_EPOCH", "0"),) if interface and compiler.family == "gcc" else ()
    dyndep = _dyndep(request, product.unit.target)
    changed = replace(
        action,
        argv=(*flags, *more, *ends),
        inputs=(*action.inputs, names.map, dyndep),
        outputs=(names.object, *((names.bmi,) if interface else ())),
        depfile=names.depfile,
        dyndep=dyndep,
        env=(*action.env, *still),
    )
    language = ("-x", "c++-module") if interface else ()
    shown = ("clang++", *flags[1:], *language, "-c", names.source) if compiler.family == "gcc" else ()
    return changed, replace(product, path=names.object, clang_argv=shown)


def _dyndep(request: LaneRequest, target: str) -> str:
    return output_path(request.build, "host", ".modules", target, "order.dd")


def _table(request: LaneRequest, target: str) -> str:
    return output_path(request.build, "host", ".modules", target, "modules.json")


def _collate(
    request: LaneRequest, compiler: Compiler, target: str, scans: list[Action], library: LibraryModules
) -> Action:
    taking = with_modules(request)
    tables = [_table(request, name) for name in linked(request.links, target) if name in taking]
    found = [scan.outputs[0] for scan in scans]
    maps = [scan.argv[scan.argv.index("--") - 1] for scan in scans]
    outputs = (_dyndep(request, target), _table(request, target))
    return Action(
        name=f"collate modules of {target}",
        argv=(
            *(python_program(), "-I", "-S", _COLLATE, compiler.family, target, *outputs),
            *(f"--no-library={library.why_none}", f"--hint={library.hint}"),
            *(word for module in library.modules for word in ("--library", module.row)),
            *(word for table in tables for word in ("--from", table)),
            *("--", *found),
        ),
        inputs=(*found, *tables, _COLLATE),
        outputs=(*outputs, *maps),
        role=Role.SOURCE,
        memory=_SMALL,
        description=f"order the modules of {target}",
    )


def _check_version(compiler: Compiler, targets: tuple[str, ...]) -> None:
    oldest = _OLDEST[compiler.family]
    if compiler.major < oldest:
        raise LaneError(
            Diagnostic(
                code="ATL0523",
                message=f"the host compiler {compiler.cxx.name} {compiler.version} is too old for modules",
                notes=(f"needed: {compiler.family} {oldest} or later", f"targets: {', '.join(targets)}"),
                hint="name a later compiler in `[lane.host] compiler`",
            )
        )


def _scanner(request: LaneRequest, compiler: Compiler) -> Path | None:
    """Return the scanner of the same clang; None for g++, whose preprocessed text is read instead."""
    if compiler.family == "gcc":
        return None
    suffix = compiler.cxx.name.partition("++")[2]
    names = dict.fromkeys((f"clang-scan-deps{suffix}", f"clang-scan-deps-{compiler.major}"))
    resolved = compiler.cxx.resolve().with_name("clang-scan-deps")
    for name in (*(str(compiler.cxx.with_name(name)) for name in names), str(resolved), *names):
        found = find_program(name, request.environment)
        if found is not None:
            return found
    raise LaneError(
        Diagnostic(
            code="ATL0521",
            message=f"the module scanner of {compiler.cxx.name} is not there",
            notes=(
                f"compiler: {compiler}",
                f"looked for: {', '.join(names)}, beside it and in {request.environment.get('PATH', '')}",
            ),
            hint=f"install it (Debian: apt-get install clang-tools-{compiler.major})",
        )
    )


def _tools(scanner: Path | None, compiler: Compiler) -> tuple[ToolChoice, ...]:
    if scanner is None:
        return ()
    why = f"the scanner beside {compiler.cxx.name}"
    return (ToolChoice(name="module scanner", path=str(scanner), version=compiler.version, why=why),)
