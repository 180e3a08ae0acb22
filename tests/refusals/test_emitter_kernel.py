"""A kernel that the module does not hold is refused, naming those that it holds."""

from __future__ import annotations

import pytest

from atoll.errors import CompileError
from atoll.plugin import registry
from atoll.testing.programs import programs


@pytest.mark.parametrize("backend", ["cpu", "cuda", "opencl", "vulkan"])
def test_a_name_that_is_not_there(backend: str) -> None:
    emitter = registry().emitters[backend]
    with pytest.raises(CompileError) as caught:
        emitter.emit(programs()[0].module, "saxpi", emitter.target(None), (64, 1, 1))
    (found,) = caught.value.diagnostics
    assert (found.code, found.notes) == ("ATL0783", ("kernels: saxpy",))
