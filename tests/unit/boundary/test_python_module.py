# ruff: noqa: E501 - one line a message
"""The Python module: generated C, one file for three Pythons, every argument checked by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atoll.boundary import Entry, Extent, Parameter, Root
from atoll.runtime.sources import include_folder
from unit.boundary.kit import PYTHONS, SAXPY, Built, compiled, driver, interface, scanned

WIDE = """
ATOLL_EXPORT_AS(w[rows][cols], v[cols], out[rows], out=out)
void app_product(const double *w, const double *v, double *out, size_t rows, size_t cols) {
  for (size_t r = 0; r < rows; ++r) {
    out[r] = 0;
    for (size_t c = 0; c < cols; ++c) out[r] += w[r * cols + c] * v[c];
  }
}
ATOLL_EXPORT_AS(x[n], out=x)
void app_ramp(int64_t *x, unsigned char n) { for (unsigned k = 0; k < n; ++k) x[k] = k; }
ATOLL_EXPORT_AS(x[3])
int app_three(const short *x) { return x[0] + x[1] + x[2]; }
ATOLL_EXPORT_AS(x[n])
unsigned long long app_count(const bool *x, size_t n) {
  unsigned long long found = 0;
  for (size_t k = 0; k < n; ++k) found += x[k];
  return found;
}
ATOLL_EXPORT_AS(status)
int app_fail(int code) { return code; }
ATOLL_EXPORT_C float app_half(float x) { return x / 2; }
ATOLL_EXPORT_C bool app_not(bool x) { return !x; }
ATOLL_EXPORT_C signed char app_small(signed char in) { return in; }
ATOLL_EXPORT_C uint64_t app_big(uint64_t lambda) { return lambda; }
ATOLL_EXPORT_C void app_nothing() {}
ATOLL_EXPORT_AS(s[n])
int app_first(const char *s, int n) { return n ? s[0] : -1; }
"""
WAIT = """
ATOLL_EXPORT_AS(flag[n], status)
int app_wait(const int *flag, int n) {
  for (long k = 0; k < 4000000000L; ++k)
    if (n > 0 && *(const volatile int *)flag != 0) return 0;
  return 1;
}
"""
TELL = 'ATOLL_EXPORT_AS(status) int app_tell(int code) { atoll_fail("told"); return code; }'
BLUR = 'ATOLL_EXPORT_C int app_blur(int n) { atoll_ran_on("blur"); return n + 1; }'
KERNEL = Entry(
    name="app_axpy",
    result="int",
    status=True,
    domain=2,
    parameters=(
        Parameter(name="domain0", ctype="uint32_t"),
        Parameter(name="domain1", ctype="uint32_t"),
        Parameter(name="a", ctype="float"),
        Parameter(name="x", ctype="float *", element="float", extent=Extent(dimensions=("x_size0",))),
        Parameter(name="x_size0", ctype="uint64_t"),
    ),
)
AXPY = """
int app_axpy(uint32_t domain0, uint32_t domain1, float a, float *x, uint64_t x_size0) {
  x[0] = a * (float)domain0 + (float)domain1 + (float)x_size0;
  return 0;
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("registry")
    files = {"a.cpp": SAXPY + WIDE + WAIT + TELL, "image/fine/blur.cpp": BLUR}
    cpu = scanned(folder / "src" / "cpu", files)
    cpu = Root(name="cpu", path=cpu.path, entries=(*cpu.entries, KERNEL))
    gpu = scanned(folder / "src" / "gpu", SAXPY)
    soft = scanned(folder / "src" / "soft", SAXPY)
    gone = scanned(folder / "src" / "gone", SAXPY)
    bare = scanned(folder / "src" / "bare", SAXPY)
    made = Built(folder, interface(gpu, soft, gone, bare, cpu, layout_root="cpu", strip_prefix="app_"))
    made.module()
    made.root("cpu", '#include "atoll_launch.h"\n' + SAXPY + WIDE + WAIT + TELL + BLUR + AXPY, version="1")
    failing = SAXPY.replace("by hand", "Soft 1").replace(
        "return 0", 'atoll_fail("it broke"); return a > 5 ? 7 : 0'
    )
    launcher = driver("soft", device="Soft 1", software=1)
    made.root("soft", '#include "atoll_launch.h"\n' + failing, launcher, version="1", driver="soft")
    made.root("gone", SAXPY, driver("gone", missing="there is no such bus"), version="1", driver="gone")
    made.root(
        "bare", SAXPY, driver("bare", device="Bare 1", software=1), entries=(), version="1", driver="bare"
    )
    return made


def said(built: Built, code: str, **environment: str) -> str:
    head = "import array, sys\nfrom app import kernels as k\nF = lambda *v: array.array('f', v)\n"
    return built.run(head + code, **environment).rstrip("\n")


def raised(built: Built, call: str, **environment: str) -> str:
    code = f"try:\n  print(repr({call}))\nexcept Exception as e:\n  print(type(e).__name__ + ': ' + str(e))"
    return said(built, code, **environment)


SAXPY_RUN = "o = F(0, 0, 0, 0)\nk.saxpy(2.0, F(1, 2, 3, 4), F(10, 20, 30, 40), o)\nprint(*o, k.device_name())"


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: path.parts[4])
def test_one_file_answers_on_every_python(built: Built, python: Path) -> None:
    if not python.exists():
        pytest.skip(f"no {python}")
    assert said(built, SAXPY_RUN) == "12.0 24.0 36.0 48.0 by hand"
    head = "import array\nfrom app import kernels as k\nF = lambda *v: array.array('f', v)\n"
    assert built.run(head + SAXPY_RUN, python).strip() == "12.0 24.0 36.0 48.0 by hand"


