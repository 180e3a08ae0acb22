"""00xx: usage and surface."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0001": CodeInfo(
        "wrong usage",
        "The command line could not be understood. `atoll --help` lists the commands.",
    ),
    "ATL0002": CodeInfo(
        "a file could not be read",
        "The named file is missing, is not readable, or is not what its name says.",
    ),
}
