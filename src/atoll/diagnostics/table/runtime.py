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
}
