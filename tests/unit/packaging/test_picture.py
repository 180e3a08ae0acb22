"""The page of `measure --report`: what is in it, and that hostile names stay text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from atoll.cli.measure import command
from atoll.packaging import report
from atoll.packaging.picture import page, plain
from unit.packaging.binaries import elf, entry, fatbin, put, spirv, zipped

NAMES = ('<script>alert("x")</script>', "a&b", "\x1b[31mred", "\u202eevil", "'quote\"", "line\nbreak")


class Texts(HTMLParser):
    """Collects tags, attributes and texts; knows which elements must be closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def drawn(path: Path) -> Texts:
    parsed = Texts()
    parsed.feed(page([report(path)]))
    assert parsed.open == []
    return parsed


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    libraries = {
        "p/a.so": elf({".nv_fatbin": fatbin(entry(2, 80), entry(1, 90))}),
        "p/b.so": elf({".nv_fatbin": fatbin(entry(2, 90, flags=0x100011))}),
        "p/c.spv": spirv(),
        "p/d.so": elf({".llvm.offloading": b"\x10\xff\x10\xad" + bytes(60)}),
    }
    return put(tmp_path / "p-1-py3-none-any.whl", zipped(libraries))


def test_libraries_are_rows_and_architectures_columns(wheel: Path) -> None:
    found = drawn(wheel)
    rows = [text for text in found.texts if text.startswith("p/")]
    assert rows == ["p/a.so", "p/b.so", "p/c.spv", "p/d.so"]
    heads = found.texts[found.texts.index("file") : found.texts.index("p/a.so")]
    assert [text for text in heads if text.strip()] == [
        *("file", "cuda", "vulkan", "sm_80", "sm_90a", "floor"),
    ]
    assert "? unknown" in found.texts
    assert "≥ 90" in found.texts


def test_the_page_needs_nothing_but_itself(wheel: Path) -> None:
    text = page([report(wheel)])
    assert "http://" not in text
    assert "https://" not in text
    assert drawn(wheel).tags.isdisjoint({"script", "link", "img", "iframe", "object", "a"})
    assert "default-src 'none'" in text


def test_equal_files_give_equal_pages(wheel: Path) -> None:
    assert page([report(wheel)]) == page([report(wheel)])


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_are_text(name: str, tmp_path: Path) -> None:
    path = put(tmp_path / "p.whl", zipped({f"p/{name.replace('/', '_')}.spv": spirv()}))
    text = page([report(path)])
    found = drawn(path)
    assert "script" not in found.tags
    assert found.attributes <= {
        "lang",
        "charset",
        "http-equiv",
        "content",
        "name",
        "class",
        "colspan",
        "rowspan",
        "scope",
    }
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202a-\u202e]", text)


def test_text_is_spelled_and_escaped() -> None:
    assert plain('<b>"\x1b\u202e') == "&lt;b&gt;&quot;\\x1b\\u202e"


def test_the_command_writes_the_page_and_still_prints_its_lines(wheel: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    done = CliRunner().invoke(command, [str(wheel), "--report", str(out)])
    assert done.exit_code == 2, "a member breaks its format"
    assert out.read_text().startswith("<!doctype html>")
    assert "accel     unknown" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.html", wheel.name]
