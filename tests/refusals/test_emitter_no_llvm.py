"""Machine code without llvmlite is refused by name, and so is a text that LLVM does not take."""

from __future__ import annotations

import pytest

from atoll.diagnostics import code_info
from atoll.errors import CompileError
from atoll.plugin import Target
from atoll.testing.programs import programs
from atoll_plugins.hip import code_object
from atoll_plugins.hip.llvmprinter import AmdFunction

TARGET = Target(backend="hip", arch="gfx942")


def refused() -> CompileError:
    saxpy = programs()[0]
    with pytest.raises(CompileError) as caught:
        code_object.CodeObjectEmitter().emit(saxpy.module, saxpy.name, TARGET, saxpy.group)
    assert code_info(caught.value.diagnostics[0].code) is not None
    return caught.value


def test_machine_code_needs_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_object, "installed", lambda: None)
    found = refused().diagnostics[0]
    assert found.code == "ATL0784"
    assert found.notes == ("wanted: llvmlite 0.50 or newer", "found: none")
    assert "atoll[llvm]" in (found.hint or "")


def test_what_llvm_does_not_take_is_said_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite", reason="no llvmlite")
    monkeypatch.setattr(AmdFunction, "text", lambda self: "define void @f() {\n  ret i32 0\n}\n")
    found = refused().diagnostics[0]
    assert found.code == "ATL0785"
    assert "ret" in " ".join(found.notes)


def test_an_architecture_that_llvm_would_not_refuse_is_refused() -> None:
    saxpy = programs()[0]
    with pytest.raises(CompileError) as caught:
        code_object.CodeObjectEmitter().emit(
            saxpy.module, saxpy.name, Target(backend="hip", arch="gfx9999"), saxpy.group
        )
    assert caught.value.diagnostics[0].code == "ATL0781"
