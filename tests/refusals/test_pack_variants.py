"""ATL0470, ATL0471, ATL0472: variants that no installer could choose, wrong labels, no variants."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from atoll.accel import AccelSet, BackendRules
from atoll.cli.pack import command
from atoll.errors import UsageError
from atoll.packaging.variants import check_label, labelled
from atoll_plugins.cuda.rules import CudaRules
from atoll_plugins.formats.vulkan_rules import VulkanRules

RULES: dict[str, BackendRules] = {"cuda": CudaRules(), "vulkan": VulkanRules()}


def test_a_backend_without_properties_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        labelled("gpu", AccelSet.parse("vulkan1.2"), (), RULES)
    assert str(caught.value) == (
        "error[ATL0470]: no installer can tell where the variant `gpu` runs\n"
        "  backend: vulkan\n"
        "  reason: its lane states no property of wheels\n"
        "  help: leave the backend out of the variant, or ship one wheel for all (`atoll pack`)"
    )


def test_architectures_that_no_property_names_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        labelled("hopper", AccelSet.parse("cuda13.0+{sm_90a,sm_100f}"), (), RULES)
    assert "  reason: no property names sm_90a, sm_100f\n" in str(caught.value)


@pytest.mark.parametrize(("label", "accel"), [("null", "cuda13.0+{sm_90}"), ("cpu", "")])
def test_null_means_no_device_code_and_nothing_else(label: str, accel: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_label(label, AccelSet.parse(accel))
    assert str(caught.value) == (
        f"error[ATL0471]: the variant `{label}` has a label that means something else\n"
        f"  its accel set: {accel or 'none'}\n"
        "  `null` is the variant without device code\n"
        '  help: label the variant with `accel = ""` as `null`, and no other'
    )


@pytest.mark.parametrize(
    ("tables", "labels"), [("", "none"), ('[[pack.variant]]\nlabel = "null"\naccel = ""\n', "null")]
)
def test_a_manifest_without_variants_to_choose_among_is_refused(
    tables: str, labels: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'[package]\nname = "demo"\nversion = "0.1.0"\n{tables}'
    (tmp_path / "atoll.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(command, ["--variants"])
    assert done.exit_code == 2
    assert done.stderr == (
        "error[ATL0472]: `demo` has no variants to choose among\n"
        f"  manifest: {tmp_path / 'atoll.toml'}\n"
        f"  its variants: {labels}\n"
        "  help: describe one with device code in `[[pack.variant]]`: `label`, `accel`, `features`\n"
    )
    assert not (tmp_path / "dist").exists()
