"""ATL0808: a device is required and only the processor is left."""

from __future__ import annotations

import pytest

from atoll.errors import DeviceError
from unit.runtime.test_choose import WITHOUT, choose


def test_a_fallback_to_the_processor_is_an_error() -> None:
    with pytest.raises(DeviceError) as caught:
        choose(WITHOUT, ATOLL_REQUIRE_DEVICE="1")
    assert str(caught.value) == (
        "error[ATL0808]: a device is required and only the processor is left\n"
        "  ATOLL_REQUIRE_DEVICE is set\n"
        "  present: soft:0 (pipe)\n"
        "  present: cpu:0 (A Processor)\n"
        "  fast: libfast.so.1 could not be opened\n"
        "  help: name a device with `ATOLL_DEVICE`, or unset `ATOLL_REQUIRE_DEVICE`"
    )
