"""Which unit must wait for which module? All scans of one target in, the order of its compilations out.

Run by path (``python -I -S collate_modules.py FORM TARGET DYNDEP MODULES [--library ROW]… [--from FILE]…
[--no-library REASON --hint HINT] -- SCAN…``), so it imports nothing of Atoll. It writes the dyndep file for
ninja, beside every unit a list of the module files it may read (for ``gcc`` a module mapper's table, for
``clang`` arguments), and for targets that link this one what it provides. A ROW is one of the C++ library.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

REFUSED = "\x1erefused "
_STANDARD = ("std", "std.compat")


class Unit:
    """What one scan says."""

    def __init__(self, value: dict) -> None:  # type: ignore[type-arg]
        self.source: str = value["source"]
        self.compiled: str = value["object"]
        self.bmi: str = value["bmi"]
        self.map: str = value["map"]
        self.provides: str | None = value["provides"]
        self.requires: list[str] = value["requires"]


class Module:
    """A module that can be imported: where it is from and what it imports itself."""

    def __init__(self, target: str, source: str, bmi: str, requires: list[str]) -> None:
        self.target, self.source, self.bmi, self.requires = target, source, bmi, requires

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Module) and self.bmi == other.bmi

    __hash__ = None  # type: ignore[assignment]


class Faults(list):  # type: ignore[type-arg]
    """What is refused, as the fields of diagnostics."""

    def add(
        self, code: str, message: str, notes: list[str], hint: str, place: str = "", line: int = 0
    ) -> None:
        """Keep one refusal."""
        self.append(
            {"code": code, "message": message, "notes": notes, "hint": hint, "path": place, "line": line}
        )


def place_of(source: str, name: str) -> int:
    """Return the line of a source that imports a module, or 0 where no line says so plainly."""
    module, _, part = name.partition(":")
    own = r"\s*\.\s*".join(re.escape(piece) for piece in module.split("."))
    wanted = rf":\s*{re.escape(part)}" if part else own
    pattern = re.compile(
        rf"^[ \t]*(?:export[ \t]+)?(?:import|module)[ \t]*{wanted}\s*(?:\[\[|;)", re.MULTILINE
    )
    try:
        text = Path(source).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0
    found = pattern.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else 0


def _at(source: str, name: str) -> str:
    line = place_of(source, name)
    return f"{source}:{line}" if line else source


def own_modules(units: list[Unit], target: str, faults: Faults) -> dict[str, Module]:
    """Return what the units of a target provide; the extension must say the same."""
    found: dict[str, Module] = {}
    for unit in units:
        is_interface_file = unit.source.endswith(".cppm")
        if unit.provides is None:
            if is_interface_file:
                faults.add(
                    "ATL0520",
                    f"`{unit.source}` provides no module",
                    ["the extension `.cppm` says: a module interface or partition", "declared in it: none"],
                    "declare `export module NAME;`, or name the file `.cpp`",
                )
            continue
        if not is_interface_file:
            faults.add(
                "ATL0520",
                f"`{unit.source}` provides the module `{unit.provides}`, which its extension denies",
                [f"provided: {unit.provides}", "module interfaces and partitions are named: .cppm"],
                f"rename it to `{unit.source.rpartition('.')[0]}.cppm`",
            )
        elif unit.provides in found:
            _twice(unit.provides, found[unit.provides], Module(target, unit.source, unit.bmi, []), faults)
        else:
            found[unit.provides] = Module(target, unit.source, unit.bmi, unit.requires)
    return found


def _twice(name: str, one: Module, other: Module, faults: Faults) -> None:
    faults.add(
        "ATL0517",
        f"the module `{name}` is provided twice",
        [f"provided by: {module.source} (target `{module.target}`)" for module in (one, other)],
        "keep one of them, or give one another name",
    )


def together(own: dict[str, Module], linked: list[dict[str, Module]], faults: Faults) -> dict[str, Module]:
    """Return every module that units of a target can import: its own and those of what it links."""
    known = dict(own)
    for modules in linked:
        for name, module in sorted(modules.items()):
            if name in known and known[name] != module:
                _twice(name, known[name], module, faults)
            known.setdefault(name, module)
    return known


def check_imports(
    units: list[Unit], known: dict[str, Module], no_library: tuple[str, str], faults: Faults
) -> None:
    """Refuse each import that nothing provides."""
    for unit in units:
        for name in unit.requires:
            if name in known:
                continue
            if name in _STANDARD:
                code, message = "ATL0522", f"`{unit.source}` imports the module `{name}` of the C++ library"
                notes, hint = [f"asked at: {_at(unit.source, name)}", no_library[0]], no_library[1]
            else:
                code, message = "ATL0516", f"nothing provides the module `{name}`"
                notes = [f"asked at: {_at(unit.source, name)}", f"provided here: {_listed(known)}"]
                hint = "add the `.cppm` that declares it to `sources`, or link the target that has it"
            faults.add(code, message, notes, hint, unit.source, place_of(unit.source, name))


def _listed(known: dict[str, Module]) -> str:
    names = sorted(known)
    return (", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")) or "none"


def find_cycle(known: dict[str, Module]) -> list[str]:
    """Return the names of one circle of imports in order, or nothing."""
    done: set[str] = set()
    for start in sorted(known):
        if start in done:
            continue
        trail = {start: None}
        stack = [(start, iter(known[start].requires))]
        while stack:
            name = next((item for item in stack[-1][1] if item in known and item not in done), None)
            if name is None:
                done.add(trail.popitem()[0])
                stack.pop()
            elif name in trail:
                names = list(trail)
                return names[names.index(name) :]
            else:
                trail[name] = None
                stack.append((name, iter(known[name].requires)))
    return []


def check_cycle(known: dict[str, Module], faults: Faults) -> None:
    """Refuse modules that import each other in a circle."""
    names = find_cycle(known)
    if names:
        pairs = zip(names, [*names[1:], names[0]])  # noqa: B905 - one length by construction
        faults.add(
            "ATL0518",
            f"the modules import each other in a circle: {' → '.join([*names, names[0]])}",
            [f"`{one}` imports `{other}` at {_at(known[one].source, other)}" for one, other in pairs],
            "move what both need into a module of its own",
        )


def closure(names: list[str], known: dict[str, Module], done: dict[str, list[str]]) -> list[str]:
    """Return the modules that an import of `names` reads, sorted; those of modules are kept in `done`."""
    found: set[str] = set()
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            if name in done:
                found.update(done[name])
            else:
                todo += known[name].requires
    return sorted(found)


def map_text(form: str, unit: Unit, names: list[str], known: dict[str, Module]) -> str:
    """Return where a unit's compilation finds module files, in the compiler's spelling."""
    if form == "gcc":
        own = [(unit.provides, unit.bmi)] if unit.provides else []
        return "".join(
            f"{name} {bmi}\n" for name, bmi in [*own, *((name, known[name].bmi) for name in names)]
        )
    return "".join(f'"{_quoted(f"-fmodule-file={name}={known[name].bmi}")}"\n' for name in names)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _ninja(path: str) -> str:
    return path.replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def dyndep_text(waits: dict[str, list[str]]) -> str:
    """Return the dyndep file: for each object the module files that must be there first."""
    lines = ["ninja_dyndep_version = 1\n"]
    for compiled, bmis in sorted(waits.items()):
        inputs = "".join(f" {_ninja(bmi)}" for bmi in bmis)
        lines.append(f"build {_ninja(compiled)}: dyndep{' |' + inputs if inputs else ''}\n  restat = 1\n")
    return "".join(lines)


def _read(path: str) -> dict:  # type: ignore[type-arg]
    return json.loads(Path(path).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8", errors="surrogateescape")


def main(arguments: list[str]) -> int:
    """Collate the scans of one target."""
    parser = argparse.ArgumentParser()
    for name in ("form", "target", "dyndep", "modules"):
        parser.add_argument(name)
    parser.add_argument("--no-library", default="")
    parser.add_argument("--hint", default="include the headers instead")
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--from", action="append", default=[], dest="linked")
    options = parser.parse_args(arguments[: arguments.index("--")])
    units = [Unit(_read(path)) for path in arguments[arguments.index("--") + 1 :]]
    faults = Faults()
    own = own_modules(units, options.target, faults)
    linked = [{name: Module(*row) for name, row in _read(path).items()} for path in options.linked]
    known = together(own, linked, faults)
    for name, *row in map(json.loads, options.library):
        known.setdefault(name, Module("of the C++ library", *row))
    check_imports(units, known, (options.no_library, options.hint), faults)
    check_cycle(known, faults)
    if faults:
        sys.stdout.write("".join(f"{REFUSED}{json.dumps(fault)}\n" for fault in faults))
        return 1
    _write_all(options, units, known)
    return 0


def _write_all(options: argparse.Namespace, units: list[Unit], known: dict[str, Module]) -> None:
    done: dict[str, list[str]] = {}
    waits: dict[str, list[str]] = {}
    for unit in units:
        names = closure(unit.requires, known, done)
        if unit.provides:
            done[unit.provides] = names
        waits[unit.compiled] = [known[name].bmi for name in names]
        _write(unit.map, map_text(options.form, unit, names, known))
    _write(options.dyndep, dyndep_text(waits))
    rows = {name: [item.target, item.source, item.bmi, item.requires] for name, item in known.items()}
    # What every target has anyway is passed on to none.
    for name, *_ in map(json.loads, options.library):
        rows.pop(name, None)
    _write(options.modules, json.dumps(rows, indent=1, sort_keys=True))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
