"""The one refusal text, byte for byte, for each of its subjects."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.accel import AccelSet, DeviceFacts, Version
from atoll.artifact import Abi, BuildRequest, Descriptor, DeviceRequest, Subject, choose, refusal
from atoll.artifact.match import Request
from atoll.diagnostics import render
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.formats.vulkan_rules import VulkanRules
from atoll_plugins.opencl.rules import OpenClRules

GOLDEN = Path(__file__).parents[1] / "golden" / "refusal"
RULES = {"cuda": CudaRules()}
PUBLISHED = (
    Descriptor(abi=Abi.parse("x86_64-linux-gnu"), path="a.a", accel=AccelSet.parse("cuda13.0+{sm_90a}")),
)
BUILD = BuildRequest(
    accel=AccelSet.parse("cuda13.0+{sm_86}"), abi=Abi.parse("x86_64-linux-gnu-gcc12-libstdcxx12-c++20")
)
LOAD = DeviceRequest(
    device=DeviceFacts(backend="cuda", name="NVIDIA A10", arch="sm_86", version=Version((13, 0)))
)


def text(subject: Subject, request: Request, published: tuple[Descriptor, ...] = PUBLISHED) -> str:
    choice = choose(published, request, RULES)
    assert not choice
    return render(refusal(subject, "gpuonly", "0.1.0", request, choice)) + "\n"


@pytest.mark.parametrize("subject", list(Subject))
def test_the_text_of_each_subject_is_the_golden_one(subject: Subject) -> None:
    found = text(subject, LOAD if subject is Subject.LOAD else BUILD)
    assert found == (GOLDEN / f"{subject.name.lower()}.txt").read_text(encoding="utf-8")


def test_the_text_at_build_is_the_one_of_the_specification() -> None:
    assert text(Subject.BUILD, BUILD) == (
        "error[ATL0412]: no prebuilt artifact of `gpuonly` 0.1.0 fits this build\n"
        "  this build asks for   x86_64-linux-gnu-gcc12-libstdcxx12-c++20  accel cuda13.0+{sm_86}\n"
        "  published             x86_64-linux-gnu  accel cuda13.0+{sm_90a}\n"
        "  closest               x86_64-linux-gnu, which differs on\n"
        "    accel               asked sm_86, carried sm_90a\n"
        "  help: name an architecture it carries (--accel), take a variant without device code "
        "(--no-accel), or ask the publisher for one that covers yours\n"
    )


def test_only_the_subject_changes() -> None:
    plain = text(Subject.BUILD, BUILD)
    for subject in (Subject.LINK, Subject.PACK, Subject.WHEEL):
        changed = text(subject, BUILD)
        assert (
            changed.replace(subject.noun, "this build")
            .replace(f"{subject.noun} asks for".ljust(21), "this build asks for  ")
            .splitlines()[2:]
            == plain.splitlines()[2:]
        )


def test_values_start_in_one_column() -> None:
    for line in text(Subject.LOAD, LOAD).splitlines()[1:-1]:
        assert line[23] == " "
        assert line[24] != " "


DECLARED = Descriptor(path="both.whl", accel=AccelSet.parse("vulkan1.2"), declared=("opencl1.2",))
SOURCE = Descriptor(path="source.whl", declared=("opencl1.2",))


def test_what_is_declared_is_never_printed_as_measured() -> None:
    asked = BuildRequest(accel=AccelSet.parse("cuda13.0+{sm_90}"))
    found = text(Subject.BUILD, asked, (DECLARED, SOURCE))
    assert found == (GOLDEN / "declared.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("accel", "carried"),
    [
        ("opencl1.1", "carried opencl1.2 (declared)"),
        ("vulkan1.1", "carried vulkan1.2"),
        ("hip", "carried vulkan, opencl (declared)"),
        ("", "carried vulkan1.2, declared opencl1.2"),
    ],
)
def test_a_difference_says_where_its_carried_side_is_declared(accel: str, carried: str) -> None:
    rules = {"opencl": OpenClRules(), "vulkan": VulkanRules()}
    choice = choose((DECLARED,), BuildRequest(accel=AccelSet.parse(accel)), rules)
    assert [str(each) for each in choice.relations[0].differences] == [
        f"accel: asked {accel or 'none'}, {carried}"
    ]


def test_a_device_is_told_what_is_only_declared() -> None:
    device = DeviceFacts(backend="opencl", name="old", version=Version((1, 1)))
    choice = choose((SOURCE,), DeviceRequest(device=device), {"opencl": OpenClRules()})
    assert [str(each) for each in choice.relations[0].differences] == [
        "accel: asked opencl1.1, carried opencl1.2 (declared)"
    ]


def descriptor(number: int) -> Descriptor:
    return Descriptor(path=f"{number}.a", accel=AccelSet.parse(f"cuda13.0+{{sm_{number}0a}}"))


def test_several_published_ones_are_listed_in_order_and_bounded() -> None:
    many = tuple(descriptor(number) for number in range(9, 22))
    lines = text(Subject.BUILD, BUILD, (*many, descriptor(9))).splitlines()
    assert lines[2] == "  published             9.a  accel cuda13.0+{sm_90a}"
    assert lines[3] == "                        10.a  accel cuda13.0+{sm_100a}"
    assert lines[10] == "                        and 5 more"
    assert lines[11] == "  closest               9.a, which differs on"


def test_the_closest_differs_least_and_an_abi_counts_more_than_a_set() -> None:
    other = Descriptor(abi=Abi.parse("aarch64-linux-gnu"), accel=AccelSet.parse("cuda13.0+{sm_86}"))
    far = Descriptor(path="far.a", accel=AccelSet.parse("vulkan1.2"))
    both = BuildRequest(accel=AccelSet.parse("cuda13.0+{sm_86}, hip"), abi=BUILD.abi)
    assert "closest               x86_64-linux-gnu," in text(
        Subject.BUILD, BUILD, (other, far, *PUBLISHED)[0::2]
    )
    assert "closest               x86_64-linux-gnu," in text(Subject.BUILD, both, (other, *PUBLISHED))


def test_nothing_published_is_said() -> None:
    lines = text(Subject.BUILD, BUILD, ()).splitlines()
    assert lines[2] == "  published             nothing"
    assert lines[3].startswith("  help: ")


def test_unknown_and_none_are_named() -> None:
    unknown = Descriptor(path="u.a", accel=None)
    lines = text(Subject.BUILD, BuildRequest(accel=AccelSet()), (unknown,)).splitlines()
    assert lines[1:5] == [
        "  this build asks for   accel none",
        "  published             u.a  accel unknown",
        "  closest               u.a, which differs on",
        "    accel               asked none, carried unknown",
    ]


def test_a_name_from_a_file_drives_no_terminal() -> None:
    hostile = Descriptor(path="\x1b[31mred", accel=None)
    found = text(Subject.BUILD, BUILD, (hostile,))
    assert "\x1b" not in found
    assert "\\x1b[31mred" in found
