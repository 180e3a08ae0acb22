"""Where are HIP's headers, its runtime and its device libraries, which version are they, and are they whole?

Words: *device libraries* are LLVM bitcode that every kernel is linked with (``ockl.bc``); one of them states
the processor (``oclc_isa_version_942.bc``), another the version of the code object. Each is looked at before
it counts: a file that is no bitcode is none. The statement of a processor that a distribution is too old to
have is one constant, and is made at build time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.options import text_option
from atoll.plugin.tools import version_numbers

BITCODE = b"BC\xc0\xde"
NEEDED = (
    *("ockl.bc", "ocml.bc", "oclc_daz_opt_off.bc", "oclc_unsafe_math_off.bc", "oclc_finite_only_off.bc"),
    *("oclc_correctly_rounded_sqrt_on.bc", "oclc_wavefrontsize64_off.bc", "oclc_wavefrontsize64_on.bc"),
)
#: Where a prefix keeps device libraries: ROCm's own layout, then Debian's, then LLVM's resource folder.
BITCODE_FOLDERS = (
    *("amdgcn/bitcode", "lib/x86_64-linux-gnu/amdgcn/bitcode", "lib/amdgcn/bitcode"),
    "lib/llvm/amdgcn/bitcode",
)
LIBRARY_FOLDERS = ("lib", "lib/x86_64-linux-gnu", "lib64")
PREFIXES = ("/opt/rocm", "/usr")
_DEFINED = re.compile(r"^#define (HIP_VERSION_\w+) +\"?([0-9]+)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """What HIP code is compiled against.

    Attributes:
        prefix: Where it is installed.
        version: Of HIP's headers.
        why: Why this one.
        bitcode: The folder of device libraries, or None where there is none.
        files: The device libraries in it that are bitcode, by name.
        runtime: The folder that holds ``libamdhip64.so``, or None.
    """

    prefix: Path
    version: str
    why: str
    bitcode: Path | None = None
    files: frozenset[str] = frozenset()
    runtime: Path | None = None

    @property
    def system(self) -> bool:
        """Whether compilers search its headers and libraries unasked."""
        return self.prefix == Path("/usr")


def locate(request: LaneRequest, prefixes: tuple[str, ...] = PREFIXES) -> Sdk:
    """Return the HIP of a build: the one that the project names, else ROCm's own, else the distribution's.

    Raises:
        LaneError: Where there is none, or it does not meet the version asked for.
    """
    named = text_option("hip", request, "rocm")
    looked = (named,) if named else prefixes
    for prefix in map(Path, looked):
        version = _version(prefix / "include/hip/hip_version.h")
        if version:
            why = f"the project names {prefix}" if named else f"the first HIP among {', '.join(looked)}"
            found = _read(prefix, version, why)
            _check_version(request, found)
            return found
    raise LaneError(
        Diagnostic(
            code="ATL0507",
            message="the lane `hip` finds no headers of HIP",
            notes=(f"looked for: include/hip/hip_version.h below {', '.join(looked)}",),
            hint="install libamdhip64-dev or ROCm, or name its folder with `[lane.hip] rocm`",
        )
    )


def _version(header: Path) -> str:
    try:
        with header.open(encoding="utf-8", errors="replace") as file:
            values = dict(_DEFINED.findall(file.read(1 << 16)))
    except OSError:
        return ""
    parts = [values.get(f"HIP_VERSION_{name}", "") for name in ("MAJOR", "MINOR", "PATCH")]
    return ".".join(parts) if all(parts) else ""


def _read(prefix: Path, version: str, why: str) -> Sdk:
    bitcode = next((path for name in BITCODE_FOLDERS if (path := prefix / name).is_dir()), None)
    runtime = (path for name in LIBRARY_FOLDERS if ((path := prefix / name) / "libamdhip64.so").exists())
    return Sdk(
        prefix=prefix,
        version=version,
        why=why,
        bitcode=bitcode,
        files=frozenset(path.name for path in bitcode.glob("*.bc") if _is_bitcode(path))
        if bitcode
        else frozenset(),
        runtime=next(runtime, None),
    )


def _is_bitcode(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == BITCODE
    except OSError:
        return False


def _check_version(request: LaneRequest, sdk: Sdk) -> None:
    entry = request.accel.get("hip")
    if entry is None or entry.version is None:
        return
    asked, have = entry.version.parts, version_numbers(sdk.version)
    if have[:1] == asked[:1] and (*have, 0, 0)[: len(asked)] >= asked:
        return
    raise LaneError(
        Diagnostic(
            code="ATL0504",
            message="the HIP at hand does not meet the version asked for",
            notes=(
                f"the build asks for: hip{entry.version} (major {asked[0]}, at least {entry.version})",
                f"at hand: {sdk.version}, {sdk.prefix}",
            ),
            hint="ask for a version it meets, or name another one's folder with `[lane.hip] rocm`",
        )
    )


def check_bitcode(sdk: Sdk) -> Path:
    """Return the folder of device libraries, each of which is there and is bitcode.

    Raises:
        LaneError: With each that is not.
    """
    if sdk.bitcode is None:
        looked = ", ".join(str(sdk.prefix / name) for name in BITCODE_FOLDERS)
        raise LaneError(_lacks("device libraries", f"looked for: {looked}", sdk))
    wanted = (*NEEDED, *(("oclc_abi_version_N.bc",) if not abi_versions(sdk) else ()))
    missing = [name for name in wanted if name not in sdk.files]
    if missing:
        states = (
            f"{name}: {'it is no LLVM bitcode' if (sdk.bitcode / name).exists() else 'missing'}"
            for name in missing
        )
        raise LaneError(*(_lacks("a device library", f"{sdk.bitcode}/{state}", sdk) for state in states))
    return sdk.bitcode


def check_runtime(sdk: Sdk) -> Path:
    """Return the folder of the runtime that a program is linked with.

    Raises:
        LaneError: Where there is none.
    """
    if sdk.runtime is None:
        looked = ", ".join(str(sdk.prefix / name / "libamdhip64.so") for name in LIBRARY_FOLDERS)
        raise LaneError(_lacks("the runtime to link with", f"looked for: {looked}", sdk))
    return sdk.runtime


def _lacks(what: str, note: str, sdk: Sdk) -> Diagnostic:
    return Diagnostic(
        code="ATL0507",
        message=f"the HIP at hand lacks {what}",
        notes=(note, f"HIP {sdk.version} at {sdk.prefix}"),
        hint="install rocm-device-libs and libamdhip64-dev, or name a whole ROCm with `[lane.hip] rocm`",
    )


def abi_versions(sdk: Sdk) -> tuple[int, ...]:
    """Return the versions of the code object that the device libraries serve."""
    found = (re.fullmatch(r"oclc_abi_version_(\d)00\.bc", name) for name in sdk.files)
    return tuple(sorted(int(match[1]) for match in found if match))


def isa_file(processor: str) -> str:
    """Return the device library that states a processor; ``gfx9-4-generic`` has dashes as underscores."""
    return f"oclc_isa_version_{processor.removeprefix('gfx').replace('-', '_')}.bc"


def isa_number(processor: str) -> int | None:
    """Return what that library states: 9402 for ``gfx942``; None for a generic processor.

    The last two signs are minor version and stepping, hexadecimal (ROCm-Device-Libs, `oclc/CMakeLists.txt`).
    """
    text = processor.removeprefix("gfx")
    if not re.fullmatch(r"[0-9]{1,2}[0-9a-f]{2}", text):
        return None
    return int(text[:-2]) * 1000 + int(text[-2], 16) * 100 + int(text[-1], 16)
