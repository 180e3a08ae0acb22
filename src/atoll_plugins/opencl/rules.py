"""What does OpenCL know about its versions? Each serves every earlier one; SPIR-V is optional."""

from __future__ import annotations

from atoll.accel.atleast import AtLeastRules


class OpenClRules(AtLeastRules):
    """The rules of the backend `opencl`: no version promises SPIR-V, a device has to state it."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(format="spirv")
