"""Vulkan and OpenCL compare versions as floors, and SPIR-V by what a version promises."""

from __future__ import annotations

import pytest

from atoll.accel import AccelSet, DeviceFacts, Version, links, runs
from atoll_plugins.formats.vulkan_rules import VulkanRules
from atoll_plugins.opencl.rules import OpenClRules

RULES = {"vulkan": VulkanRules(), "opencl": OpenClRules()}


@pytest.mark.parametrize(
    ("have", "asked", "fits"),
    [
        ("vulkan1.1", "vulkan1.2", True),
        ("vulkan1.2", "vulkan1.2", True),
        ("vulkan1.3", "vulkan1.2", False),
        ("vulkan", "vulkan1.2", True),
        ("vulkan1.2+{spirv1.5}", "vulkan1.3+{spirv1.6} floor>=1.4", True),
        ("vulkan1.3+{spirv1.6}", "vulkan1.3+{spirv1.5}", False),
        ("vulkan1.2+{spirv1.3,spirv1.5}", "vulkan1.2+{spirv1.3}", False),
        ("vulkan1.2+{spirv1.3,spirv1.5}", "vulkan1.2+{spirv1.3,spirv1.5}", True),
        ("opencl1.2", "opencl3.0", True),
        ("opencl3.0", "opencl1.2", False),
    ],
)
def test_links(have: str, asked: str, fits: bool) -> None:
    assert bool(links(AccelSet.parse(have), AccelSet.parse(asked), RULES)) == fits


@pytest.mark.parametrize(
    ("have", "backend", "version", "facts", "fits"),
    [
        ("vulkan1.2", "vulkan", "1.3.255", {}, True),
        ("vulkan1.3", "vulkan", "1.2.1", {}, False),
        ("vulkan1.0+{spirv1.6}", "vulkan", "1.3", {}, True),
        ("vulkan1.0+{spirv1.6}", "vulkan", "1.2", {}, False),
        ("vulkan1.0+{spirv1.4}", "vulkan", "1.1", {"spirv": "1.4"}, True),
        ("opencl1.2", "opencl", "3.0", {}, True),
        ("opencl2.0", "opencl", "1.2", {}, False),
        ("opencl1.2+{spirv1.0}", "opencl", "3.0", {}, False),
        ("opencl1.2+{spirv1.0,spirv1.2}", "opencl", "3.0", {"spirv": "1.0"}, False),
        ("opencl1.2+{spirv1.0,spirv1.2}", "opencl", "3.0", {"spirv": "1.2"}, True),
        ("opencl1.2+{spirv1.0}", "opencl", "3.0", {"spirv": "1.2"}, True),
        ("opencl1.2", "vulkan", "1.3", {}, False),
    ],
)
def test_runs(have: str, backend: str, version: str, facts: dict[str, str], fits: bool) -> None:
    device = DeviceFacts(backend=backend, version=Version.parse(version), facts=facts)
    assert bool(runs(AccelSet.parse(have), device, RULES)) == fits


def test_a_format_that_is_no_version_is_refused() -> None:
    (entry,) = AccelSet.parse("vulkan1.2+{spirv}")
    assert VulkanRules().check(entry) == ("`spirv` is no version of spirv", "write `spirv1.0`")
    (entry,) = AccelSet.parse("vulkan1.2+{spirv1.5,other}")
    assert VulkanRules().check(entry) is None
