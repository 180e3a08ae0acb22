"""ATL0801: a device that does not exist."""

from __future__ import annotations

import pytest

from atoll.errors import DeviceError
from unit.runtime.test_choose import WITHOUT, choose


def test_what_exists_is_listed_and_the_near_name_is_the_hint() -> None:
    with pytest.raises(DeviceError) as caught:
        choose(WITHOUT, ATOLL_DEVICE="sofd:0")
    assert str(caught.value) == (
        "error[ATL0801]: there is no device `sofd:0`, which ATOLL_DEVICE names\n"
        "  present: soft:0 (pipe)\n"
        "  present: cpu:0 (A Processor)\n"
        "  fast: libfast.so.1 could not be opened\n"
        "  help: did you mean `soft`?"
    )


def test_the_processor_is_never_the_hint() -> None:
    with pytest.raises(DeviceError) as caught:
        choose(WITHOUT, ATOLL_DEVICE="gpu")
    hint = caught.value.diagnostics[0].hint
    assert hint == "name a driver, a driver with an index, or a part of a device's name"


def test_no_driver_at_all_is_said() -> None:
    with pytest.raises(DeviceError, match="no driver is installed"):
        choose(())
