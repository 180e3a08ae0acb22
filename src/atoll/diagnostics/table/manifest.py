"""02xx: manifest and units."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0201": CodeInfo(
        "unknown key in the manifest",
        "The manifest has a closed list of keys (docs/reference/manifest.md); only `[lane.NAME]` takes "
        "more, which the lane checks. A key that is not known is refused, because a misspelt one would "
        "change nothing and say nothing.",
    ),
    "ATL0202": CodeInfo(
        "wrong type in the manifest",
        "The key takes another type than the one written; both are named.",
    ),
    "ATL0203": CodeInfo(
        "unknown value in the manifest",
        "The key takes one of a closed list of words; they are listed.",
    ),
    "ATL0204": CodeInfo(
        "the manifest is beyond a bound",
        "Manifests are read with bounds on size, nesting, length of dotted keys and number of values, so "
        "that no file can take long to read.",
    ),
    "ATL0205": CodeInfo(
        "the manifest is not TOML",
        "The text breaks the rules of TOML 1.0 at the place shown.",
    ),
    "ATL0206": CodeInfo(
        "a required key is missing",
        "The table needs the key. In `pyproject.toml`, `name`, `version`, `description`, `license` and "
        "`python` are taken from `[project]` where it states them.",
    ),
    "ATL0207": CodeInfo(
        "one project has two manifests",
        "A folder has `atoll.toml` and a `[tool.atoll]` table in `pyproject.toml`. Nothing says which of "
        "them counts, so neither is taken.",
    ),
    "ATL0208": CodeInfo(
        "no manifest was found",
        "Neither the folder nor any folder above it has `atoll.toml` or `[tool.atoll]` in `pyproject.toml`.",
    ),
    "ATL0209": CodeInfo(
        "not a version specifier",
        "`requires-atoll` is a specifier as in PEP 440, such as `>=0.1,<2`.",
    ),
    "ATL0210": CodeInfo(
        "the package asks for another Atoll",
        "`requires-atoll` of the package does not contain the version that reads it. Only this package is "
        "refused, never the index it came from.",
    ),
    "ATL0211": CodeInfo(
        "a name or value that cannot be used",
        "The value is of the right type and still cannot be used in its place; what is allowed is named.",
    ),
    "ATL0212": CodeInfo(
        "a key without effect",
        "The key says something only for another kind of target. It is refused, because the author "
        "expects something of it.",
    ),
    "ATL0213": CodeInfo(
        "a name that does not exist",
        "One table names another one that the manifest does not have; those that exist are listed.",
    ),
    "ATL0214": CodeInfo(
        "a path leaves the project",
        "Paths in the manifest are relative to the project root, use forward slashes and stay below it. A "
        "glob, a folder, or what a symbolic link resolves to leads elsewhere.",
    ),
    "ATL0215": CodeInfo(
        "a choice of exactly one",
        "The table needs exactly one of several keys: a dependency has `path` or `index`, a link has "
        "`name`, `pkg-config` or `cmake`.",
    ),
    "ATL0220": CodeInfo(
        "a lane that is not installed",
        "`[build] lanes` names a lane that no installed package brings.",
    ),
    "ATL0221": CodeInfo(
        "one extension, two meanings",
        "In one project an extension has one meaning. Two lanes of the project claim the same one, or a "
        "lane claims an extension of the host lane.",
    ),
    "ATL0222": CodeInfo(
        "two source entries about one file",
        "A file is compiled as one source entry says. An entry that says more than a glob owns its files "
        "before plain globs do; two such entries that differ and name one file are refused.",
    ),
    "ATL0223": CodeInfo(
        "an empty constraint",
        "`accel` of a source entry is a constraint and names at least one backend.",
    ),
    "ATL0224": CodeInfo(
        "a constrained glob matches a host source",
        "A constraint narrows device sources. A host source is compiled by the host compiler whatever the "
        "set is; choose among host sources with a `[target.'cfg(…)']` table.",
    ),
    "ATL0225": CodeInfo(
        "a backend that the package does not declare",
        "`[package] accelerators` is not empty and a source entry is for a backend that it does not list. "
        "This is checked in every build, also without an accelerator.",
    ),
    "ATL0226": CodeInfo(
        "the build's set does not cover a constraint",
        "The build names the backend of the source entry, but not in a way that meets its constraint. A "
        "set that does not name the backend at all just leaves the files out.",
    ),
    "ATL0227": CodeInfo(
        "a glob looks at too many files",
        "Globs are expanded with bounds on the number of entries and on depth.",
    ),
    "ATL0228": CodeInfo(
        "a file that its lane refuses",
        "The lane knows the extension and cannot compile it, because the extension leaves open what the "
        "file is. The extensions that it compiles are listed.",
    ),
    "ATL0229": CodeInfo(
        "a lane that the project does not list",
        "An installed lane compiles such files, but `[build] lanes` does not list it, so no action takes "
        "the file.",
    ),
    "ATL0230": CodeInfo(
        "an extension nobody knows",
        "`sources` names a file that no installed lane compiles or tracks. Its object would be missing "
        "from the link, so it is refused by name.",
    ),
    "ATL0231": CodeInfo(
        "a source entry that matches no file",
        "A constrained glob, or a plain name, that matches nothing is refused in every build, also "
        "without an accelerator. A plain pattern that matches nothing is a warning.",
    ),
    "ATL0232": CodeInfo(
        "sources of a feature without a target",
        "The sources that a feature adds join the target named like the package, or the only target that "
        "compiles something and is no test. Here neither is clear.",
    ),
    "ATL0233": CodeInfo(
        "no such feature",
        "Features are asked for by the line of a consumer (`[dependencies]`) or by a wheel variant "
        "(`[[pack.variant]]`); the package has none of that name.",
    ),
    "ATL0234": CodeInfo(
        "a link that leads nowhere",
        "A glob matches a symbolic link whose file does not exist. Passing it over would leave its code out "
        "of the link without a word.",
    ),
    "ATL0235": CodeInfo(
        "a set that names what nothing is compiled for",
        "No lane of the project, source, `accelerators` entry or `cfg` names this backend. The build goes "
        "on, since the vocabulary is open, but holds no code for it.",
    ),
}
