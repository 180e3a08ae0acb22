"""0550-0569: planning and running builds."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0550": CodeInfo(
        "a floor that this machine misses",
        "A lane states the least version of a driver or runtime that its result needs, a probe states what "
        "the machine has. A missed floor refuses `run`, `test` and a `build` whose result runs here; "
        "`build --elsewhere` and `pack` warn with the same words. Where no probe "
        "knows, nothing is concluded.",
    ),
    "ATL0551": CodeInfo(
        "two roots in one link",
        "A boundary of shape `link` takes exactly one implementation. The usual cause is a fallback under "
        '`cfg(not(accelerator = "…"))` of one backend, which holds in a build for another one.',
    ),
    "ATL0552": CodeInfo(
        "no root in a link",
        "A target carries a boundary of shape `link`, and no source of any of its roots takes part.",
    ),
    "ATL0554": CodeInfo(
        "no such target",
        "The command names a target that the manifest does not have, or the manifest has none.",
    ),
    "ATL0555": CodeInfo(
        "a kernel without a root",
        "A Python kernel is compiled for each backend of the set and for the processor; each becomes part "
        "of the boundary root of that name, and the boundary lists no such root.",
    ),
    "ATL0556": CodeInfo(
        "a Python target without a boundary",
        "A target of kind `python` is a package with an extension module over a boundary.",
    ),
    "ATL0558": CodeInfo(
        "no headers of Python",
        "A Python extension module is compiled against `Python.h` of the interpreter that runs Atoll.",
    ),
    "ATL0559": CodeInfo(
        "nothing to link",
        "No source of the target takes part in this build; the notes say what was left out and why.",
    ),
    "ATL0560": CodeInfo(
        "a package folder that is not there",
        "`packages` of a Python target names a folder that does not exist.",
    ),
    "ATL0561": CodeInfo(
        "no such profile",
        "The command names a profile that the manifest does not have; `debug` and `release` always exist.",
    ),
    "ATL0562": CodeInfo(
        "a target that cannot be run",
        "`run` starts an executable. A library or a Python package is used by something else.",
    ),
    "ATL0563": CodeInfo(
        "a test that failed",
        "A target of kind `test` ended with another code than 0 (passed) or 77 (skipped), or ran past its "
        "time limit.",
    ),
    "ATL0565": CodeInfo(
        "kernels without a boundary",
        "A Python kernel is compiled once for each backend of the set and once for the processor. A boundary "
        "gives each of them a root; without one the target would hold one symbol several times.",
    ),
    "ATL0575": CodeInfo(
        "a registry without the processor's root",
        "A registry takes the first root that can be used on the machine, and the processor's where none "
        "can. So that one takes part in every build.",
    ),
    "ATL0566": CodeInfo(
        "a target that cannot be linked",
        "A name in `links` that is a target of the project means that target, which must be a static or a "
        "shared library; a Python package links static ones, since a wheel brings no library of another "
        "target.",
    ),
    "ATL0567": CodeInfo(
        "targets that link each other",
        "Libraries of the project that link each other in a circle have no order for the linker.",
    ),
    "ATL0568": CodeInfo(
        "a package that pkg-config does not know",
        '`{ pkg-config = "NAME" }` in `links` asks pkg-config for flags and libraries. What it '
        "said is shown.",
    ),
    "ATL0569": CodeInfo(
        "a package that CMake cannot bring",
        '`{ cmake = "NAME" }` in `links` lets the machine\'s CMake find the package, in a project '
        "of three lines "
        "that is configured and never built. What CMake said is shown.",
    ),
    "ATL0570": CodeInfo(
        "a tool for packages that is missing",
        "`links` names a package that only pkg-config or CMake can describe, and that tool is not on PATH.",
    ),
    "ATL0571": CodeInfo(
        "a target of a CMake package that is not clear",
        "A package `fmt` means its target `fmt::fmt`, or the only one it has. Any other is named "
        "whole, as in "
        '`{ cmake = "fmt::fmt-header-only" }`.',
    ),
    "ATL0577": CodeInfo(
        "a package bound to the machine that builds it",
        "A lane links a shared runtime that lies in a folder of this machine, and no distribution is known "
        "that would bring it where the package is installed.",
    ),
    "ATL0576": CodeInfo(
        "a program that lacks a library",
        "The loader that the program names was asked before it ran, and it does not find a shared library "
        "that the program needs.",
    ),
    "ATL0564": CodeInfo(
        "a test that named no device",
        "With `--require-device` a test must report the device that its island ran on, and not the "
        "processor.",
    ),
}