def test_the_module_needs_nothing_but_the_c_library(built: Built) -> None:
    import io

    from elftools.elf.dynamic import DynamicSection
    from elftools.elf.elffile import ELFFile

    data = (built.package / "kernels.abi3.so").read_bytes()
    dynamic = ELFFile(io.BytesIO(data)).get_section_by_name(".dynamic")
    assert isinstance(dynamic, DynamicSection)
    needed = {vars(tag)["needed"] for tag in dynamic.iter_tags("DT_NEEDED")}
    assert needed <= {"libc.so.6", "libdl.so.2", "libpthread.so.0", "libm.so.6", "ld-linux-x86-64.so.2"}
    assert len(data) < 80_000


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_the_generated_c_is_clean(built: Built, compiler: str) -> None:
    built.module(compiler)
    for root in built.interface.roots[1:]:
        compiled(
            *(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", f"{root}_table.c", "-o", "clean.o"),
            *("-I", include_folder(), "-I", "."),
            where=built.folder,
        )


def test_results_are_allocated_with_and_without_numpy(built: Built) -> None:
    code = "r = k.product(memoryview(array.array('d', range(6))).cast('B').cast('d', (2, 3)), array.array('d', [1, 1, 1]))\nprint(type(r).__name__, list(r))"
    assert said(built, f"sys.modules['numpy'] = None\n{code}") == "memoryview [3.0, 12.0]"
    real = said(built, code, PYTHONPATH=f"{built.folder}:{_numpy()}")
    assert real == "ndarray [np.float64(3.0), np.float64(12.0)]"


def _numpy() -> Path:
    import numpy as np

    return Path(np.__file__).parents[1]


def test_a_length_without_an_array_stays_an_argument(built: Built) -> None:
    assert (
        said(built, "sys.modules['numpy'] = None\nprint(list(k.ramp(3)), list(k.ramp(n=0)))")
        == "[0, 1, 2] []"
    )
    assert (
        raised(built, "k.ramp(256)")
        == "OverflowError: app_ramp: argument `n` is 256, which does not fit unsigned char"
    )


def test_scalars_and_results_keep_their_values(built: Built) -> None:
    code = "print(k.half(3), k.app_not(True), k.small(-128), k.big(2**64 - 1), k.nothing(), k.count(array.array('B', [1, 1]).tobytes() and memoryview(bytes([1, 0, 1])).cast('?')), k.first(b'A'), k.three(array.array('h', [1, 2, 3])))"
    assert said(built, code) == "1.5 False -128 18446744073709551615 None 2 65 6"


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("k.saxpy(2, F(1), F(1))", "TypeError: app_saxpy: argument `out` is missing"),
        ("k.saxpy(2, F(1), F(1), F(1), F(1))", "TypeError: app_saxpy: takes 4 arguments, and 5 are given"),
        ("k.saxpy(2, F(1), F(1), F(1), x=F(1))", "TypeError: app_saxpy: argument `x` is given twice"),
        ("k.saxpy(2, F(1), F(1), z=F(1))", "TypeError: app_saxpy: there is no argument `z`"),
        ("k.saxpy('2', F(1), F(1), F(1))", "TypeError: app_saxpy: argument `a` must be a number, not str"),
        ("k.saxpy(1e39, F(1), F(1), F(1))", "OverflowError: app_saxpy: argument `a` is 1e+39, which does not fit float"),
        ("k.saxpy(2, [1], F(1), F(1))", "TypeError: app_saxpy: argument `x` must be an array of float32, not list"),
        ("k.saxpy(2, array.array('d', [1]), F(1), F(1))",
         "TypeError: app_saxpy: argument `x` has elements float64 where float32 is taken"),
        ("k.saxpy(2, b'1234', F(1), F(1))", "TypeError: app_saxpy: argument `x` has elements uint8 where float32 is taken"),
        ("k.saxpy(2, F(1), F(1, 2), F(1))",
         "ValueError: app_saxpy: argument `y` has 2 elements in dimension 0 where `x` has 1 (both are `n`)"),
        ("k.saxpy(2, F(1), F(1), memoryview(F(1)).toreadonly())",
         "ValueError: app_saxpy: argument `out` is read-only, and the function writes it"),
        ("k.saxpy(2, memoryview(F(1, 2, 3))[::2], F(1, 2), F(1, 2))",
         "ValueError: app_saxpy: argument `x` is not contiguous in row-major order"),
        ("k.saxpy(2, memoryview(bytearray(9))[1:].cast('f'), F(1, 2), F(1, 2))",
         "ValueError: app_saxpy: argument `x` is not aligned to 4 bytes"),
        ("k.product(array.array('d', [1]), array.array('d', [1]))",
         "ValueError: app_product: argument `w` has 1 dimensions where 2 are taken"),
        ("k.three(array.array('h', [1, 2]))",
         "ValueError: app_three: argument `x` has 2 elements in dimension 0 where 3 are taken"),
        ("k.small(128)", "OverflowError: app_small: argument `in_` is 128, which does not fit signed char"),
        ("k.small(in_=1.5)", "TypeError: app_small: argument `in_` must be an integer, not float"),
        ("k.big(-1)", "OverflowError: app_big: argument `lambda_` is -1, which does not fit uint64_t"),
        ("k.big(2**64)", "OverflowError: app_big: argument `lambda_` is 18446744073709551616, which does not fit uint64_t"),
        ("k.app_not(1)", "TypeError: app_not: argument `x` must be a bool, not int"),
        ("k.axpy(1, F(1))", "TypeError: app_axpy: `over=` is missing: the number of work-items, 2 of them"),
        ("k.axpy(1, F(1), over=4)", "TypeError: app_axpy: `over=` has 1 dimensions where 2 are taken"),
        ("k.axpy(1, F(1), over=(2**31, 1))", "OverflowError: app_axpy: argument `over[0]` is 2147483648, more than 2147483647"),
        ("k.axpy(1, F(1), over=(-1, 1))", "OverflowError: app_axpy: argument `over[0]` is -1, which does not fit uint32_t"),
        ("k.saxpy(2, F(1), F(1), F(1), over=1)", "TypeError: app_saxpy: there is no argument `over`"),
    ],
)  # fmt: skip
def test_each_error_names_function_and_argument(built: Built, call: str, error: str) -> None:
    assert raised(built, call) == error


