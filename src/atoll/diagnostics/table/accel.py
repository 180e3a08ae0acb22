"""01xx: the accelerator vocabulary, sets and predicates."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0101": CodeInfo(
        "a character that the grammar of an accel set has no place for",
        "A set is `entry, entry`; an entry is `backend[version][+{arch,arch}][ floor>=version]`. The caret "
        "shows the first character that fits nowhere. Nothing is skipped, because a skipped word would be "
        "a device nobody builds for.",
    ),
    "ATL0102": CodeInfo(
        "a comma is missing",
        "Entries are separated by a comma; a space separates an entry from its floor. Two entries with only "
        "a space between them would otherwise read as one.",
    ),
    "ATL0103": CodeInfo(
        "empty braces",
        "`+{}` names no architecture. An entry that leaves the choice open has no braces at all.",
    ),
    "ATL0104": CodeInfo(
        "a backend is named twice",
        "A set holds at most one entry a backend. Put all architectures into the braces of one entry.",
    ),
    "ATL0105": CodeInfo("an architecture is named twice", "The braces hold each architecture once."),
    "ATL0106": CodeInfo(
        "an entry has no backend",
        "An entry starts with the name of a backend in lower-case letters; version and braces follow it.",
    ),
    "ATL0107": CodeInfo(
        "a comma with nothing beside it",
        "A comma separates two entries or two architectures. At the start, at the end or twice in a row it "
        "separates nothing; something may have been lost.",
    ),
    "ATL0108": CodeInfo(
        "an entry has two floors",
        "`floor` and the lane's own word name the same field; an entry has at most one.",
    ),
    "ATL0109": CodeInfo(
        "upper case in a backend",
        "Backends are written in lower case, so that one backend has one spelling.",
    ),
    "ATL0110": CodeInfo(
        "an unknown word before `>=`",
        "The word of a floor is `floor`, or the one word that the backend's lane registers. A word nobody "
        "registers would be a floor that nobody checks.",
    ),
    "ATL0111": CodeInfo(
        "`none` as an entry",
        "`none` is the name of the empty set inside `cfg(…)`, not a backend. `--no-accel` asks for none.",
    ),
    "ATL0112": CodeInfo(
        "`--accel` without a set",
        "An empty `--accel` could mean none or the manifest's. `--no-accel` asks for none; leaving the flag "
        "out takes the manifest's.",
    ),
    "ATL0113": CodeInfo(
        "stray white space",
        "White space may stand around a comma, and once between an entry and its floor.",
    ),
    "ATL0114": CodeInfo(
        "a character outside ASCII",
        "Names and digits are ASCII. A digit of another script looks like a version and is none.",
    ),
    "ATL0115": CodeInfo(
        "an accel set or predicate is too long or too deep",
        "The text is longer, or nested deeper, than anything a person writes; it is refused unread.",
    ),
    "ATL0116": CodeInfo(
        "not a version",
        "A version, and the value of a floor, is digits separated by dots, at most nine digits a number.",
    ),
    "ATL0117": CodeInfo("a brace is not closed", "`+{` starts the architectures and `}` ends them."),
    "ATL0118": CodeInfo(
        "an entry that its lane refuses",
        "The grammar is right, but the lane of this backend knows that the entry names nothing that exists.",
    ),
    "ATL0119": CodeInfo(
        "`--accel` and `--no-accel` together",
        "One asks for a set and the other for none. Name one of the two.",
    ),
    "ATL0121": CodeInfo(
        "a predicate that cannot be read",
        '`cfg(…)` holds one predicate: `key = "value"`, `any(…)`, `all(…)` or `not(…)`.',
    ),
    "ATL0122": CodeInfo(
        "an unknown key in a predicate",
        "The keys are `accelerator`, `os`, `arch` and `compiler`.",
    ),
    "ATL0123": CodeInfo(
        "a value that nothing in the project names",
        "No lane, no source glob and no `accelerators` entry names this accelerator, so the predicate can "
        "never be true. Most often it is a misspelling.",
    ),
}
