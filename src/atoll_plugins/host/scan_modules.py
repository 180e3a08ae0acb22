"""Which modules does one C++ unit provide and require? One edge of the graph for each unit.

Run by path (``python -I -S scan_modules.py FORM OUT SOURCE OBJECT BMI MAP -- COMMAND…``), so it imports
nothing of Atoll. FORM is ``p1689`` where the command prints P1689 JSON, and ``preprocessed`` where it
prints the preprocessed unit, which is then read here: a module directive is one logical line
([cpp.module], [cpp.import]), so its line of preprocessed text says everything.

What is written holds no line numbers: an edit that changes no import leaves the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

REFUSED = "\x1erefused "
_NAME = r"[^\W\d]\w*(?:\s*\.\s*[^\W\d]\w*)*"
_END = r"\s*(?:\[\[.*\]\]\s*)?;"
_DIRECTIVE = re.compile(r"^[ \t]*(?:(export)[ \t]+)?(module|import)(?!\w)[ \t]*(.*)$", re.MULTILINE)
_DECLARED = re.compile(rf"({_NAME})\s*(?::\s*({_NAME}))?{_END}")
_IMPORTED = re.compile(rf"(?:({_NAME})|:(?!:)\s*({_NAME})){_END}")
_FRAGMENT = re.compile(r";")
_HEADER = re.compile(r"(<[^>\n]*>?|\"[^\"\n]*\"?)")
# Ordinary literals are skipped so that a raw one is found only where it starts. What stays open ends with its
# line; a quote that starts no literal separates digits. So every text is read once.
_START = re.compile(r"""(?:u8|[uUL])?R"([^()\\\s"]{0,16})\(|"|'""")
_STRING = re.compile(r'"(?:\\.|[^"\\\n])*"?')
_CHARACTER = re.compile(r"'(?:\\.|[^'\\\n]){1,32}'")
# How clang's scanner says that an import names a header.
_CLANG_HEADER = re.compile(r"header file (\S+?)(?: \(aka .*?\))? cannot be imported")
_LIMIT = 1 << 30


class Refused(Exception):  # noqa: N818 - a refusal, not an error of this program
    """What the unit asks for is refused; holds what a diagnostic says."""

    def __init__(self, **fields: object) -> None:
        super().__init__(fields["message"])
        self.fields = fields


class Crowded(Exception):  # noqa: N818 - becomes a refusal, which knows the unit
    """More stands on the line of a module directive; holds the directive and what is behind it."""


def directives(text: str) -> tuple[str | None, bool, list[str], list[str]]:
    """Return what preprocessed C++ states of modules.

    Returns:
        The module it provides or None, whether that is an interface, the modules it requires in order,
        and the header units it imports.

    Raises:
        Crowded: Where a directive is not alone on its line.
    """
    text = without_raw(text)
    provides, interface, module = None, False, ""
    requires: dict[str, None] = {}
    headers: dict[str, None] = {}
    for exported, word, rest in _DIRECTIVE.findall(text):
        if word == "module":
            found = _DECLARED.match(rest)
            _alone(exported, word, rest, found or _FRAGMENT.match(rest))
            if found is None:
                continue
            module, part = (_plain(group) for group in found.groups(default=""))
            if exported or part:
                provides, interface = f"{module}:{part}" if part else module, bool(exported)
            else:
                requires.setdefault(module)
        elif _HEADER.match(rest):
            headers.setdefault(_HEADER.match(rest)[1])  # type: ignore[index]
        elif found := _IMPORTED.match(rest):
            _alone(exported, word, rest, found)
            name, part = (_plain(group) for group in found.groups(default=""))
            requires.setdefault(name or f"{module}:{part}")
    return provides, interface, list(requires), list(headers)


def _alone(exported: str, word: str, rest: str, found: re.Match[str] | None) -> None:
    behind = rest[found.end() :].strip() if found else ""
    if found and behind:
        said = f"{exported} {word} {found[0]}".strip()
        raise Crowded(said.replace(" ;", ";"), behind)


def without_raw(text: str) -> str:
    """Return a text without its raw string literals, the only ones that hold whole lines."""
    kept: list[str] = []
    done = at = 0
    while found := _START.search(text, at):
        if found[1] is not None:
            end = text.find(f'){found[1]}"', found.end())
            kept.append(text[done : found.start()])
            done = at = len(text) if end < 0 else end + len(found[1]) + 2
            continue
        literal = (_STRING if found[0] == '"' else _CHARACTER).match(text, found.start())
        at = literal.end() if literal else found.end()
    return "".join([*kept, text[done:]])


def _plain(name: str) -> str:
    return re.sub(r"\s+", "", name)


def read_p1689(text: str) -> tuple[str | None, bool, list[str]]:
    """Return the module provided or None, whether it is an interface, and the modules required.

    See https://wg21.link/p1689r5.
    """
    rules = json.loads(text)["rules"]
    rule = rules[0] if rules else {}
    provides = rule.get("provides") or [{}]
    requires = [item["logical-name"] for item in rule.get("requires", ())]
    return provides[0].get("logical-name"), bool(provides[0].get("is-interface", True)), requires


def header_unit(source: str, header: str) -> Refused:
    """Return the refusal of a header unit."""
    return Refused(
        code="ATL0519",
        message=f"`{source}` imports the header unit `{header}`",
        notes=["imported: a header", "built here: named modules and their partitions"],
        hint=f"write `#include {header}`; in a module, between `module;` and its declaration",
    )


def crowded(source: str, directive: str, behind: str) -> Refused:
    """Return the refusal of a directive that is not alone on its line."""
    shown = behind if len(behind) <= 60 else f"{behind[:59]}…"
    return Refused(
        code="ATL0525",
        message=f"`{source}` has more on the line of a module directive",
        notes=[f"the directive: {directive}", f"behind it: {shown}"],
        hint="put the directive on a line of its own, as C++20 has it",
    )


def scan(form: str, source: str, command: list[str]) -> dict[str, object]:
    """Run the command and return what the unit provides and requires.

    Raises:
        Refused: Where it imports a header unit, or a directive is not alone on its line.
        SystemExit: Where the command fails; what it printed is printed.
    """
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    out = done.stdout[:_LIMIT].decode("utf-8", "surrogateescape")
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode != 0:
        found = _CLANG_HEADER.search(said)
        if found:
            raise header_unit(source, found[1])
        sys.stderr.write(said)
        raise SystemExit(done.returncode if done.returncode > 0 else 1)
    if form == "p1689":
        provides, interface, requires = read_p1689(out)
    else:
        try:
            provides, interface, requires, headers = directives(out)
        except Crowded as error:
            raise crowded(source, *error.args) from error
        if headers:
            raise header_unit(source, headers[0])
    return {"provides": provides, "interface": interface, "requires": requires}


def main(arguments: list[str]) -> int:
    """Write what one unit provides and requires."""
    own, command = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    form, out, source, compiled, bmi, modmap = own
    try:
        found = scan(form, source, command)
    except Refused as refusal:
        sys.stdout.write(REFUSED + json.dumps(refusal.fields) + "\n")
        return 1
    value = {"source": source, "object": compiled, "bmi": bmi, "map": modmap, **found}
    Path(out).write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
