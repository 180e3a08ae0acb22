"""Tensors of PyTorch on the processor are arrays; one that cannot be is refused by the argument's name."""

from __future__ import annotations

import importlib.util

import pytest

from unit.boundary.kit import SAXPY, Built, interface, scanned

HEAD = """
import torch
from app import kernels as k
x, o = torch.arange(4, dtype=torch.float32), torch.zeros(4)
def said(*arguments):
    try:
        print(k.app_saxpy(2.0, *arguments))
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    folder = tmp_path_factory.mktemp("torch")
    made = Built(folder, interface(scanned(folder / "cpu", SAXPY)))
    made.module()
    made.root("cpu", SAXPY)
    return made


def test_tensors_are_read_and_written_in_place(built: Built) -> None:
    code = """
said(x, x, o)
print(o.tolist())
whole = torch.arange(8, dtype=torch.float32)
said(whole[2:6], x, o)
print(o.tolist())
y = torch.zeros(2, 4)
said(x, x, y[1])
print(y.tolist())
said(torch.zeros(0), torch.zeros(0), torch.zeros(0))
"""
    assert built.run(HEAD + code).splitlines() == [
        "None",
        "[0.0, 3.0, 6.0, 9.0]",
        "None",
        "[4.0, 7.0, 10.0, 13.0]",
        "None",
        "[[0.0, 0.0, 0.0, 0.0], [0.0, 3.0, 6.0, 9.0]]",
        "None",
    ]


REFUSED = [
    ("x, x.double(), o", "TypeError", "y", "has elements float64 where float32 is taken"),
    ("x, x.bfloat16(), o", "TypeError", "y", "has elements `of an unknown type`"),
    ("x, x, torch.zeros(8)[::2]", "ValueError", "out", "is not contiguous in row-major order"),
    ("x, x, torch.zeros(2, 2)", "ValueError", "out", "has 2 dimensions where 1 are taken"),
    ("x, x[:3], o", "ValueError", "y", "has 3 elements in dimension 0 where `x` has 4"),
    ("x, x, torch.zeros(4).requires_grad_()", "TypeError", "out", "gives no tensor: Can't export"),
    ("x, torch.empty(4, device='meta'), o", "TypeError", "y", "gives no tensor: "),
]


@pytest.fixture(scope="module")
def answers(built: Built) -> dict[str, str]:
    """Return what each row's call says; one process for all, since importing PyTorch takes seconds."""
    calls = [f"print({arguments!r}, end=' -> ')\nsaid({arguments})" for arguments, *_ in REFUSED]
    said = built.run(HEAD + "\n".join(calls))
    return dict(line.split(" -> ", 1) for line in said.splitlines() if " -> " in line)


@pytest.mark.parametrize(("arguments", "error", "argument", "text"), REFUSED)
def test_a_tensor_that_does_not_fit_is_refused_by_name(
    answers: dict[str, str], arguments: str, error: str, argument: str, text: str
) -> None:
    assert answers[arguments].startswith(f"{error}: app_saxpy: argument `{argument}` {text}")


def test_the_tensor_lives_while_it_is_read_and_is_let_go(built: Built) -> None:
    code = """
import sys
before = sys.getrefcount(x)
for _ in range(1000):
    k.app_saxpy(2.0, x, torch.ones(4), o)
    try: k.app_saxpy(2.0, x, x.double(), o)
    except TypeError: pass
print(sys.getrefcount(x) == before, o.tolist())
"""
    assert built.run(HEAD + code).strip() == "True [1.0, 3.0, 5.0, 7.0]"
