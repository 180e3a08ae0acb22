"""0590-0599: build programs, and units that nothing takes."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0590": CodeInfo(
        "a build program that is not there",
        "`[build] program` names a file that does not exist.",
    ),
    "ATL0591": CodeInfo(
        "a call of a build program that it cannot make",
        "The build program calls its interface with something that the call does not take: a target that "
        "does not exist, an output outside its folder, a role that is none.",
    ),
    "ATL0592": CodeInfo(
        "a call that the interface of build programs does not have",
        "The build program uses a name that this version of `atoll.build.program` does not have. Both "
        "versions are named.",
    ),
    "ATL0593": CodeInfo(
        "a build program for a newer Atoll",
        "The program states with `project(api=…)` which version of the interface it was written for, and "
        "this Atoll has an older one.",
    ),
    "ATL0594": CodeInfo(
        "a build program that failed",
        "The program raised an error or ended with another exit code than 0. Its device units are listed: "
        "what the manifest names takes part whatever becomes of the program, and lanes report on it in the "
        "same run.",
    ),
    "ATL0595": CodeInfo(
        "a build program that took too long",
        "A build program decides; it is stopped with its descendants when its time is over. Work that takes "
        "long belongs into an action, which is parallel and incremental.",
    ),
    "ATL0596": CodeInfo(
        "a refusal under a code that is taken",
        "A build program refuses under a code of its own: capital letters and three or four digits. Codes "
        "that begin with ATL are Atoll's.",
    ),
    "ATL0597": CodeInfo(
        "a warning of the build program",
        "The project's own build program warns. The warning is repeated on every build that the answer "
        "serves.",
    ),
    "ATL0598": CodeInfo(
        "a device unit that no action takes",
        "The manifest names a device source and its lane answered with no action that reads it, so its code "
        "would be missing from what is built.",
    ),
}
