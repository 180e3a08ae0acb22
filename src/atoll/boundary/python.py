"""What does Python see? One extension module: generated C on the limited API, one file for 3.11 and later.

This module writes the tables (entries, parameters, roots) and one small caller an entry; everything that
is the same in each module stands in the ``python_*.c`` beside it and is pasted behind them, so that the file
is whole.
The stub is :mod:`atoll.boundary.stub`'s matter; what a root exports is :mod:`atoll.boundary.root`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from atoll._util.values import dataclass
from atoll.boundary.cheader import struct_text
from atoll.boundary.interface import HOST_ROOT, Interface, InterfaceEntry, declaration
from atoll.boundary.names import python_safe
from atoll.boundary.scalars import Kind, kind
from atoll.boundary.values import Access, Entry, Parameter, Struct
from atoll.diagnostics import Diagnostic
from atoll.errors import BoundaryError

LIMITED_API = "0x030B0000"
HOST_MEMORY = (1,)
"""The DLPack device types of the processor's memory."""
MOST_MEMORIES = 7
GIVEN = frozenset(("SCALAR", "ARRAY", "STREAM"))
"""The roles that are arguments in Python."""
BODIES = ("python_roots.c", "python_arguments.c", "python_module.c")
SHAPES = ("registry", "link")
STABLE = ".abi3.so"
"""How a module ends that every Python from the limited API's on takes."""


def module_file(interface: Interface, suffix: str = STABLE) -> str:
    """Return the extension module's path in a wheel: ``thread/kernels.abi3.so``, or with another suffix."""
    return f"{interface.module.replace('.', '/')}{suffix}"


def root_file(interface: Interface, root: str) -> str:
    """Return a root's path in a wheel, beside the module: ``thread/_kernels_cpu.so``."""
    *folders, last = interface.segments
    return "/".join([*folders, f"_{last}_{root}.so"])


@dataclass(frozen=True, slots=True)
class Argument:
    """How one C parameter reaches Python.

    Attributes:
        role: ``SCALAR`` and ``ARRAY`` are arguments; ``LENGTH`` is computed from arrays, ``RESULT`` is
            allocated and returned, ``GRID`` comes from ``over=``; ``STREAM`` is an argument, an integer.
        python: Its name in Python.
        element: The C type of one value or element.
    """

    parameter: Parameter
    role: str
    python: str
    element: str


def arguments(entry: Entry) -> tuple[Argument, ...]:
    """Return every parameter of an entry with its part in Python."""
    measured = {
        size
        for item in entry.parameters
        if item.extent and not item.returned
        for size in item.extent.dimensions
    }
    return tuple(
        _stream(item)
        if item.name == entry.stream
        else _argument(item, _over(index, entry.domain), item.name in measured)
        for index, item in enumerate(entry.parameters)
    )


def _over(index: int, domain: int) -> str:
    """Return how a caller writes a size of the domain; nothing for what is none."""
    if index >= domain:
        return ""
    return "over" if domain == 1 else f"over[{index}]"


def _argument(item: Parameter, grid: str, measured: bool) -> Argument:
    pointer = "RESULT" if item.returned else "ARRAY"
    plain = "GRID" if grid else "LENGTH" if measured else "SCALAR"
    element = item.element or item.ctype.removeprefix("const ")
    name = grid or python_safe(item.name)
    return Argument(item, pointer if item.element else plain, name, element)


def _stream(item: Parameter) -> Argument:
    plain = item.ctype.removeprefix("const ")
    return Argument(item, "STREAM", python_safe(item.name), "uintptr_t" if item.element else plain)


def python_faults(interface: Interface) -> tuple[Diagnostic, ...]:
    """Return why entries have no Python form; empty where all have one."""
    return tuple(fault for item in interface.entries for fault in _entry_faults(item.entry))


def _entry_faults(entry: Entry) -> Iterator[Diagnostic]:
    result = entry.result.removeprefix("const ")
    for item in entry.parameters:
        if entry.device_space and item.returned:
            yield _no_form(
                entry,
                f"`{item.name}` is device memory and is returned",
                "what Python allocates is host memory",
                f"leave `out={item.name}` out: the caller hands over the array",
            )
    if result != "void" and kind(result) is None and not _returned(entry):
        yield _no_form(
            entry, f"its result is `{entry.result}`", "a result is a number, a struct of numbers or nothing"
        )
    seen: dict[str, str] = {"over": "`over=`"} if entry.domain else {}
    for argument in arguments(entry):
        yield from _parameter_faults(entry, argument, seen)