def test_a_grid_reaches_the_first_parameters(built: Built) -> None:
    assert said(built, "x = F(0, 0, 0)\nk.axpy(2, x, over=(10, 5))\nprint(x[0])") == "28.0"


def test_a_status_becomes_an_exception_with_the_last_error(built: Built) -> None:
    code = "try: k.fail(3)\nexcept k.IslandError as e: print(isinstance(e, RuntimeError), e, e.code, e.root)\nk.fail(0)"
    assert said(built, code) == "True app_fail on `cpu` returned 3 3 cpu"
    code = "k.use('soft')\ntry: k.saxpy(6, F(1), F(1), F(0))\nexcept k.IslandError as e: print(e)"
    assert said(built, code) == "app_saxpy on `soft` returned 7: it broke"


def test_an_error_of_an_earlier_call_is_not_said_again(built: Built) -> None:
    code = "for f in (k.tell, k.fail):\n  try: f(1)\n  except k.IslandError as e: print(e)"
    assert said(built, code).splitlines() == [
        "app_tell on `cpu` returned 1: told",
        "app_fail on `cpu` returned 1",
    ]


def test_namespaces_are_modules(built: Built) -> None:
    code = "import app.kernels.image.fine\nfrom app.kernels.image.fine import blur\nprint(k.image.fine.app_blur(1), blur(2), k.device_name())"
    assert said(built, code) == "2 3 blur"


