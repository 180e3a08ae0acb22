"""Which extensions of GLSL does the compiler at hand have? Asked once for each compiler, and kept.

An extension is a property of a build of the compiler, not of its version, so a small shader is compiled. The
answers are kept under the compiler's bytes. Words: a shader *requires* an extension where a line says so
before the first `#if`; what stands below a condition is the compiler's matter.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from atoll.diagnostics import Diagnostic, Span
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.tools import ask, cache_folder, fingerprint, write_atomic
from atoll_plugins.spirv.compilers import GlslCompiler, on_path, read_compiler
from atoll_plugins.spirv.stages import is_hlsl

READ_BYTES = 256 << 10
_REQUIRE = r"[ \t]*#[ \t]*extension[ \t]+(GL_\w+)[ \t]*:[ \t]*require\b"
_CONDITION = r"[ \t]*#[ \t]*if"
_COMMENT = r"(?s)/\*.*?(?:\*/|\Z)|//[^\n]*"
_UNSUPPORTED = "extension not supported: "


def required(text: str) -> dict[str, int]:
    """Return the extensions that a shader requires whatever is defined, each with its line."""
    if "require" not in text:  # most shaders
        return {}
    found: dict[str, int] = {}
    plain = re.sub(_COMMENT, lambda match: "\n" * match[0].count("\n"), text)
    for number, line in enumerate(plain.split("\n"), 1):
        if re.match(_CONDITION, line):
            break
        match = re.match(_REQUIRE, line)
        if match:
            found.setdefault(match[1], number)
    return found


def answers(compiler: GlslCompiler, names: Iterable[str], environment: Mapping[str, str]) -> dict[str, bool]:
    """Return for each extension whether the compiler has it; one that cannot be told is left out."""
    programs = fingerprint(compiler.programs, environment)
    key = hashlib.sha256(f"{programs} {compiler.path.name}".encode()).hexdigest()[:32]
    path = cache_folder(environment, "glsl-extensions") / f"{key}.json"
    known = _kept(path)
    asked = {name: _has(compiler, name, environment) for name in sorted(set(names) - known.keys())}
    fresh = {name: has for name, has in asked.items() if has is not None}
    if fresh:
        with contextlib.suppress(OSError):  # they are asked again the next time
            write_atomic(path, json.dumps({**_kept(path), **fresh}, sort_keys=True))
    known |= fresh
    return {name: known[name] for name in names if name in known}


def _kept(path: Path) -> dict[str, bool]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return (
        {str(name): has for name, has in value.items() if isinstance(has, bool)}
        if isinstance(value, dict)
        else {}
    )


def _has(compiler: GlslCompiler, name: str, environment: Mapping[str, str]) -> bool | None:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="atoll-glsl-") as folder:
        source = Path(folder, "probe.comp")
        source.write_text(f"#version 460\n#extension {name} : require\nvoid main() {{}}\n", encoding="utf-8")
        words = ("-V", "--quiet") if compiler.family == "glslang" else ("-c",)
        argv = (str(compiler.path), *words, "probe.comp", "-o", "probe.spv")
        said = ask(argv, environment, extra=compiler.env, cwd=Path(folder))
    if said is None:
        return None
    if f"{_UNSUPPORTED}{name}" in said.out + said.err:
        return False
    return True if said.status == 0 else None


def check_extensions(request: LaneRequest, compiler: GlslCompiler) -> tuple[str, ...]:
    """Return the shaders that require an extension, as inputs of the plan.

    Raises:
        LaneError: With every extension that a shader requires and the compiler does not have.
    """
    root = str(request.root)
    wanted = {
        unit.path: required(_text(f"{root}/{unit.path}")) for unit in request.units if not is_hlsl(unit.path)
    }
    wanted = {path: names for path, names in wanted.items() if names}
    names = dict.fromkeys(name for found in wanted.values() for name in found)
    has = answers(compiler, names, request.environment) if names else {}
    lacking = [
        (path, name, line)
        for path, found in wanted.items()
        for name, line in found.items()
        if has.get(name) is False
    ]
    if lacking:
        raise LaneError(*(_lacks(request, compiler, *row) for row in lacking))
    return tuple(wanted)


def _text(path: str) -> str:
    """Return the text of a shader that may require an extension; most do not."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - of each shader
            text = file.read(READ_BYTES)
        return text.decode("utf-8", "replace") if b"require" in text else ""
    except OSError:
        return ""


def _lacks(request: LaneRequest, compiler: GlslCompiler, path: str, name: str, line: int) -> Diagnostic:
    found = (read_compiler(each, request.environment) for each in on_path(request.environment))
    others = [other for other in found if other is not None and other.path != compiler.path]
    able = [other for other in others if answers(other, (name,), request.environment).get(name)]
    return Diagnostic(
        code="ATL0531",
        message=f"the shader compiler does not have `{name}`, which `{path}` requires",
        span=Span(file=path, line=line),
        notes=(
            f"compiler: {compiler.path.name} {compiler.version} at {compiler.path}",
            *(f"it has it: {other.path.name} {other.version} at {other.path}" for other in able),
        ),
        hint=f'write `[lane.spirv] compiler = "{able[0].path.name}"`'
        if able
        else 'name another compiler with `[lane.spirv] compiler`, such as "payload"',
    )
