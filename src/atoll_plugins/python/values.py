"""What a kernel file holds, as the build needs to know it: plain values that cross a process border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from atoll.boundary import Access, Entry, Extent, Parameter, Struct
from atoll.diagnostics import Diagnostic, Severity, Span
from atoll.ir import Parameter as KirParameter
from atoll.ir import View, accesses, has_barrier
from atoll.kernels.definition import KernelFunction
from atoll.kernels.front.signature import SignedParameter
from atoll.kernels.shapes import rank_of
from atoll.kernels.structs import StructType, StructView
from atoll.kernels.vectors import VecView

#: C types of KIR's scalars; the boundary has no 16-bit float.
CTYPES = {
    "bool": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "f32": "float", "f64": "double",
}  # fmt: skip
#: Names that a C function of ours cannot have: keywords, what the generated file uses, C's own functions.
_C_WORDS = """
auto bool break case char const continue default do double else enum extern false float for goto if
inline int long register restrict return short signed sizeof static struct switch true typedef union
unsigned void volatile while and or not xor main NULL
int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t
atoll_wide_ atoll_floor_ atoll_broken_
atoll_block_ atoll_codes_ atoll_code_ atoll_args_ atoll_launch_ atoll_value_ atoll_text_
abs fabs sqrt exp exp2 log log2 log10 pow sin cos tan asin acos atan sinh cosh tanh floor ceil trunc
round rint fma fmin fmax fmod gamma erf index memcpy memset printf snprintf scanf remove rename
"""
C_WORDS = frozenset(_C_WORDS.split())


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct: its name, its type, and the parameter of KIR that it is."""

    name: str
    type: str
    kir: str


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of a kernel: `rank` 0 is a scalar, or a struct by value.

    Attributes:
        type: A scalar's name, or the struct's.
        kir: The parameter of KIR that it is; empty for a struct, which is one for each field.
        fields: Of a struct, in order.
        components: Of an array of vectors, how many numbers each has: the length of its last dimension.
    """

    name: str
    type: str
    rank: int
    written: bool
    kir: str = ""
    fields: tuple[Field, ...] = ()
    components: int = 0

    @property
    def struct(self) -> Struct | None:
        """The struct that it is in C, or None."""
        if not self.fields:
            return None
        return Struct(self.type, tuple((field.name, CTYPES[field.type]) for field in self.fields))


@dataclass(frozen=True, slots=True)
class Described:
    """One kernel of a file.

    Attributes:
        name: Its base name.
        file / line: Where it is defined.
        rank: How many dimensions its ids use: its caller states as many with ``over=``.
        group: Its launch contract, or zeros.
        waits: Whether it has a barrier.
        params: In order.
        doc: The first line of its docstring.
        requires: The conditions of its launch contract.
    """

    name: str
    file: str
    line: int
    rank: int
    group: tuple[int, int, int]
    waits: bool
    params: tuple[Param, ...]
    doc: str = ""
    requires: tuple[str, ...] = ()

    @classmethod
    def of(cls, function: KernelFunction, file: str) -> Described:
        """Return what the build needs to know of a kernel."""
        compiled = function.compiled()
        kernel = compiled.kernel
        used, rest = accesses(kernel), list(kernel.params)
        params = tuple(_param(item, rest, used) for item in compiled.params)
        return cls(
            name=kernel.name,
            file=file,
            line=kernel.span.line if kernel.span else 1,
            rank=rank_of(kernel),
            group=kernel.group,
            waits=has_barrier(kernel),
            params=params,
            doc=(function.__doc__ or "").strip().split("\n")[0],
            requires=tuple(item.text for item in function.requires),
        )

    @classmethod
    def read(cls, value: dict[str, Any]) -> Described:
        """Return what :func:`dataclasses.asdict` wrote."""
        x, y, z = value["group"]
        params = tuple(
            Param(**{**param, "fields": tuple(Field(**item) for item in param["fields"])})
            for param in value["params"]
        )
        requires = tuple(value["requires"])
        return cls(**{**value, "group": (x, y, z), "params": params, "requires": requires})

    def write(self) -> dict[str, Any]:
        """Return a value that `json` can write."""
        return asdict(self)


def _param(item: SignedParameter, rest: list[KirParameter], used: Mapping[str, str]) -> Param:
    """Return a parameter of the source; what it is in KIR is taken from the front of `rest`."""
    kind = item.type
    if not isinstance(kind, StructType | StructView):
        own = rest.pop(0)
        if isinstance(own.type, View):
            written = used[own.name] != "read"
            parts = len(kind.vec.fields) if isinstance(kind, VecView) else 0
            return Param(own.name, str(own.type.element), own.type.rank, written, own.name, components=parts)
        return Param(own.name, str(own.type), 0, False, own.name)
    struct = kind if isinstance(kind, StructType) else kind.struct
    fields = tuple(Field(name, str(scalar), rest.pop(0).name) for name, scalar in struct.fields)
    written = isinstance(kind, StructView) and any(used[field.kir] != "read" for field in fields)
    return Param(item.name, struct.name, getattr(kind, "rank", 0), written, fields=fields)


def parameters(kernel: Described) -> tuple[Parameter, ...]:
    """Return the parameters of the C entry: the domain, then each scalar, pointer and its sizes."""
    taken: set[str] = set()

    def named(wanted: str) -> str:
        name = wanted
        while name in taken or name in C_WORDS or name == kernel.name:
            name += "_"
        taken.add(name)
        return name

    own = [named(param.name) for param in kernel.params]
    found = [Parameter(name=named(f"domain{axis}"), ctype="uint32_t") for axis in range(kernel.rank)]
    for param, name in zip(kernel.params, own, strict=True):
        ctype = param.type if param.fields else CTYPES[param.type]
        if not param.rank:
            found.append(Parameter(name=name, ctype=ctype, struct=param.struct))
            continue
        free = param.rank - bool(param.components)
        sizes = [named(f"{param.name}_size{axis}") for axis in range(free)]
        fixed = [str(param.components)] if param.components else []
        found.append(
            Parameter(
                name=name,
                ctype=f"{ctype} *" if param.written else f"const {ctype} *",
                element=ctype,
                access=Access.WRITE if param.written else Access.READ,
                extent=Extent(dimensions=(*sizes, *fixed)),
                struct=param.struct,
            )
        )
        found += [Parameter(name=size, ctype="uint64_t") for size in sizes]
    return tuple(found)


def by_kernel_name(kernel: Described, params: Sequence[Parameter]) -> dict[str, Parameter]:
    """Return the C parameter of each kernel parameter, which may have another name in C."""
    sizes = {size for param in params if param.extent for size in param.extent.dimensions}
    own = [param for param in params[kernel.rank :] if param.name not in sizes]
    return {param.name: entry for param, entry in zip(kernel.params, own, strict=True)}


def boundary_entry(kernel: Described, root: str) -> Entry:
    """Return the exported function that a kernel becomes in a root."""
    return Entry(
        name=kernel.name,
        result="int",
        parameters=parameters(kernel),
        root=root,
        status=True,
        domain=kernel.rank,
        span=Span(file=kernel.file, line=kernel.line),
        doc=kernel.doc,
    )


def diagnostic_out(item: Diagnostic) -> dict[str, Any]:
    """Return a diagnostic as a value that `json` can write, whole."""
    return {**asdict(item), "severity": str(item.severity)}


def diagnostic_in(value: dict[str, Any]) -> Diagnostic:
    """Return the diagnostic that :func:`diagnostic_out` wrote."""
    span = None if value["span"] is None else Span(**value["span"])
    severity, notes = Severity(value["severity"]), tuple(value["notes"])
    return Diagnostic(**{**value, "span": span, "severity": severity, "notes": notes})
