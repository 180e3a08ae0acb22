"""ATL0802: a driver that reaches no device."""

from __future__ import annotations

import pytest

from atoll.errors import DeviceError
from atoll_plugins.cpu.driver import CpuDriver
from atoll_plugins.cuda.driver import CudaDriver
from atoll_plugins.opencl.driver import OpenClDriver
from atoll_plugins.vulkan.driver import VulkanDriver
from unit.runtime.test_choose import WITHOUT, choose


def test_the_reason_and_the_fix_are_given() -> None:
    with pytest.raises(DeviceError) as caught:
        choose(WITHOUT, "fast")
    assert str(caught.value) == (
        "error[ATL0802]: the driver `fast` reaches no device\n"
        "  reason: libfast.so.1 could not be opened\n"
        "  help: buy one"
    )


@pytest.mark.parametrize("kind", [CudaDriver, OpenClDriver, VulkanDriver])
def test_a_missing_library_is_the_reason(kind: type[CudaDriver | OpenClDriver | VulkanDriver]) -> None:
    driver = kind("libnowhere.so.1")
    assert driver.devices() == ()
    missing = driver.unavailable()
    assert missing is not None
    assert missing[0].startswith("libnowhere.so.1 could not be opened: ")
    with pytest.raises(DeviceError) as caught:
        driver.open(0)
    assert caught.value.diagnostics[0].code == "ATL0802"
    assert caught.value.diagnostics[0].hint == missing[1]


@pytest.mark.parametrize("kind", [CudaDriver, OpenClDriver, VulkanDriver])
def test_a_library_of_another_kind_is_the_reason(
    kind: type[CudaDriver | OpenClDriver | VulkanDriver],
) -> None:
    missing = kind("libm.so.6").unavailable()
    assert missing is not None
    assert missing[0].startswith("libm.so.6 has no ")


def test_without_a_compiler_the_processor_is_the_interpreter() -> None:
    driver = CpuDriver({"PATH": "/nowhere"})
    assert [info.name for info in driver.devices()] == ["cpu (interpreter)"]
    assert driver.unavailable() is None
    with pytest.raises(DeviceError, match="ATL080"):
        driver.open(1)