def _parameter_faults(entry: Entry, argument: Argument, seen: dict[str, str]) -> Iterator[Diagnostic]:
    item = argument.parameter
    if argument.role == "STREAM":
        if item.element not in ("", "void") or kind(argument.element) not in (Kind.SIGNED, Kind.UNSIGNED):
            yield _no_form(
                entry, f"the stream `{item.name}` is `{item.ctype}`", "a stream is `void *` or an integer"
            )
    elif item.element and item.extent is None:
        yield _no_form(
            entry,
            f"the pointer `{item.name}` has no extent",
            "Python has to know how many elements it reaches",
            f"write `{item.name}[n]` in the clause, `n` being the parameter that is its length",
        )
    elif kind(argument.element) is None and item.struct is None:
        yield _no_form(entry, f"`{item.name}` is `{item.ctype}`", "Python passes numbers and arrays of them")
    if argument.role in ("LENGTH", "RESULT", "GRID"):
        return
    known = seen.setdefault(argument.python, f"`{item.name}`")
    if known != f"`{item.name}`":
        yield _no_form(
            entry, f"`{item.name}` and {known} are both `{argument.python}`", "an argument has one name"
        )


def _no_form(entry: Entry, why: str, rule: str, hint: str | None = None) -> Diagnostic:
    return Diagnostic(
        code="ATL0312",
        message=f"`{entry.name}` has no Python form: {why}",
        span=entry.span,
        notes=(f"declared: {declaration(entry)}", f"rule: {rule}"),
        hint=hint,
    )


def python_source(
    interface: Interface, shape: str = "registry", memories: Mapping[str, Sequence[int]] | None = None
) -> str:
    """Return the C text of the Python extension module.

    Args:
        interface: What :func:`compare` answers.
        shape: ``registry`` opens each root's own file on demand; ``link`` is linked with one root.
        memories: For entries that take device memory, the DLPack device types that each root takes; a
            root that is not named takes none, and the processor's its own.

    Raises:
        BoundaryError: Where an entry has no Python form, every reason at once.
    """
    faults = python_faults(interface)
    if faults:
        raise BoundaryError(*faults)
    if shape not in SHAPES:
        raise ValueError(f"a shape is one of {', '.join(SHAPES)}, not {shape}")
    bodies = [Path(__file__).with_name(name).read_text(encoding="utf-8") for name in BODIES]
    taken = {HOST_ROOT: HOST_MEMORY, **(memories or {})}
    return "\n".join([*_head(interface, shape == "link"), *_tables(interface, taken), *bodies])


def c_string(text: str) -> str:
    """Return a C string literal of UTF-8 text, without trigraphs and over-long escapes."""
    out = []
    for byte in text.encode():
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?'
        out.append(char if plain else "\\n" if char == "\n" else f"\\{byte:03o}")
    return '"' + "".join(out) + '"'


def _head(interface: Interface, linked: bool) -> Iterator[str]:
    items = interface.entries
    ranks = [len(p.extent.dimensions) for i in items for p in i.entry.parameters if p.extent]
    yield f"/* The Python module `{interface.module}`. Generated by atoll; not to be edited. */"
    yield "#include <pyconfig.h>"
    yield "#ifndef Py_GIL_DISABLED /* a free-threaded Python has no limited API */"
    yield f"#define Py_LIMITED_API {LIMITED_API}"
    yield "#endif"
    yield "#define PY_SSIZE_T_CLEAN"
    yield "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE /* dladdr */\n#endif"
    yield "#include <Python.h>"
    for name in ("dlfcn", "limits", "math", "pthread", "stdarg", "stdatomic", "stdbool", "stddef"):
        yield f"#include <{name}.h>"
    yield from ("#include <stdint.h>", "#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>")
    yield "#include <unistd.h>"
    yield '#include "atoll_root.h"'
    yield ""
    yield f"#define ATOLL_MODULE {c_string(interface.module)}"
    yield f"#define ATOLL_MODULE_DOC {c_string(f'The boundary of {interface.package}.')}"
    yield f"#define ATOLL_INIT PyInit_{interface.segments[-1]}"
    yield f"#define ATOLL_PACKAGE {c_string(interface.package)}"
    yield f"#define ATOLL_LINKED {int(linked)}"
    yield f"#define ATOLL_ROOT_COUNT {len(interface.roots)}"
    yield f"#define ATOLL_ROOT_LIST {c_string(', '.join(interface.roots))}"
    yield f"#define ATOLL_ENTRY_COUNT {len(items)}"
    yield f"#define ATOLL_NAMESPACE_COUNT {len(_namespaces(interface))}"
    yield f"#define ATOLL_MOST_PARAMETERS {max([1, *(len(i.entry.parameters) for i in items)])}"
    yield f"#define ATOLL_MOST_RANK {max([1, *ranks])}"
    yield f"#define ATOLL_MOST_FIELDS {max([1, *(len(struct.fields) for struct in interface.structs)])}"
    yield _TYPES
    for struct in interface.structs:
        yield from struct_text(struct)
        rows = [
            f"{{{c_string(name)}, '{kind(ctype)}', sizeof({ctype}), offsetof({struct.name}, {name})}}"
            for name, ctype in struct.fields
        ]
        yield _array(f"const atoll_field atoll_fields_{struct.name}", rows)


