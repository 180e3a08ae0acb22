"""0780-0789: emitters."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0780": CodeInfo(
        "an operation that the target lacks",
        "The kernel is valid, but the language or the device of this target has no such operation with the "
        "meaning that KIR gives it. Every such place is listed; nothing is replaced by something similar.",
    ),
    "ATL0781": CodeInfo(
        "a target that cannot be emitted for",
        "The emitter does not know the architecture or the version that was asked for, or it is older than "
        "the oldest that it serves.",
    ),
    "ATL0782": CodeInfo(
        "a work-group size that does not serve",
        "Some targets fix the work-group size when code is made, and a kernel with a barrier has one on "
        "every target. Name it in the launch contract (`@kernel(block=256)`) or in the launch.",
    ),
    "ATL0783": CodeInfo(
        "no kernel of that name",
        "The module holds no kernel of the name that was asked for.",
    ),
    "ATL0784": CodeInfo(
        "machine code without its compiler",
        "Machine code for this target is made by LLVM through llvmlite, which is an extra: "
        "`pip install 'atoll[llvm]'`. Text for the same target needs nothing.",
    ),
    "ATL0785": CodeInfo(
        "code that LLVM refused",
        "LLVM did not take what the emitter wrote. That is a fault of Atoll, not of the kernel.",
    ),
    "ATL0786": CodeInfo(
        "a call that this target cannot link",
        "The kernel calls a function marked with `@atoll.extern`, which another source defines. Text for a "
        "vendor's C++ compiler declares it for whoever links; every other code is complete in itself.",
    ),
    "ATL0787": CodeInfo(
        "a fact that a device must meet",
        "The code for this target runs only on devices that have what is named, and a launch elsewhere is "
        "refused before it starts. The place is the first that asks for it.",
    ),
    "ATL0788": CodeInfo(
        "inline code in a language that the target does not take",
        "An implementation of an intrinsic holds assembly, text of a device language or operations of a "
        "binary form. Each stage of a platform takes some of them; the note says which.",
    ),
}
