"""0540-0549 and 0583: packages that a project depends on, and its lock."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0540": CodeInfo(
        "a dependency that is not there",
        "`path` of a dependency is neither a folder nor a distribution.",
    ),
    "ATL0541": CodeInfo(
        "a dependency of another version",
        "The source that is named has another version of the package than the one asked for.",
    ),
    "ATL0542": CodeInfo(
        "a dependency that is another package",
        "The name under which a package is declared is its own name, so that two declarations of one package "
        "are known to be one.",
    ),
    "ATL0543": CodeInfo(
        "a folder or distribution without a manifest",
        "A folder and a source distribution are built by their `atoll.toml`, a wheel is matched by the "
        "descriptor in its `.dist-info`. This one has neither. What lies above it is another package's.",
    ),
    "ATL0544": CodeInfo(
        "another version was asked for",
        "A build holds one version of a package. The nearest declaration wins; what another one asked for is "
        "reported.",
    ),
    "ATL0545": CodeInfo(
        "too many packages",
        "The number of packages of one build is bounded, so that no manifest can make it run without end.",
    ),
    "ATL0546": CodeInfo(
        "packages in a circle",
        "Each package of the circle needs the next one built first.",
    ),
    "ATL0547": CodeInfo(
        "an artifact outside its folder",
        "Paths in an index of artifacts are relative to it and stay below it.",
    ),
    "ATL0548": CodeInfo(
        "a prebuilt library that is not there",
        "The index names a file that the distribution does not hold.",
    ),
    "ATL0549": CodeInfo(
        "a lock that cannot be read",
        "`atoll.lock` is damaged or of another format. It is never guessed at.",
    ),
    "ATL0583": CodeInfo(
        "a file that is not the locked one",
        "`atoll.lock` pins the bytes of every distribution that was taken, and other bytes came under the "
        "same name and version.",
    ),
}