_TYPES = """
enum { ATOLL_SCALAR, ATOLL_ARRAY, ATOLL_LENGTH, ATOLL_RESULT, ATOLL_GRID, ATOLL_STREAM };

typedef union atoll_slot {
  long long i;
  unsigned long long u;
  double f;
  void *p;
} atoll_slot;

/* A field of a struct. */
typedef struct atoll_field {
  const char *name;
  char kind;
  size_t size;
  size_t offset;
} atoll_field;

/* A dimension is a positive number, or -(index + 1) of the parameter that is the length. */
typedef struct atoll_parameter {
  const char *name;
  const char *python;
  const char *ctype;
  int role;
  char kind;
  size_t size;
  size_t align;
  int writes;
  int rank;
  long long dimensions[ATOLL_MOST_RANK];
  const atoll_field *fields; /* of the kind 's', a struct */
  unsigned field_count;
} atoll_parameter;

typedef struct atoll_entry {
  const char *name;
  const char *declaration;
  const atoll_parameter *parameters;
  unsigned count;
  const unsigned short *arguments; /* the parameters that are Python arguments, in order */
  unsigned argument_count;
  unsigned grid;
  int device; /* whether arrays are device memory */
  int status;
  char result;
  const atoll_field *fields; /* of the result 's', a struct */
  unsigned field_count;
  void (*invoke)(void (*function)(void), const atoll_slot *in, atoll_slot *out);
} atoll_entry;

typedef struct atoll_namespace {
  int above; /* 0 for the module itself, else the number of a namespace */
  const char *name;
} atoll_namespace;
"""


def _namespaces(interface: Interface) -> dict[tuple[str, ...], int]:
    """Return every namespace with its number, outer ones first; 0 is the module itself."""
    paths = {
        item.entry.namespace[:depth]
        for item in interface.entries
        for depth in range(1, len(item.entry.namespace) + 1)
    }
    return {path: number for number, path in enumerate(sorted(paths), start=1)}


def _tables(interface: Interface, memories: Mapping[str, Sequence[int]]) -> Iterator[str]:
    yield _array("const char *const atoll_root_names", [c_string(name) for name in interface.roots])
    taken = [tuple(memories.get(name, ()))[:MOST_MEMORIES] for name in interface.roots]
    rows = [f"{{{', '.join(map(str, (*types, 0)))}}}" for types in taken]
    yield f"static const int atoll_memories[][{MOST_MEMORIES + 1}] = {{{', '.join(rows)}}};"
    files = [c_string(root_file(interface, name).rpartition("/")[2]) for name in interface.roots]
    yield "#if !ATOLL_LINKED"
    yield _array("const char *const atoll_root_files", files)
    yield "#endif"
    for index, item in enumerate(interface.entries):
        yield from _entry_tables(index, item.entry)
    rows = [_entry_row(index, item.entry) for index, item in enumerate(interface.entries)]
    yield _array("const atoll_entry atoll_entries", rows)
    yield from _methods(interface)


def _array(head: str, rows: list[str]) -> str:
    return f"static {head}[] = {{\n  " + ",\n  ".join(rows) + "\n};"


def _entry_tables(index: int, entry: Entry) -> Iterator[str]:
    given = arguments(entry)
    names = [item.name for item in entry.parameters]
    if given:
        yield _array(
            f"const atoll_parameter atoll_parameters_{index}", [_parameter(item, names) for item in given]
        )
    taken = [str(k) for k, item in enumerate(given) if item.role in GIVEN]
    if taken:
        yield f"static const unsigned short atoll_arguments_{index}[] = {{{', '.join(taken)}}};"
    yield _invoke(index, entry)


def _parameter(argument: Argument, names: list[str]) -> str:
    item, element = argument.parameter, _c(argument.element)
    sizes = [
        size if size.isdigit() else str(-names.index(size) - 1)
        for size in (item.extent.dimensions if item.extent else ())
    ]
    letter = "'s'" if item.struct else f"'{kind(argument.element)}'"
    if not item.element and kind(argument.element) is Kind.CHAR:
        letter = "CHAR_MIN < 0 ? 'i' : 'u'"
    writes = int(bool(item.element) and item.access is Access.WRITE)
    texts = ", ".join(c_string(text) for text in (item.name, argument.python, item.ctype))
    return (
        f"{{{texts}, ATOLL_{argument.role}, {letter}, sizeof({element}), _Alignof({element}), {writes}, "
        f"{len(sizes)}, {{{', '.join(sizes) or '0'}}}, {_fields(item)}}}"
    )


