"""Which slangc compiles: the one that the project names, else the wheel's? Each is asked in limited time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from atoll.diagnostics import Diagnostic
from atoll.errors import LaneError
from atoll.plugin import LaneRequest
from atoll.plugin.options import text_option
from atoll.plugin.tools import ask, find_program
from atoll.store import Payload
from atoll_plugins.formats.hosts import LINUX, program_name
from atoll_plugins.formats.lane_refusals import check_host, named_compiler

VERSION = "2026.14"
PAYLOAD = Payload(
    name=f"slang-{VERSION}",
    # Its declared dependency on a framework is not what the compiler needs.
    requirements=("slangtorch==1.3.22",),
    hashes=(
        (
            "slangtorch-1.3.22-py3-none-manylinux_2_27_x86_64.whl",
            "7755f2f53509ebbd65839dcd8a104e7105aeaf3e3600aea9385c2bec9beb2eaa",
        ),
    ),
    programs=("slangtorch/bin/slangc",),
    probe_args=("-version",),
)
_ANSWER = re.compile(r"^v?(20\d\d(?:\.\d+)+)", re.MULTILINE)
ASKING = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Slangc:
    """A slangc.

    Attributes:
        path: The program.
        version: As it states it.
        why: Why this one.
        programs: The program and, of a payload, its libraries.
        digest: Of the payload, or empty.
    """

    path: Path
    version: str
    why: str
    programs: tuple[Path, ...]
    digest: str = ""


def wants_payload(request: LaneRequest) -> bool:
    """Tell whether the wheel serves: always, unless the project names a compiler.

    Raises:
        LaneError: For a pin of another version, and for a host without a wheel where none is named.
    """
    named, pin = (text_option("slang", request, key) for key in ("compiler", "version"))
    if named in (None, "payload"):
        fact = "the wheel that holds slangc is published for Linux on x86-64 alone"
        check_host(
            "slang", request, (LINUX,), fact, 'name a slangc of your own: `[lane.slang] compiler = "slangc"`'
        )
    if pin is not None and (pin != VERSION or named not in (None, "payload")):
        raise LaneError(
            Diagnostic(
                code="ATL0505",
                message=f'`[lane.slang] version = "{pin}"` is a pin that the lane cannot serve',
                notes=(
                    f"the pin: {pin}",
                    f"payloads of the lane: {VERSION}",
                    *((f"`compiler` names: {named}",) if named not in (None, "payload") else ()),
                ),
                hint="pin the payload's version, or remove one of the two keys",
            )
        )
    return named in (None, "payload")


def locate(request: LaneRequest) -> Slangc:
    """Return the compiler of a build.

    Raises:
        LaneError: Where it is not there, or does not say its version in time.
    """
    stored = request.tools.get(PAYLOAD.name)
    if wants_payload(request) and stored is not None:
        folder = stored.root / "slangtorch/bin"
        path = folder / "slangc"
        libraries = tuple(sorted(folder.glob("*.so*")))
        version = _version(path, request)
        if version:
            return Slangc(
                path=path, version=version, why=stored.why, programs=(path, *libraries), digest=stored.digest
            )
    named = text_option("slang", request, "compiler") or "payload"
    program = find_program(
        program_name("slangc", request.host) if named == "host" else named, request.environment
    )
    version = _version(program, request) if program else ""
    if program is None or not version:
        raise LaneError(named_compiler("slang", named, "slangc", request))
    return Slangc(
        path=program, version=version, why=f"the project names `{named}`", programs=(program.resolve(),)
    )


def _version(path: Path, request: LaneRequest) -> str:
    answer = ask((str(path), "-version"), request.environment, timeout=ASKING, lasting=True)
    match = _ANSWER.search(answer.out + answer.err) if answer and answer.status == 0 else None
    return match[1] if match else ""
