"""The forms that a marked declaration may have, and those it may not: one row each, one test each."""

from __future__ import annotations

from pathlib import Path

import pytest

from atoll.boundary import declaration
from unit.boundary.kit import interface, one, refused, scanned

F = "int f(int n)"
BODY = " { return n; }"
ACCEPTED = {
    "plain": (f"ATOLL_EXPORT_C {F}{BODY}", F),
    "on a line of its own": (f"ATOLL_EXPORT_C\n\n{F}\n{BODY}", F),
    "many lines": ("ATOLL_EXPORT_AS(\n  x[n],\n  status\n)\nint\nf(\n  const float *x,\n  int n\n)\n{ }",
                   "int f(const float *x, int n)"),
    "CRLF": (f"// a\r\nATOLL_EXPORT_C\r\n{F}\r\n{BODY}\r\n", F),
    "CRLF in a clause": ("ATOLL_EXPORT_AS(x[n],\r\n y[n])\r\nvoid f(float *x, float *y, int n) {}",
                         "void f(float *x, float *y, int n)"),
    "comments everywhere": ("ATOLL_EXPORT_C /* ( */ int /* { */ f(int /* , */ n // )\n)" + BODY, F),
    "comment in a clause": ("ATOLL_EXPORT_AS(x[n] /* , y[m] */) void f(float *x, int n) {}",
                            "void f(float *x, int n)"),
    "a string before it": (f'const char *s = "ATOLL_EXPORT_C int g() {{";\nATOLL_EXPORT_C {F}{BODY}', F),
    "a string in the body": (f'ATOLL_EXPORT_C {F} {{ const char *s = "}} ATOLL_EXPORT_C ("; return n; }}', F),
    "a raw string": (f'const char *s = R"x(ATOLL_EXPORT_C int g() {{)x";\nATOLL_EXPORT_C {F}{BODY}', F),
    "a character literal": (f"char c = '(';\nATOLL_EXPORT_C {F}{BODY}", F),
    "macros around it": (f"#define A(x) x\n#define B \\\n  A(ATOLL_EXPORT_C)\nATOLL_EXPORT_C {F}{BODY}", F),
    "a macro in the body": (f"ATOLL_EXPORT_C {F} {{ CHECK(n, {{ 1 }}); return n; }}", F),
    "in a branch of the preprocessor": (f"#ifdef FAST\nATOLL_EXPORT_C {F}{BODY}\n#endif", F),
    "a standard attribute": (f"ATOLL_EXPORT_C [[nodiscard]] {F}{BODY}", F),
    "an attribute before the marker": (f"[[nodiscard]] ATOLL_EXPORT_C {F}{BODY}", F),
    "a GNU attribute": (f"ATOLL_EXPORT_C __attribute__((noinline)) {F}{BODY}", F),
    "noexcept": (f"ATOLL_EXPORT_C {F} noexcept{BODY}", F),
    "extern C": (f'extern "C" ATOLL_EXPORT_C {F}{BODY}', F),
    "in a block of extern C": (f'extern "C" {{\nATOLL_EXPORT_C {F}{BODY}\n}}', F),
    "no parameters": ("ATOLL_EXPORT_C int f() { return 0; }", "int f(void)"),
    "void parameters": ("ATOLL_EXPORT_C int f(void) { return 0; }", "int f(void)"),
    "restrict": ("ATOLL_EXPORT_AS(x[3]) void f(float *__restrict__ x) {}", "void f(float *x)"),
    "east const": ("ATOLL_EXPORT_AS(x[3]) void f(float const *x) {}", "void f(const float *x)"),
    "std names": ("ATOLL_EXPORT_C void f(std::size_t n) {}", "void f(size_t n)"),
    "a struct by value": ("struct P { float x, y; };\nATOLL_EXPORT_C void f(P p) {}", "void f(P p)"),
    "a struct as C spells it": ("struct P { int n; };\nATOLL_EXPORT_C void f(struct P p) {}", "void f(P p)"),
    "a struct as result": ("struct P { int n; };\nATOLL_EXPORT_C P f() { return {}; }", "P f(void)"),
    "a typedef of a struct": ("typedef struct P { int n; } P;\nATOLL_EXPORT_C void f(P p) {}", "void f(P p)"),
    "a pointer to a pointer": ("ATOLL_EXPORT_C void f(const double **x) {}", "void f(const double **x)"),
    "a body that does not parse": (f"ATOLL_EXPORT_C {F} {{ broken( ; }}", F),
    "a text that is not UTF-8": (f"// \udcff\nATOLL_EXPORT_C {F}{BODY}", F),
}  # fmt: skip
REFUSED = {
    "a function pointer": ("ATOLL_EXPORT_C int f(int (*g)(int)) { return 0; }", "ATL0304"),
    "a result that is a function pointer": ("ATOLL_EXPORT_C int (*f(int n))(int) { return 0; }", "ATL0301"),
    "a reference": ("ATOLL_EXPORT_C int f(const float &x) { return 0; }", "ATL0304"),
    "an array parameter": ("ATOLL_EXPORT_C int f(float x[4]) { return 0; }", "ATL0304"),
    "a class": ("ATOLL_EXPORT_C int f(std::vector<float> x) { return 0; }", "ATL0304"),
    "a struct that nobody defines": ("ATOLL_EXPORT_C int f(struct P p) { return 0; }", "ATL0304"),
    "a struct with a pointer": ("struct P { int *n; };\nATOLL_EXPORT_C void f(P p) {}", "ATL0304"),
    "a template": ("template <class T>\nATOLL_EXPORT_C int f(T x) { return 0; }", "ATL0305"),
    "a template behind the marker": ("ATOLL_EXPORT_C template <class T> int f(T x) { return 0; }", "ATL0305"),
    "a default": ("ATOLL_EXPORT_C int f(int n = 3) { return n; }", "ATL0305"),
    "a variadic list": ("ATOLL_EXPORT_C int f(int n, ...) { return n; }", "ATL0304"),
    "a parameter without a name": ("ATOLL_EXPORT_C int f(int) { return 0; }", "ATL0305"),
    "a trailing result": ("ATOLL_EXPORT_C auto f(int n) -> int { return n; }", "ATL0305"),
    "a member": ("struct S { ATOLL_EXPORT_C int f() { return 0; } };", "ATL0305"),
    "a namespace": ("namespace n { ATOLL_EXPORT_C int f() { return 0; } }", "ATL0305"),
    "static": (f"ATOLL_EXPORT_C static {F}{BODY}", "ATL0305"),
    "inline": (f"ATOLL_EXPORT_C inline {F}{BODY}", "ATL0305"),
    "a kernel": ("ATOLL_EXPORT_C __global__ void f() {}", "ATL0305"),
    "volatile": ("ATOLL_EXPORT_C int f(volatile int *n) { return 0; }", "ATL0305"),
    "a declaration": (f"ATOLL_EXPORT_C {F};", "ATL0305"),
    "a variable": ("ATOLL_EXPORT_C int n = 3;", "ATL0305"),
    "nothing": ("int g() { return 0; }\nATOLL_EXPORT_C", "ATL0301"),
    "an unclosed list": ("ATOLL_EXPORT_C int f(int n { return n; }", "ATL0301"),
    "an unclosed clause": ("ATOLL_EXPORT_AS(x[n] int f(float *x, int n) { return n; }", "ATL0301"),
    "an unknown macro before the type": (f"ATOLL_EXPORT_C MY_API {F}{BODY}", "ATL0305"),
}


@pytest.mark.parametrize("form", ACCEPTED)
def test_a_form_is_accepted(tmp_path: Path, form: str) -> None:
    text, said = ACCEPTED[form]
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/island.cu").write_bytes(text.encode("utf-8", "surrogateescape"))
    (entry,) = scanned(tmp_path / "cpu", {}).entries
    assert declaration(entry) == said


@pytest.mark.parametrize("form", REFUSED)
def test_a_form_is_refused_with_both_sides(tmp_path: Path, form: str) -> None:
    text, code = REFUSED[form]
    faults = refused(lambda: scanned(tmp_path / "cpu", {"island.cu": text}))
    assert faults[0].code == code
    assert faults[0].notes
    assert faults[0].span is not None


def test_an_overload_is_refused_with_both_declarations(tmp_path: Path) -> None:
    root = scanned(
        tmp_path / "cpu", f"ATOLL_EXPORT_C {F}{BODY}\nATOLL_EXPORT_C int f(float x) {{ return 0; }}"
    )
    fault = one(lambda: interface(root))
    assert (fault.code, len(fault.notes)) == ("ATL0306", 2)
