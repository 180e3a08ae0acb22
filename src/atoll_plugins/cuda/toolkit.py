"""Which CUDA toolkit is at hand, what does it state about itself, and does it reach its own stages?

A toolkit is a folder with ``bin/nvcc``: five wheels unpacked into Atoll's store, or what the project
names. Nothing is taken from PATH unless the project says ``compiler = "host"``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.options import text_option
from atoll.plugin.tools import ask, find_program, version_numbers
from atoll.plugin.values import dataclass, replace
from atoll.store import Payload, PayloadRoot
from atoll_plugins.cuda.hostbound import Bound
from atoll_plugins.formats.hosts import LINUX, WINDOWS, program_name

# The wheels of one toolkit and the driver that its runtime needs (notes/lanes.md 1b; the CUDA
# compatibility table of NVIDIA's release notes).
PINNED = "13.0"
LOWEST = (13, 0)
PAYLOADS: Mapping[str, Payload] = {
    "13.0": Payload(
        name="cuda-13.0",
        requirements=(
            "nvidia-cuda-nvcc==13.0.88",
            "nvidia-cuda-crt==13.0.88",
            "nvidia-nvvm==13.0.88",
            "nvidia-cuda-runtime==13.0.96",
            "nvidia-cuda-cccl==13.0.85",
        ),
        hashes=(
            (
                "nvidia_cuda_nvcc-13.0.88-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
                "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
            ),
            (
                "nvidia_cuda_crt-13.0.88-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
                "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
            ),
            (
                "nvidia_nvvm-13.0.88-py3-none-manylinux2010_x86_64.manylinux_2_12_x86_64.whl",
                "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0",
            ),
            (
                "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
                "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
            ),
            (
                "nvidia_cuda_cccl-13.0.85-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
                "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
            ),
        ),
        programs=("nvidia/cu13/bin/nvcc", "nvidia/cu13/bin/ptxas", "nvidia/cu13/bin/fatbinary"),
        libraries=("nvidia/cu13/lib/libcudart.so.13",),
    ),
}
# The same wheels as NVIDIA publishes them for Windows; nobody has run them.
_WINDOWS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "13.0": (
        (
            "nvidia_cuda_nvcc-13.0.88-py3-none-win_amd64.whl",
            "7c3a32c8ca9866addfd784da363ddee2f6874d560027a296f583e86a61f2d543",
        ),
        (
            "nvidia_cuda_crt-13.0.88-py3-none-win_amd64.whl",
            "31e02c52916804ca15e31f272a96181d8fadaf40c4c82a77a6f78071a22eccf3",
        ),
        (
            "nvidia_nvvm-13.0.88-py3-none-win_amd64.whl",
            "2ef0db7849e476d3b2fc3c09b27bdd79bd7ea8ce58cd9c86553d64ea40844ba0",
        ),
        (
            "nvidia_cuda_runtime-13.0.96-py3-none-win_amd64.whl",
            "f79298c8a098cec150a597c8eba58ecdab96e3bdc4b9bc4f9983635031740492",
        ),
        (
            "nvidia_cuda_cccl-13.0.85-py3-none-win_amd64.whl",
            "e160c6f031687b913fbe6e82e43f1788c3dd2a2a6378d3a8b15a31934b3ab285",
        ),
    ),
}
DRIVER_FLOORS = {13: "580", 12: "525"}
PREFIX = "nvidia/cu13"
# What each payload's `crt/host_config.h` says: a host compiler is refused before anything is fetched for it.
BOUNDS: Mapping[str, Bound] = {"13.0": Bound(gcc_highest=15, clang_below=21, clang_above="3.2")}
_CLANG = re.compile(r"(?:.*/)?clang(?:\+\+)?(?:-\d+)?(?:\.exe)?")
_BRINGS = {
    "cicc": "nvidia-nvvm",
    "libdevice.10.bc": "nvidia-nvvm",
    "host_config.h": "nvidia-cuda-crt",
    "cuda_runtime.h": "nvidia-cuda-runtime",
    "libcudart_static.a": "nvidia-cuda-runtime",
    "libcudart.so.13": "nvidia-cuda-runtime",
}
_RELEASE = re.compile(r"release (\d+)\.(\d+), V(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolkit:
    """A CUDA toolkit.

    Attributes:
        root: The folder with ``bin``, ``include`` and the libraries.
        nvcc: The driver.
        version: Its full version, ``13.0.88``.
        why: Where it came from.
        digest: Of the payload; empty for one that the project names.
        host: The host that the build is for.
    """

    root: Path
    nvcc: Path
    version: str
    why: str
    digest: str = ""
    host: str = LINUX

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor."""
        numbers = version_numbers(self.version)
        return numbers[0], numbers[1]

    @property
    def libraries(self) -> Path:
        """The folder of the runtime libraries; wheels have ``lib``, installers ``lib64``."""
        if self.host == WINDOWS:
            return self.root / "lib/x64"
        for name in ("lib64", "lib", "targets/x86_64-linux/lib"):
            if (self.root / name / "libcudart_static.a").is_file():
                return self.root / name
        return self.root / "lib"

    @property
    def static_runtime(self) -> tuple[str, ...]:
        """What a link takes so that the runtime is linked in."""
        return ("-lcudart_static", *(() if self.host == WINDOWS else ("-lrt", "-lpthread", "-ldl")))

    def program(self, name: str) -> Path:
        """Return where a program of the toolkit lies."""
        return self.root / "bin" / program_name(name, self.host)

    @property
    def host_config(self) -> Path:
        """The header that bounds the host compiler."""
        for name in ("include", "targets/x86_64-linux/include"):
            if (self.root / name / "crt/host_config.h").is_file():
                return self.root / name / "crt/host_config.h"
        return self.root / "include/crt/host_config.h"


