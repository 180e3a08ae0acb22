"""What does SYCL know about its versions? A specification's year serves every earlier one."""

from __future__ import annotations

from atoll.accel.atleast import AtLeastRules


class SyclRules(AtLeastRules):
    """The rules of the backend `sycl`: no version promises SPIR-V, a device has to state it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(format="spirv")