def test_signature_and_documentation_say_what_is_called(built: Built) -> None:
    code = "import inspect\nprint(inspect.signature(k.saxpy), inspect.signature(k.axpy), inspect.signature(k.ramp))\nprint(k.saxpy.__doc__)"
    assert said(built, code) == (
        "(a, x, y, out) (a, x, *, over) (n)\n"
        "int app_saxpy(float a, const float *x, const float *y, float *out, unsigned n)"
    )


def test_the_device_is_what_this_threads_last_call_reported(built: Built) -> None:
    code = """
import threading
print(repr(k.device_name()))
k.image.fine.blur(1)
seen = []
def other():
    seen.append(k.device_name())
    k.half(1)
    seen.append(k.device_name())
    k.saxpy(1, F(1), F(1), F(1))
    seen.append(k.device_name())
t = threading.Thread(target=other); t.start(); t.join()
print(seen, k.device_name())
try: k.saxpy(1)
except TypeError: print(repr(k.device_name()))
"""
    assert said(built, code) == "''\n['', '', 'by hand'] blur\n''"


def test_a_device_array_is_refused_by_name_and_a_host_tensor_is_taken(built: Built) -> None:
    code = """
import numpy as np
class Tensor:
    def __init__(self, array, place=(1, 0)): self.array, self.place = array, place
    def __dlpack__(self): return self.array.__dlpack__()
    def __dlpack_device__(self): return self.place
o = np.zeros(4, 'f4')
x = np.arange(4, dtype='f4')
for k_ in range(1000): k.saxpy(2.0, Tensor(x), Tensor(x), Tensor(o))
print(o, sys.getrefcount(x))
for wrong in (Tensor(x, (2, 0)), Tensor(x.astype('i4')), Tensor(np.zeros((4, 2), 'f4')[:, 0]), Tensor(np.zeros((2, 2), 'f4')), x.astype('>f4'), x.astype('c8'), x.astype('O')):
    try: k.saxpy(2.0, wrong, x, o)
    except Exception as e: print(type(e).__name__, e)
"""
    assert said(built, code, PYTHONPATH=f"{built.folder}:{_numpy()}").splitlines() == [
        "[0. 3. 6. 9.] 2",
        "TypeError app_saxpy: argument `x` lies on a device (DLPack device type 2), and the function takes host memory",
        "TypeError app_saxpy: argument `x` has elements int32 where float32 is taken",
        "ValueError app_saxpy: argument `x` is not contiguous in row-major order",
        "ValueError app_saxpy: argument `x` has 2 dimensions where 1 are taken",
        "TypeError app_saxpy: argument `x` has elements `>f` where float32 is taken",
        "TypeError app_saxpy: argument `x` has elements complex64 where float32 is taken",
        "TypeError app_saxpy: argument `x` has elements `O` where float32 is taken",
    ]


def test_an_array_without_elements_is_taken_wherever_it_lies(built: Built) -> None:
    """The address of Python's empty array is that of a constant in the interpreter, and odd."""
    code = "from array import array\ne = array('f')\nprint(k.saxpy(2.0, e, memoryview(e), e))"
    assert said(built, code) == "None"


def test_a_tensor_starts_at_its_byte_offset(built: Built) -> None:
    """NumPy's tensors have none; PyTorch's slices do."""
    code = """
import ctypes
import numpy as np
x = np.arange(8, dtype='f4')
class Shape(ctypes.Structure):
    _fields_ = [('data', ctypes.c_void_p), ('type', ctypes.c_int32), ('id', ctypes.c_int32), ('rank', ctypes.c_int32),
                ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16),
                ('shape', ctypes.POINTER(ctypes.c_int64)), ('strides', ctypes.POINTER(ctypes.c_int64)),
                ('offset', ctypes.c_uint64), ('manager', ctypes.c_void_p), ('deleter', ctypes.c_void_p)]
four = (ctypes.c_int64 * 1)(4)
tensor = Shape(x.ctypes.data, 1, 0, 1, 2, 32, 1, four, None, 16, None, None)
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Tensor:
    def __dlpack__(self): return new(ctypes.addressof(tensor), b'dltensor', None)
    def __dlpack_device__(self): return (1, 0)
o = np.zeros(4, 'f4')
k.saxpy(2.0, Tensor(), x[:4].copy(), o)
print(o)
"""
    assert said(built, code, PYTHONPATH=f"{built.folder}:{_numpy()}") == "[ 8. 11. 14. 17.]"


