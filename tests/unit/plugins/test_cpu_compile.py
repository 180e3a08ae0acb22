"""Kernels compiled for the processor: kept by content, checked when read, and without a cache still made."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.plugin.tools import cache_folder
from atoll_plugins.cpu.compile import (
    CompilationError,
    Compiler,
    compiled,
    find_compiler,
)

TEXT = b"int answer(void) { return 42; }\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "ATOLL_CACHE": str(tmp_path / "cache"), "HOME": str(tmp_path)}


@pytest.fixture
def compiler(environment: dict[str, str]) -> Compiler:
    found = find_compiler(environment)
    if found is None:
        pytest.skip("no C compiler")
    return found


def test_the_same_text_is_compiled_once(compiler: Compiler, environment: dict[str, str]) -> None:
    first = compiled(TEXT, compiler, environment)
    stamp = first.stat().st_mtime_ns
    assert compiled(TEXT, compiler, environment) == first
    assert first.stat().st_mtime_ns == stamp
    assert first.is_relative_to(cache_folder(environment, "cpu"))


def test_text_compiler_and_version_are_the_key(compiler: Compiler, environment: dict[str, str]) -> None:
    paths = {
        compiled(text, tool, environment)
        for text, tool in (
            (TEXT, compiler),
            (TEXT + b"\n", compiler),
            (TEXT, replace(compiler, digest="other")),
            (TEXT, replace(compiler, version="other")),
        )
    }
    assert len(paths) == 4


@pytest.mark.parametrize("damage", ["bytes", "checksum", "no checksum"])
def test_a_damaged_entry_is_compiled_again(
    compiler: Compiler, environment: dict[str, str], damage: str
) -> None:
    library = compiled(TEXT, compiler, environment)
    whole = library.read_bytes()
    checksum = library.with_suffix(".sha256")
    if damage == "bytes":
        library.unlink()  # a new file: the old one may be mapped
        library.write_bytes(whole[:-1] + b"\0x")
    elif damage == "checksum":
        checksum.write_text("0" * 64)
    else:
        checksum.unlink()
    assert compiled(TEXT, compiler, environment) == library
    assert library.read_bytes() == whole


def test_without_a_cache_that_can_be_written_it_is_compiled_all_the_same(
    compiler: Compiler, environment: dict[str, str], tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    library = compiled(TEXT, compiler, {**environment, "ATOLL_CACHE": str(blocked)})
    assert library.read_bytes()[:4] == b"\x7fELF"
    library.unlink()


def test_a_refusal_is_the_compilers_and_leaves_nothing(
    compiler: Compiler, environment: dict[str, str]
) -> None:
    with pytest.raises(CompilationError, match="error: expected"):
        compiled(b"int (\n", compiler, environment)
    assert not list(cache_folder(environment, "cpu").glob("*"))


def test_a_compiler_that_cannot_run_is_said_to(environment: dict[str, str]) -> None:
    gone = Compiler(Path("/nowhere/cc"), "cc 1", "digest")
    with pytest.raises(CompilationError, match="it could not be run"):
        compiled(TEXT, gone, environment)


def test_only_a_compiler_that_answers_is_taken(tmp_path: Path) -> None:
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    assert find_compiler({"PATH": str(tmp_path)}) is None
    speaking = tmp_path / "gcc-99"
    speaking.write_text("#!/bin/sh\necho gcc-99 of a test\n")
    speaking.chmod(0o755)
    found = find_compiler({"PATH": str(tmp_path)})
    assert found is not None
    assert (found.path, found.version) == (speaking, "gcc-99 of a test")


def test_the_cache_folder_is_stated_or_the_users() -> None:
    assert cache_folder({"ATOLL_CACHE": "/a"}, "cpu") == Path("/a/cpu")
    assert cache_folder({}, "cpu").name == "cpu"
    assert "atoll" in str(cache_folder(dict(os.environ), "cpu"))
