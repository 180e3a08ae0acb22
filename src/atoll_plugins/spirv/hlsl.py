"""Does the compiler at hand make valid modules of HLSL?

Compilers of 2022 write the decoration ``BufferBlock`` for HLSL whatever environment is asked for. From SPIR-V
1.4 on it is no part of the language (SPIR-V specification, 3.20 "Decoration"), and no compiler says so. So a
small shader is compiled for the environment and looked at; the answer is kept under the compiler's bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.tools import ask, cache_folder, fingerprint, write_atomic
from atoll_plugins.spirv.compilers import GlslCompiler
from atoll_plugins.spirv.stages import is_hlsl, stage_of

_PROBE = """\
RWStructuredBuffer<float> x : register(u0);
[numthreads(64, 1, 1)]
void main(uint3 id : SV_DispatchThreadID) { x[id.x] = x[id.x] * 2.0; }
"""
_DECORATE, _BUFFER_BLOCK, _LAST = 71, 3, (1, 3)


def hlsl_words(compiler: GlslCompiler, path: str) -> tuple[str, ...]:
    """Return how a compiler is told that a file is HLSL of a stage; its entry point is ``main``."""
    if compiler.family == "glslang":
        return ("-D", "-S", stage_of(path), "-e", "main")
    return ("-x", "hlsl", f"-fshader-stage={stage_of(path)}", "-fentry-point=main")


def check_hlsl(request: LaneRequest, compiler: GlslCompiler, environments: Mapping[str, str]) -> None:
    """Refuse HLSL where the compiler makes modules of it that are not valid.

    Args:
        request: The build.
        compiler: What would compile.
        environments: The target environment of each unit by its path.

    Raises:
        LaneError: With each environment that it fails for.
    """
    wanted = sorted({environments[unit.path] for unit in request.units if is_hlsl(unit.path)})
    reasons = {name: why_not(compiler, name, request.environment) for name in wanted}
    faults = [_refused(compiler, name, reason) for name, reason in reasons.items() if reason]
    if faults:
        raise LaneError(*faults)


def _refused(compiler: GlslCompiler, environment: str, reason: str) -> Diagnostic:
    return Diagnostic(
        code="ATL0532",
        message=f"the shader compiler makes no valid module of HLSL for `{environment}`",
        notes=(
            f"compiler: {compiler.path.name} {compiler.version} at {compiler.path}",
            f"reason: {reason}",
        ),
        hint='ask for an older version, or write `[lane.spirv] compiler = "payload"`',
    )


def why_not(compiler: GlslCompiler, target: str, environment: Mapping[str, str]) -> str:
    """Return why a compiler makes no valid module of HLSL for an environment; empty where it does."""
    text = f"{fingerprint(compiler.programs, environment)} {compiler.path.name} {target}"
    path = cache_folder(environment, "hlsl") / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["reason"])
    except (OSError, ValueError, KeyError, TypeError):
        reason = _tried(compiler, target, environment)
    with contextlib.suppress(OSError):  # it is asked again the next time
        write_atomic(path, json.dumps({"reason": reason}))
    return reason


def _tried(compiler: GlslCompiler, target: str, environment: Mapping[str, str]) -> str:
    import tempfile

    with tempfile.TemporaryDirectory(prefix="atoll-hlsl-") as folder:
        Path(folder, "probe.comp.hlsl").write_text(_PROBE, encoding="utf-8")
        glslang = compiler.family == "glslang"
        words = ("-V", "--quiet", "--target-env", target) if glslang else (f"--target-env={target}",)
        argv = (
            *(str(compiler.path), *words, *hlsl_words(compiler, "probe.comp.hlsl")),
            *("probe.comp.hlsl", "-o", "probe.spv"),
        )
        said = ask(argv, environment, extra=compiler.env, cwd=Path(folder))
        if said is None:
            return "compiling a probe did not end"
        if said.status != 0:
            lines = (said.out + said.err).strip().splitlines()
            return f"compiling a probe says: {(lines or ['nothing'])[0][:300]}"
        return fault_of(Path(folder, "probe.spv").read_bytes())


def fault_of(module: bytes) -> str:
    """Return what is not valid in a module made of HLSL, as far as old compilers go wrong; else empty."""
    if len(module) < 20 or len(module) % 4:
        return "what it made is no module"
    words = struct.unpack(f"<{len(module) // 4}I", module)
    version = (words[1] >> 16 & 0xFF, words[1] >> 8 & 0xFF)
    at = 5
    while at < len(words):
        length, operation = words[at] >> 16, words[at] & 0xFFFF
        if length == 0:
            return "what it made is no module"
        if operation == _DECORATE and words[at + 2 : at + 3] == (_BUFFER_BLOCK,) and version > _LAST:
            return f"it writes `BufferBlock`, which SPIR-V {version[0]}.{version[1]} does not have"
        at += length
    return ""