def test_a_root_of_another_package_is_not_taken(tmp_path: Path) -> None:
    other = Built(tmp_path / "other", interface(scanned(tmp_path / "src" / "cpu", SAXPY), package="other"))
    mine = Built(tmp_path / "mine", interface(scanned(tmp_path / "src" / "cpu", SAXPY)))
    mine.module()
    place = mine.package / "_kernels_cpu.so"
    compiled("g++", "-shared", *other.objects("cpu", SAXPY, version="1"), "-o", place, where=tmp_path)
    text = raised(mine, "k.app_saxpy(1, F(1), F(1), F(1))")
    assert "it is the root cpu of other with root ABI" in text
    assert "not cpu of app with root ABI" in text


def test_devices_says_why_a_root_cannot_be_used(built: Built) -> None:
    found = json.loads(said(built, "import json\nprint(json.dumps(k.devices()))"))
    assert list(found) == ["gpu", "soft", "gone", "bare", "cpu"]
    assert found["gpu"].startswith("it is not part of this build: there is no ")
    assert {name: found[name] for name in ("soft", "gone", "bare", "cpu")} == {
        "soft": "",
        "gone": "there is no such bus",
        "bare": "",
        "cpu": "",
    }


def test_the_first_available_root_is_taken_and_a_software_device_only_by_name(built: Built) -> None:
    assert said(built, SAXPY_RUN).endswith("by hand")
    assert said(built, "k.use('soft')\n" + SAXPY_RUN).endswith("Soft 1")
    assert said(built, SAXPY_RUN, ATOLL_DEVICE="soft").endswith("Soft 1")
    assert said(built, SAXPY_RUN, ATOLL_DEVICE="soft:0").endswith("Soft 1")
    assert said(built, SAXPY_RUN, ATOLL_DEVICE="oft 1").endswith("Soft 1")
    assert said(built, "k.use('cpu')\n" + SAXPY_RUN, ATOLL_DEVICE="soft").endswith("by hand")
    assert said(built, "k.use('soft')\nk.use(None)\n" + SAXPY_RUN).endswith("by hand")


@pytest.mark.parametrize(
    ("call", "environment", "error"),
    [
        ("k.use('gone')", {}, "RootUnavailableError: app.kernels: the root `gone` is not available: there is no such bus"),
        ("k.use('nine')", {}, "ValueError: app.kernels has no root 'nine'; its roots are gpu, soft, gone, bare, cpu"),
        ("k.use(1)", {}, "TypeError: use: the root is named by a str, or None for the first available"),
        ("k.half(1)", {"ATOLL_DEVICE": "gone"},
         "RootUnavailableError: app.kernels: the root `gone` is not available: there is no such bus"),
        ("k.half(1)", {"ATOLL_DEVICE": "soft"}, "RootUnavailableError: the root `soft` has no `app_half`"),
    ],
)  # fmt: skip
def test_a_root_that_cannot_run_the_call_says_why(
    built: Built, call: str, environment: dict[str, str], error: str
) -> None:
    assert raised(built, call, **environment) == error


def test_a_fallback_to_the_processor_is_an_error_where_a_device_is_required(built: Built) -> None:
    error = raised(built, "k.half(1)", ATOLL_REQUIRE_DEVICE="1").splitlines()
    assert error[0] == (
        "RootUnavailableError: app.kernels: ATOLL_REQUIRE_DEVICE is set and only the processor is left"
    )
    assert "  gone: there is no such bus" in error
    assert "  soft: a device in software, taken only when named: Soft 1" in error
    assert said(built, "k.use('soft')\n" + SAXPY_RUN, ATOLL_REQUIRE_DEVICE="1").endswith("Soft 1")
    unknown = raised(built, "k.half(1)", ATOLL_DEVICE="nothing").splitlines()
    assert (
        unknown[0] == "RootUnavailableError: app.kernels: ATOLL_DEVICE names no root and no device: nothing"
    )


