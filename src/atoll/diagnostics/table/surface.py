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
    "ATL0003": CodeInfo(
        "a name that no project can have",
        "The name of a project is also that of a Python package, a C++ namespace and a prefix of C "
        "functions: a small letter, then small letters, digits and `_`; no keyword, and no module of Python "
        "itself, which would hide it.",
    ),
    "ATL0004": CodeInfo(
        "the place of a new project is taken",
        "`atoll new` writes into a new or empty folder only; nothing is overwritten.",
    ),
    "ATL0005": CodeInfo(
        "no template of that name",
        "Templates come with installed packages; `atoll new --help` lists them.",
    ),
    "ATL0006": CodeInfo(
        "a project could not be written",
        "The system refused to create a file. What was written of the project is removed again.",
    ),
    "ATL0007": CodeInfo(
        "the system refused a file",
        "A file or folder of the build could not be made or written: the disk is full, the place read-only, "
        "or somebody else's. The build folder `.atoll/` lies in the project's root.",
    ),
}