def needed_payload(request: LaneRequest) -> Payload | None:
    """Return the payload that serves the build, or None where the project names a toolkit.

    Raises:
        LaneError: Where no payload meets the version asked for, or the pin.
    """
    if _named_toolkit(request) is not None:
        return None
    pin = text_option("cuda", request, "version")
    if pin is not None and pin not in PAYLOADS:
        raise LaneError(_bad_pin(pin))
    payload = for_host(pin or PINNED, request.host)
    check_request(request, (pin or PINNED), f"the payload `{payload.name}`")
    return payload


def for_host(release: str, host: str) -> Payload:
    """Return the payload of a release as it is published for a host."""
    payload = PAYLOADS[release]
    if host != WINDOWS:
        return payload
    programs = tuple(program_name(name, host) for name in payload.programs)
    return replace(payload, hashes=_WINDOWS[release], programs=programs, libraries=())


def is_clang(name: str) -> bool:
    """Tell whether a name or path is one that clang has; such a compiler brings no toolkit of its own."""
    return _CLANG.fullmatch(name) is not None


def _named_toolkit(request: LaneRequest) -> str | None:
    named = text_option("cuda", request, "compiler")
    return None if named is None or is_clang(named) else named


def _bad_pin(pin: str) -> Diagnostic:
    low = version_numbers(pin) < LOWEST
    return Diagnostic(
        code="ATL0505",
        message=f'`[lane.cuda] version = "{pin}"` is a pin that the lane cannot serve',
        notes=(
            f"the pin: {pin}",
            f"the lane's floor is {LOWEST[0]}.{LOWEST[1]} (older wheels hold no nvcc)"
            if low
            else f"payloads of the lane: {', '.join(PAYLOADS)}",
        ),
        hint='pin one of them, or name a toolkit with `[lane.cuda] compiler = "/path/to/nvcc"`',
    )


def _other_pin(pin: str, toolkit: Toolkit) -> Diagnostic:
    return Diagnostic(
        code="ATL0505",
        message=f'`[lane.cuda] version = "{pin}"` is not the version of the toolkit that the project names',
        notes=(f"the pin: {pin}", f"the toolkit: {toolkit.version} at {toolkit.nvcc}"),
        hint="remove one of the two keys",
    )


def check_request(request: LaneRequest, version: str, what: str) -> None:
    """Refuse a toolkit that is not of the major asked for and at least that minor."""
    entry = request.accel.get("cuda")
    if entry is None or entry.version is None:
        return
    asked, have = entry.version.parts, version_numbers(version)
    if have[:1] == asked[:1] and (*have, 0, 0)[: len(asked)] >= asked:
        return
    raise LaneError(
        Diagnostic(
            code="ATL0504",
            message="the CUDA toolkit at hand does not meet the version asked for",
            notes=(
                f"the build asks for: cuda{entry.version} (major {asked[0]}, at least {entry.version})",
                f"at hand: {version}, {what}",
            ),
            hint="ask for a version it meets, or name another toolkit with `[lane.cuda] compiler`",
        )
    )


def locate(request: LaneRequest) -> Toolkit:
    """Return the toolkit of a build.

    Raises:
        LaneError: Where what the project names is not there, or does not meet the version asked for.
    """
    named = _named_toolkit(request)
    payload = None if named else needed_payload(request)
    if payload is not None:
        toolkit = _of_payload(request.tools[payload.name], request.host)
    else:
        assert named is not None
        toolkit = _named(named, request.environment)
    check_request(request, toolkit.version, str(toolkit.nvcc))
    pin = text_option("cuda", request, "version")
    if pin is not None and version_numbers(toolkit.version)[: len(version_numbers(pin))] != version_numbers(
        pin
    ):
        raise LaneError(_other_pin(pin, toolkit))
    return toolkit


