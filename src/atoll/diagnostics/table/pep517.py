"""048x: the build backend."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0480": CodeInfo(
        "a config setting that is not known, or cannot be read",
        "`pip` and `build` hand `--config-settings NAME=VALUE` to the build backend. It knows `accel`, "
        "`features`, `jobs`, `offline` and `profile`; a word that nobody reads would build something else "
        "than what was asked for.",
    ),
    "ATL0481": CodeInfo(
        "`[project]` breaks the standards",
        "The metadata of a wheel come from `[project]` of `pyproject.toml` where there is one. PEP 621 says "
        "what may stand in it, PEP 639 how licences are stated.",
    ),
    "ATL0482": CodeInfo(
        "`[project]` and the manifest differ",
        "Name and version are stated twice and are not equal, so that a build would carry one of them and "
        "its wheel the other.",
    ),
    "ATL0483": CodeInfo(
        "a file that cannot become part of a source distribution",
        "A source distribution holds the project and nothing beside it: a link that leads outside, a special "
        "file, and a dependency on a folder beside the project are refused.",
    ),
    "ATL0484": CodeInfo(
        "an editable install whose project has moved or is gone",
        "An editable install builds its project in the folder that it was installed from. A manifest in a "
        "folder above that one is another project's and is never built in its place.",
    ),
    "ATL0485": CodeInfo(
        "a dynamic field of `[project]` that nothing states",
        "`dynamic` leaves a field to the build backend. Atoll knows one, the version, and takes it from the "
        "manifest; a wheel that left the others out, or had the version 0.0.0, would say less than its "
        "author meant.",
    ),
}
