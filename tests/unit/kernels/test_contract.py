"""Launch contracts, and arrays that other libraries made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from atoll.errors import CompileError, LaunchError
from kernel_text import kernel_from

COPY = """def k(n: i32, x: view[f32], out: view[f32, 2]):
    i = atoll.global_id(0)
    if i < n:
        out[0, i] = x[i]
"""


def contracted(condition: object) -> Any:
    return kernel_from(f"@kernel(requires={condition!r})\n{COPY}")


@pytest.mark.parametrize("where", ["oracle", "cpu"])
def test_a_launch_that_keeps_the_contract_runs(where: str) -> None:
    found = contracted(("n <= x.size and n <= out.shape[1]", "0 <= n < 100", "x.size % 4 == 0"))
    x, out = np.arange(8, dtype=np.float32), np.zeros((1, 8), np.float32)
    launch = found.python(8) if where == "oracle" else found.over(8, device="cpu")
    launch(8, x, out)
    assert out[0].tolist() == x.tolist()


@pytest.mark.parametrize("where", ["oracle", "cpu"])
def test_a_broken_contract_is_refused_with_its_values(where: str) -> None:
    found = contracted(("n <= x.size", "n < out.shape[1] * 2"))
    launch = found.python(8) if where == "oracle" else found.over(8, device="cpu")
    with pytest.raises(LaunchError) as caught:
        launch(20, np.zeros(8, np.float32), np.zeros((1, 8), np.float32))
    first, second = caught.value.diagnostics
    assert (first.code, first.message) == ("ATL0761", "`k` has a launch contract that this launch breaks")
    assert set(first.notes) == {"the contract: n <= x.size", "here: n is 20", "here: x.size is 8"}
    assert "here: out.shape is (1, 8)" in second.notes


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("n <=", "reason: it does not parse"),
        ("n", "reason: it compares nothing"),
        ("m <= n", "reason: `m` is no parameter"),
        ("n <= x.strides", "reason: an array has no `strides` here"),
        ("n <= 1.5", "reason: 1.5 is no integer"),
        ("n <= len(x)", "reason: "),
        ("__import__('os').system('true') == 0", "reason: "),
        ("n in x", "reason: `In` has no meaning"),
        ("n <= " + "1+" * 400 + "1", "reason: it does not parse"),
    ],
)
def test_what_is_no_condition_is_refused_when_the_kernel_is_marked(condition: str, reason: str) -> None:
    with pytest.raises(CompileError) as caught:
        contracted(condition)
    said = caught.value.diagnostics[0]
    assert said.code == "ATL0728"
    assert any(note.startswith(reason) for note in said.notes), said.notes


class Foreign:
    """An array of another library: DLPack only, of a stated version and device."""

    def __init__(self, array: Any, *, versioned: bool = True, device: int = 1) -> None:
        self.array, self.versioned, self.device = array, versioned, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **how: Any) -> Any:
        if not self.versioned and how:
            raise TypeError("no such arguments")
        return self.array.__dlpack__(**how)


FILL = "@kernel\ndef k(x: view[f32]):\n    i = atoll.global_id(0)\n    x[i] = f32(i)\n"


@pytest.mark.parametrize("versioned", [True, False])
def test_an_array_by_dlpack_is_written_in_place(versioned: bool) -> None:
    array = np.full(8, -1, np.float32)
    kernel_from(FILL).over(4, device="cpu")(Foreign(array[::2], versioned=versioned))
    assert array.tolist() == [0, -1, 1, -1, 2, -1, 3, -1]


def test_an_array_by_dlpack_that_may_not_be_written_is_refused() -> None:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    with pytest.raises(LaunchError, match="may not be written"):
        kernel_from(FILL).over(4, device="cpu")(Foreign(array))


def test_an_array_of_another_device_is_refused() -> None:
    with pytest.raises(LaunchError, match="DLPack device type 2"):
        kernel_from(FILL).over(4, device="cpu")(Foreign(np.zeros(4, np.float32), device=2))


def test_a_tensor_of_torch_is_written_in_place() -> None:
    torch = pytest.importorskip("torch", reason="no torch")
    tensor = torch.zeros(4)
    kernel_from(FILL).over(4, device="cpu")(tensor)
    assert tensor.tolist() == [0, 1, 2, 3]


def test_an_asynchronous_launch_gives_a_handle_that_is_waited_for() -> None:
    array = np.zeros(4, np.float32)
    handle = kernel_from(FILL).over(4, device="cpu", wait=False)(array)
    assert handle.wait() is handle
    assert handle.wait() is handle
    assert array.tolist() == [0, 1, 2, 3]
