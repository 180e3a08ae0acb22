"""09xx: plugins."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0901": CodeInfo(
        "a plugin could not be loaded",
        "An entry point of one of the five doors names something that does not import, or that "
        "lacks a member of the door's protocol. Reinstall or remove the package that is named.",
    ),
    "ATL0902": CodeInfo(
        "two plugins of one name",
        "Two installed packages register the same name at the same door. Remove one of them.",
    ),
    "ATL0903": CodeInfo(
        "no plugin of that name",
        "The project or the command names a plugin that no installed package registers.",
    ),
    "ATL0904": CodeInfo(
        "a template could not be read",
        "An entry point of `atoll.templates` names a folder that is missing, is empty or holds a file that "
        "is no UTF-8 text. Reinstall or remove the package that is named.",
    ),
}