def test_a_variable_that_names_nothing_is_refused_also_after_use(built: Built) -> None:
    code = "[k.use('soft'), k.half(1)]"
    assert raised(built, code, ATOLL_DEVICE="quux").splitlines()[0] == (
        "RootUnavailableError: app.kernels: ATOLL_DEVICE names no root and no device: quux"
    )
    assert raised(built, code, ATOLL_DEVICE="cpu") == (
        "RootUnavailableError: the root `soft` has no `app_half`"
    )


def test_a_root_of_another_build_is_refused_before_it_reads_arguments(built: Built, tmp_path: Path) -> None:
    old = scanned(tmp_path / "old" / "cpu", SAXPY.replace("unsigned n", "size_t n"))
    stale = Built(tmp_path, interface(old))
    stale.root("cpu", SAXPY.replace("unsigned n", "size_t n"), version="1")
    fresh = Built(tmp_path, interface(scanned(tmp_path / "new" / "cpu", SAXPY)))
    fresh.module()
    assert raised(fresh, "k.app_saxpy(1, F(1), F(1), F(1))").splitlines() == [
        "RootUnavailableError: the root `cpu` has another `app_saxpy`:",
        "  asked   int app_saxpy(float a, const float *x, const float *y, float *out, unsigned n)",
        "  carried int app_saxpy(float a, const float *x, const float *y, float *out, size_t n)",
    ]


def test_a_file_that_is_no_root_says_so(tmp_path: Path) -> None:
    made = Built(tmp_path, interface(scanned(tmp_path / "src" / "cpu", SAXPY)))
    made.module()
    place = made.package / "_kernels_cpu.so"
    place.write_text("not a library")
    assert "it could not be opened: " in raised(made, "k.app_saxpy(1, F(1), F(1), F(1))")
    compiled("gcc", "-shared", "-x", "c", "/dev/null", "-o", place, where=tmp_path)
    assert "is no root: it has no atoll_root_v1" in raised(made, "k.app_saxpy(1, F(1), F(1), F(1))")


def test_one_linked_root_needs_no_file_beside_the_module(tmp_path: Path) -> None:
    made = Built(tmp_path, interface(scanned(tmp_path / "src" / "cpu", SAXPY), strip_prefix="app_"), "link")
    made.module("gcc", *made.objects("cpu", SAXPY, version="1"))
    assert [path.name for path in sorted(made.package.iterdir())] == ["__init__.py", "kernels.abi3.so"]
    assert said(made, SAXPY_RUN) == "12.0 24.0 36.0 48.0 by hand"


def test_threads_call_at_once_while_roots_are_opened(built: Built) -> None:
    code = """
import threading
def work(n):
    for _ in range(300):
        x = F(*[n] * 8); o = F(*[0] * 8)
        k.saxpy(1, x, x, o)
        assert list(o) == [2 * n] * 8, o
        assert k.device_name() == 'by hand'
        k.devices()
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
print('done')
"""
    assert said(built, code) == "done"


def test_other_threads_run_during_a_call(built: Built) -> None:
    code = """
import threading
flag = array.array('i', [0])
t = threading.Thread(target=lambda: flag.__setitem__(0, 1))
sys.setswitchinterval(1000)
threading.Timer(0.05, t.start).start()
k.wait(flag)
print('released')
"""
    assert said(built, code) == "released"


def test_no_call_leaks_references_also_where_it_fails(built: Built) -> None:
    code = """
x, o = F(1, 2), F(0, 0)
before = sys.getrefcount(x), sys.getrefcount(o)
for _ in range(1000):
    k.saxpy(2.0, x, x, out=o)
    for bad in ((2, x, x, b'12345678'), (2, x, F(1), o), ('2', x, x, o)):
        try: k.saxpy(*bad)
        except (TypeError, ValueError): pass
del bad
print(before == (sys.getrefcount(x), sys.getrefcount(o)))
x.append(1)
"""
    assert said(built, code) == "True"


def test_the_cost_of_a_call_is_told(built: Built, tell: object) -> None:
    code = "import timeit\nx = F(1, 2, 3, 4)\no = F(0, 0, 0, 0)\nn = 50000\nprint(min(timeit.repeat(lambda: k.saxpy(2.0, x, x, o), number=n, repeat=3)) / n * 1e6)"
    cost = float(said(built, code))
    assert callable(tell)
    tell(f"one call of a generated module: {cost:.2f} µs")
    assert cost < 10