def _fields(item: Parameter) -> str:
    return f"atoll_fields_{item.struct.name}, {len(item.struct.fields)}u" if item.struct else "NULL, 0u"


def _c(ctype: str) -> str:
    return ctype.replace("_Bool", "bool")


_FIELDS = {Kind.SIGNED: "i", Kind.UNSIGNED: "u", Kind.FLOAT: "f", Kind.BOOL: "u", Kind.CHAR: "i"}


def _invoke(index: int, entry: Entry) -> str:
    """Return the function that calls the entry by its own type."""
    types = [_c(item.ctype) for item in entry.parameters]
    values = ", ".join(_passed(item, k) for k, item in enumerate(entry.parameters))
    cast = f"(({_c(entry.result)} (*)({', '.join(types) or 'void'}))function)({values})"
    result = kind(entry.result.removeprefix("const "))
    body = cast if result is None else f"out->{_FIELDS[result]} = {cast}"
    struct = _returned(entry)
    if struct is not None:
        body = f"*({struct.name} *)out->p = {cast}"
    unused = ("" if types else "\n  (void)in;") + ("" if result or struct else "\n  (void)out;")
    return (
        f"static void atoll_invoke_{index}(void (*function)(void), const atoll_slot *in, atoll_slot *out) {{"
        f"{unused}\n  {body};\n}}"
    )


def _returned(entry: Entry) -> Struct | None:
    """Return the struct that an entry returns by value."""
    return None if "*" in entry.result else entry.result_struct


def _passed(item: Parameter, index: int) -> str:
    if item.struct and not item.element:
        return f"*(const {item.struct.name} *)in[{index}].p"
    return f"({_c(item.ctype)})in[{index}].{_field(item)}"


def _field(item: Parameter) -> str:
    if item.element:
        return "p"
    scalar = kind(item.ctype.removeprefix("const "))
    assert scalar is not None
    return _FIELDS[scalar]


def _entry_row(index: int, entry: Entry) -> str:
    given = arguments(entry)
    count = sum(item.role in GIVEN for item in given)
    result = kind(entry.result.removeprefix("const "))
    letter = "v" if result is None or entry.status else "i" if result is Kind.CHAR else str(result)
    struct = _returned(entry)
    fields = f"atoll_fields_{struct.name}, {len(struct.fields)}u" if struct else "NULL, 0u"
    letter = "s" if struct else letter
    return (
        f"{{{c_string(entry.name)}, {c_string(declaration(entry))}, "
        f"{f'atoll_parameters_{index}' if given else 'NULL'}, {len(given)}u, "
        f"{f'atoll_arguments_{index}' if count else 'NULL'}, {count}u, {entry.domain}u, "
        f"{int(entry.device_space)}, {int(entry.status)}, '{letter}', {fields}, atoll_invoke_{index}}}"
    )


def _methods(interface: Interface) -> Iterator[str]:
    spaces = _namespaces(interface)
    rows, places = [], []
    for index, item in enumerate(interface.entries):
        yield (
            f"static PyObject *atoll_call(PyObject *, int, PyObject *const *, Py_ssize_t, PyObject *);\n"
            f"static PyObject *atoll_py_{index}(PyObject *self, PyObject *const *args, Py_ssize_t count, "
            f"PyObject *names) {{\n  return atoll_call(self, {index}, args, count, names);\n}}"
        )
        for name in python_names(item):
            flags = "METH_FASTCALL | METH_KEYWORDS"
            function = f"(PyCFunction)(void (*)(void))atoll_py_{index}"
            rows.append(f"{{{c_string(name)}, {function}, {flags}, {c_string(_doc(name, item))}}}")
            places.append(str(spaces.get(item.entry.namespace, 0)))
    yield _array("PyMethodDef atoll_methods", rows)
    yield f"static const int atoll_method_places[] = {{{', '.join(places)}}};"
    lines = [f"{{{spaces.get(path[:-1], 0)}, {c_string(path[-1])}}}" for path in spaces]
    yield _array("const atoll_namespace atoll_namespaces", lines or ['{0, ""}'])


def python_names(item: InterfaceEntry) -> tuple[str, ...]:
    """Return the names of an entry in Python: the authored one first."""
    return item.names


def signature(entry: Entry) -> str:
    """Return the Python parameter list of an entry."""
    names = [item.python for item in arguments(entry) if item.role in GIVEN]
    return ", ".join([*names, *(["*", "over"] if entry.domain else [])])


def _doc(name: str, item: InterfaceEntry) -> str:
    entry = item.entry
    said = f"{entry.doc}\n\n" if entry.doc else ""
    return f"{name}({signature(entry)})\n--\n\n{said}{declaration(entry)}"
