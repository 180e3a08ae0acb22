"""Kernels are pickled by name, as functions are, so that other processes take them; a copy is the kernel."""

from __future__ import annotations

import copy
import pickle
from typing import TypeVar

import numpy as np
import pytest

import atoll
from atoll import device, f32, kernel, view

T = TypeVar("T")


@device
def twice(v: f32) -> f32:
    return f32(v + v)


@atoll.extern(link="blur.cu")
def blur(v: f32) -> f32: ...  # type: ignore[empty-body]


@kernel
def plain(x: view[f32]) -> None:
    x[0] = twice(x[0])


@kernel(debug=True)
def checked(x: view[f32]) -> None:
    x[0] = 1.0


@kernel
def open_one(x: view[T], by: atoll.const[int]) -> None:
    x[0] = x[0] * by


@pytest.mark.parametrize("item", [twice, blur, plain, checked, open_one])
def test_what_a_module_names_is_the_same_object_after(item: object) -> None:
    assert pickle.loads(pickle.dumps(item)) is item
    assert copy.copy(item) is item
    assert copy.deepcopy([item])[0] is item


def test_a_kernel_that_ran_is_copied_too() -> None:
    x = np.ones(1, np.float32)
    plain.over(1, device="cpu")(x)
    assert x[0] == 2
    assert copy.deepcopy(plain) is plain
    assert pickle.loads(pickle.dumps(plain)) is plain


def test_an_instance_comes_back_as_that_instance() -> None:
    instance = open_one.instance(T=f32, by=3)
    back = pickle.loads(pickle.dumps(instance))
    assert back is instance
    assert copy.deepcopy(instance) is instance


def test_a_kernel_inside_a_function_has_no_name_to_be_found_by() -> None:
    @kernel
    def inner(x: view[f32]) -> None:
        x[0] = 1.0

    with pytest.raises((pickle.PicklingError, AttributeError), match="inner"):
        pickle.dumps(inner)
