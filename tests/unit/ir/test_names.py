from __future__ import annotations

import hashlib
import itertools

import pytest

from atoll.ir import names


def test_the_hash_is_pinned_because_a_change_orphans_every_artifact() -> None:
    assert hashlib.sha256(b"atoll_ + python").hexdigest()[:8] == names.HASH == "4c624493"
    assert names.PREFIXES == {
        names.Role.KERNEL: "atoll_v1_kernel_4c624493_",
        names.Role.DEVICE: "atoll_v1_device_4c624493_",
        names.Role.DEVICE_EXTERN: "atoll_v1_device_extern_4c624493_",
        names.Role.INSTANTIATE: "atoll_v1_instantiate_4c624493_",
    }


def test_no_prefix_is_a_substring_of_another_one() -> None:
    for one, other in itertools.permutations(names.PREFIXES.values(), 2):
        assert one not in other


@pytest.mark.parametrize("role", names.Role)
@pytest.mark.parametrize("base", ["saxpy", "kernel", "atoll", "a_b"])
@pytest.mark.parametrize("where", ["", "pkg.mod.", "atoll_v1_kernel_4c624493_outer."])
def test_a_base_name_comes_back_bare_or_dotted(role: names.Role, base: str, where: str) -> None:
    name = where + names.symbol(role, base)
    assert names.role_of(name) is role
    assert names.base_name(name) == where + base


def test_only_the_last_segment_makes_an_entry() -> None:
    assert names.is_entry("pkg." + names.kernel_symbol("f"))
    assert not names.is_entry(names.kernel_symbol("f") + ".helper")
    assert not names.is_entry(names.symbol(names.Role.DEVICE, "f"))
    assert not names.is_entry("f")


@pytest.mark.parametrize("name", ["atoll_v1_kernel_x", "atoll_v1_", "atoll_v22_x", names.kernel_symbol("f")])
def test_names_under_the_root_are_reserved(name: str) -> None:
    assert names.is_reserved(name)


@pytest.mark.parametrize("name", ["atoll", "atoll_version", "atoll_v", "my_atoll_v1_x", "saxpy"])
def test_other_names_are_free(name: str) -> None:
    assert not names.is_reserved(name)
