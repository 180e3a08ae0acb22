"""The Vulkan declarations are what the pinned registry gives; nobody edits them by hand."""

from __future__ import annotations

import importlib.util
import lzma
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(scope="module")
def vkgen() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vkgen", TOOLS / "vkgen.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_declarations_are_what_the_registry_gives(vkgen: ModuleType) -> None:
    assert vkgen.OUT.read_text() == vkgen.generate(), "run `python tools/vkgen.py`"


def test_the_declarations_are_what_cffi_and_the_library_take(vkgen: ModuleType) -> None:
    from atoll.runtime.native import declared_functions

    assert set(declared_functions(vkgen.OUT.read_text())) == set(vkgen.COMMANDS)


def test_another_registry_is_refused(
    vkgen: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = lzma.decompress(vkgen.REGISTRY.read_bytes())
    other = tmp_path / "vk.xml.xz"
    other.write_bytes(lzma.compress(text.replace(b"maxPushConstantsSize", b"maxPushConstantSizes"), preset=0))
    vkgen.registry.cache_clear()
    monkeypatch.setattr(vkgen, "REGISTRY", other)
    with pytest.raises(ValueError, match=r"pinned is 243ddf26"):
        vkgen.registry()
    vkgen.registry.cache_clear()


def test_an_alias_is_the_command_that_it_stands_for(vkgen: ModuleType) -> None:
    # Registry 1.4 made a command that was in use into an alias.
    assert vkgen.commands()["vkWaitSemaphoresKHR"] is vkgen.commands()["vkWaitSemaphores"]
