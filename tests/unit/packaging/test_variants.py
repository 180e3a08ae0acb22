"""Variant wheels: labels, properties from what was measured, and the file that installers read first."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from atoll.accel import AccelSet, BackendRules, properties
from atoll.artifact import Fact
from atoll.packaging import Metadata, Packed, pack_tree
from atoll.packaging.variants import Labelled, document, labelled, write_index
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.formats.vulkan_rules import VulkanRules
from unit.packaging.binaries import elf, entry, fatbin

RULES: dict[str, BackendRules] = {"cuda": CudaRules(), "vulkan": VulkanRules()}
ABOUT = Metadata(name="demo", version="1.0", license="MIT")
SM90 = {".nv_fatbin": fatbin(entry(2, 90, payload=b"Cuda compilation tools, release 13.0, V13.0.88"))}


def tree(folder: Path, sections: dict[str, bytes] | None = None) -> Path:
    """Return a built tree of one package with one library of these sections."""
    package = folder / "demo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    if sections is not None:
        (package / "lib.so").write_bytes(elf(sections))
    return folder


def packed(folder: Path, label: str, sections: dict[str, bytes] | None, out: Path, declared: str) -> Packed:
    accel = AccelSet.parse(declared)
    asked = Labelled(label=label) if label else None
    return pack_tree(tree(folder, sections), ABOUT, out, declared=accel, rules=RULES, variant=asked)


def said(accel: str, **floors: str) -> dict[str, list[str]]:
    """Return the features that the rules state of a set of one entry."""
    (one,) = AccelSet.parse(accel, floor_words={"cuda": "ptx"})
    known = properties(one, {name.replace("_", "."): value for name, value in floors.items()}, RULES)
    assert known is not None
    return {feature: list(values) for feature, values in known.features.items() if values}


@pytest.mark.parametrize(
    ("accel", "floors", "features"),
    [
        ("cuda13.0+{sm_90}", {}, {"sm_arch": ["90_real"], "cuda_version_lower_bound": ["13.0"]}),
        ("cuda12.8+{sm_80,sm_90a}", {}, {"sm_arch": ["80_real"], "cuda_version_lower_bound": ["12.8"]}),
        (
            "cuda ptx>=80",
            {"ptx_isa": "8.7"},
            {"sm_arch": ["80_virtual"], "cuda_version_lower_bound": ["12.8"]},
        ),
        (
            "cuda13.0 ptx>=80",
            {"ptx_isa": "7.0"},
            {"sm_arch": ["80_virtual"], "cuda_version_lower_bound": ["13.0"]},
        ),
        (
            "cuda ptx>=90",
            {"ptx_isa": "9.7"},
            {"sm_arch": ["90_virtual"], "cuda_version_lower_bound": ["13.7"]},
        ),
        ("cuda+{sm_75}", {}, {"sm_arch": ["75_real"]}),
    ],
)
def test_properties_follow_from_the_measured_set(
    accel: str, floors: dict[str, str], features: dict[str, list[str]]
) -> None:
    assert said(accel, **floors) == features


def test_a_variant_wheel_has_its_label_last_and_says_what_was_measured(tmp_path: Path) -> None:
    one = packed(tmp_path / "a", "cuda_sm90", SM90, tmp_path / "dist", "cuda13.0+{sm_90}")
    assert one.path.name == "demo-1.0-py3-none-manylinux_2_5_x86_64-cuda_sm90.whl"
    assert one.index.artifacts[0].path == one.path.name
    with zipfile.ZipFile(one.path) as archive:
        inside = json.loads(archive.read("demo-1.0.dist-info/variant.json"))
        assert "demo-1.0.dist-info/variant.json" in archive.read("demo-1.0.dist-info/RECORD").decode()
    assert inside["variants"] == {
        "cuda_sm90": {"nvidia": {"sm_arch": ["90_real"], "cuda_version_lower_bound": ["13.0"]}}
    }
    assert list(inside["providers"]) == inside["default-priorities"]["namespace"] == ["nvidia"]


def test_a_wheel_that_is_no_variant_has_no_such_file(tmp_path: Path) -> None:
    one = packed(tmp_path / "a", "", SM90, tmp_path / "dist", "cuda13.0+{sm_90}")
    with zipfile.ZipFile(one.path) as archive:
        assert "demo-1.0.dist-info/variant.json" not in archive.namelist()


def test_the_index_lists_every_variant_in_the_publishers_order(tmp_path: Path) -> None:
    first = packed(tmp_path / "a", "cuda_sm90", SM90, tmp_path / "dist", "cuda13.0+{sm_90}")
    null = packed(tmp_path / "b", "null", None, tmp_path / "dist", "")
    assert first.variant is not None
    assert null.variant == Labelled(label="null")
    path = write_index(ABOUT.stem, (first.variant, null.variant), tmp_path / "dist")
    assert path.name == "demo-1.0-variants.json"
    read = json.loads(path.read_bytes())
    assert list(read["variants"]) == ["cuda_sm90", "null"]
    assert read["variants"]["null"] == {}


def test_the_wheel_without_device_code_lists_the_namespaces_of_the_others(tmp_path: Path) -> None:
    """As `uv` demands of every wheel of a release."""
    others = labelled("cuda_sm90", AccelSet.parse("cuda13.0+{sm_90}"), (), RULES).properties
    asked = Labelled(label="null", beside=others)
    one = pack_tree(tree(tmp_path / "a"), ABOUT, tmp_path / "dist", declared=AccelSet(), variant=asked)
    with zipfile.ZipFile(one.path) as archive:
        inside = json.loads(archive.read("demo-1.0.dist-info/variant.json"))
    assert inside["default-priorities"] == {"namespace": ["nvidia"]}
    assert inside["variants"] == {"null": {}}


def test_equal_variants_are_equal_bytes(tmp_path: Path) -> None:
    wheels = [
        packed(tmp_path / name, "cuda_sm90", SM90, tmp_path / f"dist-{name}", "cuda13.0+{sm_90}").path
        for name in "ab"
    ]
    assert wheels[0].read_bytes() == wheels[1].read_bytes()


def test_the_documents_are_read_by_the_authors_own_library(tmp_path: Path) -> None:
    variantlib = pytest.importorskip("variantlib.variants_json", reason="variantlib is not installed")
    found = labelled("cuda_sm90", AccelSet.parse("cuda13.0+{sm_90}"), (), RULES)
    read = variantlib.VariantsJson(json.loads(document((found, Labelled(label="null")))))
    assert sorted(read.variants) == ["cuda_sm90", "null"]


def test_facts_that_are_no_floors_change_nothing() -> None:
    facts = (Fact(name="needed", relation="=", value="libcuda.so.1"),)
    accel = AccelSet.parse("cuda13.0+{sm_90}")
    assert labelled("x", accel, facts, RULES) == labelled("x", accel, (), RULES)