def _of_payload(root: PayloadRoot, host: str) -> Toolkit:
    prefix = root.root / PREFIX
    nvcc = prefix / program_name("bin/nvcc", host)
    version = _version(nvcc, root.environment)
    if version is None:
        raise LaneError(missing_stage(str(nvcc), "nvcc", str(prefix)))
    return Toolkit(root=prefix, nvcc=nvcc, version=version, why=root.why, digest=root.digest, host=host)


def _named(named: str, environment: Mapping[str, str]) -> Toolkit:
    nvcc = find_program("nvcc" if named == "host" else named, environment)
    version = _version(nvcc, ()) if nvcc else None
    if nvcc is None or version is None:
        raise LaneError(
            Diagnostic(
                code="ATL0509",
                message="the CUDA compiler that the project names is not there or is no nvcc",
                notes=(
                    f"`[lane.cuda] compiler` names: {named}",
                    f"PATH is: {environment.get('PATH') or '(empty)'}",
                ),
                hint="remove the key to take the payload, or name an nvcc",
            )
        )
    why = (
        "the project says `host`: the first nvcc on PATH" if named == "host" else f"the project names {named}"
    )
    return Toolkit(root=_top(nvcc), nvcc=nvcc, version=version, why=why)


def _top(nvcc: Path) -> Path:
    """Return the folder that the driver itself calls TOP: a wrapper script on PATH lies elsewhere."""
    answer = ask((str(nvcc), "--dryrun", "-c", "x.cu"), {"PATH": "/usr/bin:/bin"})
    match = re.search(r"^#\$ TOP=(.+)$", answer.err, re.MULTILINE) if answer else None
    return Path(match[1]).resolve() if match else nvcc.resolve().parent.parent


def _version(nvcc: Path, extra: tuple[tuple[str, str], ...]) -> str | None:
    try:
        stamp = nvcc.stat().st_mtime_ns
    except OSError:
        return None
    return _asked_version(nvcc, stamp, extra)


@lru_cache(maxsize=32)
def _asked_version(nvcc: Path, _stamp: int, extra: tuple[tuple[str, str], ...]) -> str | None:
    answer = ask((str(nvcc), "--version"), {"PATH": "/usr/bin:/bin"}, extra=extra)
    match = _RELEASE.search(answer.out) if answer and answer.status == 0 else None
    return match[3] if match else None


@dataclass(frozen=True, slots=True)
class DryRun:
    """What ``nvcc --dryrun`` printed: the stages by name, and where each one was resolved to."""

    stages: tuple[tuple[str, Path | None], ...]
    refusal: str = ""


def dry_run(nvcc: Path, flags: tuple[str, ...], environment: Mapping[str, str]) -> DryRun | None:
    """Return the stages that a compilation would run; None where the plan cannot be read."""
    argv = (str(nvcc), "--dryrun", *flags, "-c", "probe.cu", "-o", "probe.o")
    answer = ask(argv, environment)
    if answer is None:
        return None
    if answer.status != 0:
        return DryRun((), answer.err.strip().splitlines()[0] if answer.err.strip() else "no reason given")
    return read_dry_run(answer.err, environment)


def read_dry_run(text: str, environment: Mapping[str, str]) -> DryRun | None:
    """Resolve each stage of a printed plan against the PATH that it prints."""
    values: dict[str, str] = {}
    stages: dict[str, Path | None] = {}
    for line in text.splitlines():
        body = line.removeprefix("#$ ")
        variable = re.match(r"([A-Z_]+)=(.*)$", body)
        if body == line or body.startswith("--"):
            continue
        if variable:
            values[variable[1]] = variable[2]
            continue
        try:
            word = shlex.split(body)[0]
        except (ValueError, IndexError):
            return None
        word = re.sub(r"\$(\w+)", lambda found: values.get(found[1], found[0]), word)
        if word != "rm":
            stages[word] = find_program(word, {"PATH": values.get("PATH", environment.get("PATH", ""))})
    if "PATH" not in values or not stages:
        return None
    return DryRun(tuple(stages.items()))


def missing_stage(stage: str, name: str, root: str) -> Diagnostic:
    """Return the refusal for a program or file of the toolkit that is not there."""
    brings = _BRINGS.get(name, "nvidia-cuda-nvcc")
    return Diagnostic(
        code="ATL0507",
        message=f"the CUDA toolkit lacks `{name}`, which its compiler needs",
        notes=(f"looked for: {stage}", f"toolkit: {root}", f"the payload that brings it: {brings}"),
        hint="`atoll toolchain prune` and build again to fetch the payload anew, or name a whole toolkit",
    )
