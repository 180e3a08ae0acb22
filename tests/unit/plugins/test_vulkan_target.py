"""A device newer than the driver is asked for what the driver speaks, and emitters serve that."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from atoll.accel import DeviceFacts, Version
from atoll.plugin import registry
from atoll_plugins.vulkan.device import VulkanDevice


@pytest.mark.parametrize(
    ("stated", "target"),
    [((1, 1), "1.1"), ((1, 2), "1.2"), ((1, 3), "1.3"), ((1, 4), "1.3"), ((2, 0), "1.3")],
)
def test_the_target_is_no_newer_than_the_instance(stated: tuple[int, int], target: str) -> None:
    facts = DeviceFacts(backend="vulkan", version=Version(stated))
    device: Any = SimpleNamespace(info=SimpleNamespace(facts=facts))
    found = VulkanDevice.target(cast("VulkanDevice", device))
    assert (found.backend, found.version) == ("vulkan", target)
    assert registry().emitters["vulkan"].backend == "vulkan"
