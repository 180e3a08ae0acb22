"""04xx from 0450: measuring files and packing wheels."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0450": CodeInfo(
        "measuring ran past its limits",
        "Files are measured in a child process with limits on memory, processor time and wall time. "
        "This file went past one of them, which honest files do not; nothing of it was believed.",
    ),
    "ATL0451": CodeInfo(
        "the measuring process broke",
        "The child that measures files ended without an answer. Nothing of the file was believed. "
        "This is a fault of Atoll or of an installed reader; please report it with the file.",
    ),
    "ATL0452": CodeInfo(
        "bytes break their own format",
        "A file or a member of it starts like a format that a reader knows and then breaks the rules "
        "of that format: a length of zero, a part that lies outside, entries that overlap. What it "
        "carries is unknown, and unknown is never read as `no constraint`.",
    ),
    "ATL0453": CodeInfo(
        "device code that no reader understands",
        "The file holds device code in a form that no installed reader understands, so what it runs "
        "on is unknown. Install a package that brings a reader for it.",
    ),
    "ATL0454": CodeInfo(
        "a reader failed",
        "A reader raised an error that is no statement about the file. What the member carries is "
        "unknown. Update or remove the package that brings the reader.",
    ),
    "ATL0455": CodeInfo(
        "an archive entry that is refused",
        "An archive names a file outside of itself, holds a link, names one file twice, holds entries "
        "that overlap, or is encrypted. No honest wheel does. Nothing of the archive was believed.",
    ),
    "ATL0456": CodeInfo(
        "an archive grows past its limits",
        "A member inflates to far more bytes than its packed size or its stated size allows: a "
        "decompression bomb, or a broken archive.",
    ),
    "ATL0457": CodeInfo(
        "containers nested too deep",
        "An archive in an archive in an archive: past a fixed depth nothing is opened, and what lies "
        "there is unknown.",
    ),
    "ATL0460": CodeInfo(
        "a wheel cannot be packed with unknown device code",
        "A member of the tree holds device code that no reader understands. A wheel states what it "
        "runs on, and unknown cannot be stated.",
    ),
    "ATL0461": CodeInfo(
        "the declared set is not the measured set",
        "The build declares a set of devices, and the bytes that were built carry another. Either an "
        "architecture was lost on the way, or one slipped in.",
    ),
    "ATL0462": CodeInfo(
        "the module that import loads needs a vendor's library",
        "A Python extension module names a vendor's library among those that the loader must find. On "
        "a machine without it the import itself would fail, and with it the processor's variant.",
    ),
    "ATL0463": CodeInfo(
        "the platform tag does not hold",
        "The manylinux tag follows from the versions of the C library's symbols that the objects use. "
        "A lower tag than that was asked for, or a symbol has no version that a tag can state.",
    ),
    "ATL0464": CodeInfo(
        "a tree that cannot become a wheel",
        "The tree to pack holds a link, a special file, a name that a wheel cannot carry, or nothing.",
    ),
    "ATL0465": CodeInfo(
        "metadata that a wheel cannot carry",
        "Name or version break the rules of the packaging standards, or a licence file is missing.",
    ),
    "ATL0466": CodeInfo(
        "a device that is not known",
        "`--on` takes a device that a driver reaches (`DRIVER:INDEX`), or a spelled one: `DRIVER:ARCH` or "
        "`DRIVER:VERSION`.",
    ),
    "ATL0467": CodeInfo(
        "a link that was not followed",
        "Measuring a folder follows no symbolic links: what a link names is measured where it lies. "
        "What a link outside the folder names was not measured.",
    ),
    "ATL0468": CodeInfo(
        "nothing to ship",
        "`atoll pack` ships the targets of kind `python` as a wheel, or else the libraries of the "
        "project as a "
        "folder, and the project has neither.",
    ),
    "ATL0469": CodeInfo(
        "a folder in the way",
        "`atoll pack` replaces the folder of a library that it wrote itself, and nothing else.",
    ),
    "ATL0470": CodeInfo(
        "a variant that no property names",
        "A variant wheel states its properties in the words that installers ask machines for. No lane "
        "has such words for what this variant was measured to carry, so no installer could choose it.",
    ),
    "ATL0471": CodeInfo(
        "a variant's label that means something else",
        "The label `null` is reserved for the variant without device code, which fits every machine; "
        "every other variant needs another label.",
    ),
    "ATL0472": CodeInfo(
        "no variants to choose among",
        "`atoll pack --variants` writes one wheel for each `[[pack.variant]]` of the manifest; at least one "
        "has to have device code, or installers have nothing to choose by.",
    ),
    "ATL0473": CodeInfo(
        "two forms of one answer",
        "`atoll measure` prints its answer as lines or as JSON, or writes it as a page; `--json` and "
        "`--report` exclude each other.",
    ),
    "ATL0474": CodeInfo(
        "a report that could not be written",
        "The page of `atoll measure --report` could not be written; nothing was left half-written.",
    ),
}
