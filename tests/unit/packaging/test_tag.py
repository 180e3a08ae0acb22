"""The platform tag that a wheel may have, held against what other tools compute."""

from __future__ import annotations

import sys

import pytest

from atoll.artifact import Fact
from atoll.errors import UsageError
from atoll.packaging.tag import check_asked, platform, python_tag


def facts(**versions: str) -> list[tuple[str, Fact]]:
    rows = [("a.so", Fact(name="abi.machine", relation="=", value="x86_64"))]
    rows += [
        ("a.so", Fact(name=f"abi.{name}", relation=">=", value=version)) for name, version in versions.items()
    ]
    return rows


def needs(library: str) -> tuple[str, Fact]:
    return "a.so", Fact(name="abi.needed", relation="=", value=library)


@pytest.mark.parametrize(
    ("versions", "tag"),
    [
        ({}, "manylinux_2_5_x86_64"),
        ({"glibc": "2.2.5"}, "manylinux_2_5_x86_64"),
        ({"glibc": "2.14"}, "manylinux_2_14_x86_64"),
        ({"glibc": "2.34"}, "manylinux_2_34_x86_64"),
        ({"glibc": "2.17", "glibcxx": "3.4.30"}, "manylinux_2_35_x86_64"),
        ({"glibc": "2.17", "glibcxx": "3.4.19", "cxxabi": "1.3.7"}, "manylinux_2_17_x86_64"),
        ({"glibc": "2.17", "cxxabi": "1.3.8"}, "manylinux_2_24_x86_64"),
        ({"glibc": "2.36", "gcc": "3.0"}, "manylinux_2_36_x86_64"),
    ],
)
def test_the_tag_follows_from_the_symbol_versions(versions: dict[str, str], tag: str) -> None:
    assert platform(facts(**versions), frozenset()).tag == tag


def test_the_deciding_object_and_symbol_are_named() -> None:
    assert platform(facts(glibc="2.38"), frozenset()).reasons == ("a.so needs GLIBC_2.38",)


def test_without_objects_the_wheel_serves_any_machine() -> None:
    assert platform([], frozenset()).tag == "any"


def test_a_library_that_no_tag_promises_leaves_the_plain_tag() -> None:
    found = platform([*facts(glibc="2.17"), needs("libfoo.so.1")], frozenset())
    assert found.tag == "linux_x86_64"
    assert found.reasons == ("a.so needs libfoo.so.1, which no tag promises",)


def test_a_library_of_the_wheel_itself_is_promised() -> None:
    assert (
        platform([*facts(), needs("libfoo.so.1")], frozenset({"libfoo.so.1"})).tag == "manylinux_2_5_x86_64"
    )


def test_a_symbol_newer_than_every_policy_leaves_the_plain_tag() -> None:
    assert platform(facts(glibcxx="3.4.99"), frozenset()).tag == "linux_x86_64"


@pytest.mark.parametrize("asked", ["manylinux_2_34_x86_64", "manylinux_2_39_x86_64", "linux_x86_64"])
def test_a_tag_that_promises_no_more_holds(asked: str) -> None:
    check_asked(asked, platform(facts(glibc="2.34"), frozenset()))


@pytest.mark.parametrize("asked", ["manylinux_2_17_x86_64", "manylinux_2_34_aarch64", "any", "win_amd64"])
def test_another_tag_is_refused_naming_symbol_and_object(asked: str) -> None:
    with pytest.raises(UsageError, match=r"a\.so needs GLIBC_2\.34"):
        check_asked(asked, platform(facts(glibc="2.34"), frozenset()))


def test_objects_of_two_machines_are_refused() -> None:
    other = ("b.so", Fact(name="abi.machine", relation="=", value="aarch64"))
    with pytest.raises(UsageError, match="several machines"):
        platform([*facts(), other], frozenset())


HERE = "cp{0}{1}-cp{0}{1}".format(*sys.version_info[:2])


@pytest.mark.parametrize(
    ("modules", "tag"),
    [
        (("m/k.abi3.so", "m/j.abi3.so"), "cp311-abi3"),
        (("m/k.cpython-313t-x86_64-linux-gnu.so",), "cp313-cp313t"),
        (("m/k.cpython-314t-aarch64-linux-gnu.so", "m/j.abi3.so"), "cp314-cp314t"),
        (("m/k.cpython-312-x86_64-linux-gnu.so",), "cp312-cp312"),
        (("m/k.cpython-312d-x86_64-linux-gnu.so",), "cp312-cp312d"),
        (("m.abi3/k.so",), HERE),
        (("m/k.so",), HERE),
    ],
)
def test_the_python_follows_from_how_modules_are_called(modules: tuple[str, ...], tag: str) -> None:
    assert python_tag(modules) == tag


def test_modules_of_several_pythons_are_refused_with_each() -> None:
    with pytest.raises(UsageError) as caught:
        python_tag(("a.cpython-313t-x86_64-linux-gnu.so", "b.cpython-313-x86_64-linux-gnu.so", "c.abi3.so"))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("ATL0463", "no platform tag: modules of several Pythons")
    assert found.notes[:2] == (
        "a.cpython-313t-x86_64-linux-gnu.so is for cp313-cp313t",
        "b.cpython-313-x86_64-linux-gnu.so is for cp313-cp313",
    )
