"""`space=device` takes arrays where they lie: those of the root that is called, all of one device.

Nothing here has such a device: arrays say that they lie on one, and the function reads the address.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import python_files, python_source
from atoll.plugin import registry
from atoll.plugin.memories import memories
from unit.boundary.kit import Built, driver, interface, one, scanned

ISLAND = """
#include <stdint.h>
static void *last;
ATOLL_EXPORT_AS(x[n], out[n], space=device, stream=s, status)
int app_copy(const float *x, float *out, unsigned n, void *s) {
  for (unsigned i = 0; i < n; ++i) out[i] = x[i];
  last = s;
  atoll_ran_on("by hand");
  return 0;
}
ATOLL_EXPORT_C
uint64_t app_stream(void) { return (uint64_t)(uintptr_t)last; }
ATOLL_EXPORT_AS(x[n])
float app_first(const float *x, unsigned n) { return n ? x[0] : 0; }
"""
FAKE = """
import ctypes, array
from app import kernels
kernels.use("toy")
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32),
                ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
make = ctypes.pythonapi.PyCapsule_New
make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Array:
    def __init__(self, values, type=2, id=0):
        self.values = array.array("f", values)
        self.shape = (ctypes.c_int64 * 1)(len(values))
        self.place, self.told = (type, id), []
        self.tensor = Tensor(self.values.buffer_info()[0], type, id, 1, 2, 32, 1,
                             ctypes.addressof(self.shape), None, 0, None, None)
    def __dlpack_device__(self):
        return self.place
    def __dlpack__(self, **told):
        self.told.append(told)
        return make(ctypes.addressof(self.tensor), b"dltensor", None)
def said(call):
    try:
        print(call())
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
x, out = Array([1, 2, 3]), Array([0, 0, 0])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("device")
    made = interface(*(scanned(folder / name, ISLAND) for name in ("toy", "other", "cpu")))
    built = Built(folder, made, memories={"toy": (2, 13)})
    built.module()
    built.root("toy", ISLAND, driver("toy"), driver="toy")
    built.root("other", ISLAND, driver("other"), driver="other")
    built.root("cpu", ISLAND)
    return built


def test_arrays_are_taken_where_they_lie_and_are_told_the_stream(built: Built) -> None:
    code = """
kernels.copy = kernels.app_copy
print(kernels.app_copy(x, out, 4096), list(out.values), kernels.device_name(), kernels.app_stream())
print(kernels.app_copy(x, out, None), kernels.app_stream(), x.told, out.told)
"""
    assert built.run(FAKE + code).splitlines() == [
        "None [1.0, 2.0, 3.0] by hand 4096",
        "None 0 [{'stream': 4096}, {}] [{'stream': 4096}, {}]",
    ]


TYPE = "lies on a device of DLPack type {}, and the root `{}` takes memory of type {}"
OTHER = "lies on another device (type 2, number 1) than the first array (type 2, number 0)"
LENGTHS = "has 2 elements in dimension 0 where `x` has 3 (both are `n`)"
HOST = "lies on a device (DLPack device type 2), and the function takes host memory"


@pytest.mark.parametrize(
    ("call", "error", "argument", "text"),
    [
        ("app_copy(array.array('f', [1]), out, 0)", "TypeError", "x", TYPE.format(1, "toy", 2)),
        ("app_copy(x, Array([0, 0, 0], 10), 0)", "TypeError", "out", TYPE.format(10, "toy", 2)),
        ("app_copy(x, Array([0, 0, 0], 2, 1), 0)", "ValueError", "out", OTHER),
        ("app_copy(x, Array([0, 0]), 0)", "ValueError", "out", LENGTHS),
        ("app_copy(x, out, 'a')", "TypeError", "s", "must be an integer, not str"),
        ("app_copy(x, out, -1)", "OverflowError", "s", "is -1, which does not fit void *"),
        ("app_copy(x, out)", "TypeError", "s", "is missing"),
        ("app_first(x)", "TypeError", "x", HOST),
    ],
)
def test_an_array_that_lies_elsewhere_is_refused_by_name(
    built: Built, call: str, error: str, argument: str, text: str
) -> None:
    said = built.run(f"{FAKE}said(lambda: kernels.{call})").strip()
    assert said == f"{error}: {call.partition('(')[0]}: argument `{argument}` {text}"


@pytest.mark.parametrize(
    ("second", "error", "text"),
    [
        ("Array([0, 0, 0], 10)", "TypeError", TYPE.format(10, "toy", 2)),
        ("Array([0, 0])", "ValueError", LENGTHS),
    ],
)
def test_a_refusal_outlives_a_tensor_that_python_deletes(
    built: Built, second: str, error: str, text: str
) -> None:
    code = """
gone = []
delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(gone.append)
def owned(given):
    given.tensor.deleter = ctypes.cast(delete, ctypes.c_void_p)
    return given
"""
    code += f"said(lambda: kernels.app_copy(owned(x), owned({second}), 0))\nprint(len(gone))"
    said, deleted = built.run(FAKE + code).splitlines()
    assert said == f"{error}: app_copy: argument `out` {text}"
    assert int(deleted) >= 1


@pytest.mark.parametrize(
    ("root", "text"),
    [
        ("other", "is device memory, and the root `other` does not say which it takes"),
        ("cpu", TYPE.format(2, "cpu", 1)),
    ],
)
def test_the_root_that_is_called_decides(built: Built, root: str, text: str) -> None:
    said = built.run(f"{FAKE}kernels.use('{root}')\nsaid(lambda: kernels.app_copy(x, out, 0))").strip()
    assert said == f"TypeError: app_copy: argument `x` {text}"


def test_the_processors_device_memory_is_its_own(built: Built) -> None:
    code = "kernels.use('cpu')\nout = array.array('f', [0, 0])\n"
    code += "kernels.app_copy(array.array('f', [5, 6]), out, None)\nprint(out.tolist())"
    assert built.run(FAKE + code).strip() == "[5.0, 6.0]"


def test_managed_memory_is_taken_too_and_all_lies_on_one_device(built: Built) -> None:
    code = "a, b = Array([7], 13), Array([0], 13)\nkernels.app_copy(a, b, 0)\nprint(list(b.values))"
    assert built.run(FAKE + code).strip() == "[7.0]"


def test_whose_memory_a_root_takes_is_what_its_driver_states() -> None:
    assert memories(registry().drivers, ("cuda", "vulkan", "cpu", "none")) == {"cuda": (2, 13)}


def test_the_stub_says_what_a_stream_is(built: Built) -> None:
    stub = python_files(built.interface)["app/kernels.pyi"]
    assert "def app_copy(x: _Array, out: _Array, s: int | None) -> None:" in stub


@pytest.mark.parametrize(
    ("clause", "parameters", "why"),
    [
        ("x[n], out=x, space=device", "float *x, int n", "`x` is device memory and is returned"),
        ("x[n], space=device, stream=s", "float *x, int n, double s", "the stream `s` is `double`"),
        ("x[n], space=device, stream=s", "float *x, int n, int *s", "the stream `s` is `int *`"),
    ],
)
def test_what_has_no_python_form_is_named(tmp_path: Path, clause: str, parameters: str, why: str) -> None:
    root = scanned(tmp_path / "cpu", f"ATOLL_EXPORT_AS({clause}) void f({parameters}) {{}}")
    fault = one(lambda: python_source(interface(root)))
    assert fault.message == f"`f` has no Python form: {why}"
