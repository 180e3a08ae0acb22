"""08xx: launch and run time."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0801": CodeInfo(
        "no such device",
        "The named device does not exist here. A device is named by its driver (`cpu`, or another driver's "
        "name with an index from 0) or by a part of its own name. `atoll device list` prints what exists.",
    ),
    "ATL0802": CodeInfo(
        "a driver reaches no device",
        "The driver's library is missing, too old, or finds nothing. The reason and what to "
        "install are printed; "
        "`atoll doctor` prints them for every driver.",
    ),
    "ATL0803": CodeInfo(
        "a call of the device's interface failed",
        "A function of the vendor's interface returned an error while a launch, a copy or an allocation ran. "
        "The function and what it returned are named; nothing was retried.",
    ),
    "ATL0804": CodeInfo(
        "the device refuses the code",
        "The code could not be loaded: the vendor's compiler refused it, the entry point is not in it, or it "
        "needs something that this device lacks. The compiler's log is printed.",
    ),
    "ATL0805": CodeInfo(
        "the arguments do not fit the kernel",
        "A launch passes each parameter of the kernel once: arrays of the element type and rank "
        "that the kernel "
        "declares, and scalars in the range of their type.",
    ),
    "ATL0806": CodeInfo(
        "the launch has an impossible shape",
        "A grid or a group has a zero or more work-items than a launch can have, a dimension is "
        "above what the "
        "device runs, or the group is not the one that the code was compiled for.",
    ),
    "ATL0807": CodeInfo(
        "the device is closed or lost",
        "The device was closed, belongs to a process that forked afterwards, or failed in a way "
        "that it cannot "
        "recover from. Open it again; what was on it is gone.",
    ),
    "ATL0808": CodeInfo(
        "a device is required and only the processor is left",
        "ATOLL_REQUIRE_DEVICE=1 makes it an error to run on the processor where a device was wanted. Name a "
        "device with ATOLL_DEVICE, or unset ATOLL_REQUIRE_DEVICE.",
    ),
    "ATL0809": CodeInfo(
        "a copy lies outside its buffer",
        "An upload, a download or a launch names a buffer that the device does not have, or bytes "
        "past its end.",
    ),
    "ATL0820": CodeInfo(
        "an array on a device cannot be made or seen so",
        "A view shares its array's buffer, so it is made of elements that lie there in the order asked for; "
        "an array's elements have a type that kernels take; memory that another library owns is copied by "
        "that library.",
    ),
    "ATL0821": CodeInfo(
        "an operand lies on another device",
        "All arrays of a launch, a primitive or a fused expression lie on one device. Nothing is copied "
        "between devices unless it is asked for with `atoll.array(x, device=…)`.",
    ),
    "ATL0822": CodeInfo(
        "a primitive does not take these operands",
        "Shapes, types or an option do not fit the primitive. Both sides are named.",
    ),
    "ATL0823": CodeInfo(
        "a device cannot do this exactly, or at all",
        "The variant or the exactness tier that was asked for needs something the device lacks, or the "
        "device's self-test failed. `atoll.engine.selftest(device)` prints what it tried.",
    ),
    "ATL0824": CodeInfo(
        "a fused expression holds what cannot be fused",
        "`fuse` traces a function of arrays and numbers: arithmetic, comparisons, `where`, the functions of "
        "`atoll.engine.fused`, reductions along the last axis. Python's `if` on a traced value, and "
        "operations outside this list, are refused.",
    ),
    "ATL0825": CodeInfo(
        "the closed world has no such expression",
        "A program with an artifact of fused kernels compiles none at run time. The expression is named: "
        "run the program once with `atoll.engine.fused.record()` so that the artifact holds it.",
    ),
    "ATL0810": CodeInfo(
        "the device has no room",
        "A buffer does not fit in the device's memory or in the budget that it was given. Work in flight was "
        "waited for, what it alone needed was freed, empty blocks were given back; then it was asked once "
        "more. The report says what the pools hold and the largest hole.",
    ),
    "ATL0811": CodeInfo(
        "the device was lost",
        "The device's interface said that the device is lost: it was reset, unplugged or ran a kernel that "
        "it stopped. Nothing more is submitted to it and nothing is tried again. Close it and open it again; "
        "other devices are not touched.",
    ),
    "ATL0812": CodeInfo(
        "work did not finish in time",
        "A launch did not finish in the time that waits are given. It may still run, so the device is given "
        "up as a lost one is.",
    ),
    "ATL0813": CodeInfo(
        "a memory budget that cannot be",
        "`atoll.open(name, budget=…)` takes a whole number of bytes from 1. A process has one of each "
        "device, so it has one budget: a device that is open keeps the one that it was opened with.",
    ),
    "ATL0814": CodeInfo(
        "a buffer larger than a kernel sees",
        "A device states how much of one buffer a kernel reaches (`buffer_bytes` of `atoll device info`); it "
        "may be far less than its memory. Split the array; a launch takes as many arrays as the kernel has "
        "parameters.",
    ),
    "ATL0826": CodeInfo(
        "a file holds no fused kernels",
        "An artifact of fused kernels is read with bounds: its format, each kernel's name and its KIR are "
        "checked before anything is run. Record it again with the version of Atoll that reads it.",
    ),
}
