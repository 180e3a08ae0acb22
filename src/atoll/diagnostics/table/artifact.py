"""04xx up to 0449: descriptors and matching."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0401": CodeInfo(
        "not an ABI tag",
        "A tag is `arch-os-libc-compiler-library-standard`, such as `x86_64-linux-gnu-gcc12-libstdcxx12-"
        "c++20`; the first three parts stand in this order, the others may be missing.",
    ),
    "ATL0402": CodeInfo(
        "not an index of artifacts",
        "An index is JSON: an object with `package`, `version` and a list `artifacts` of descriptors.",
    ),
    "ATL0403": CodeInfo(
        "a descriptor that is not understood",
        "One descriptor of an index is malformed, or of a newer grammar. It counts as unknown or is passed "
        "over; the rest of the index serves.",
    ),
    "ATL0404": CodeInfo(
        "not a fact",
        "A required fact is `name relation value` with one space between, the relation `=` or `>=`.",
    ),
    "ATL0412": CodeInfo(
        "no prebuilt artifact fits",
        "Each published artifact was compared with what was asked: ABI, toolkit, every architecture asked "
        "for. None fits; the closest one is shown with each difference. Name an architecture it carries, "
        "take a variant without device code, or ask the publisher for one that covers yours.",
    ),
    "ATL0413": CodeInfo(
        "a device variant was passed over",
        "A variant without device code is taken although a set was asked for, because none of the variants "
        "with device code fits. The note says why, for each.",
    ),
}
