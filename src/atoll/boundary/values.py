"""An exported function as a value, whichever language wrote it."""

from __future__ import annotations

from enum import StrEnum

from atoll._util.values import dataclass, field
from atoll.diagnostics import Span


class Access(StrEnum):
    """Whether a pointer's elements are read or written in place."""

    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """How many elements a pointer reaches: names of length parameters, outermost first, row-major."""

    dimensions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Struct:
    """A struct that an entry takes, laid out as C does: its name, and each field's name and C type.

    `authored` is true where the island's own text defines it, and false where it is generated whole. `place`
    is the header on disk that defines it for the island; empty where its own file does.
    """

    name: str
    fields: tuple[tuple[str, str], ...]
    authored: bool = field(default=False, compare=False)
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter of an entry.

    Attributes:
        name: As the author wrote it.
        ctype: The C type with white space folded, ``const float *`` or ``unsigned``.
        element: For a pointer the C type it points to without `const`; empty for a scalar.
        access: For a pointer, whether the function writes through it.
        extent: For a pointer, its extent where the author states one.
        returned: True where Python allocates and returns it (``out=x`` in the clause).
        struct: The struct that it is, or that it points to; the generated header defines it.
    """

    name: str
    ctype: str
    element: str = ""
    access: Access = Access.READ
    extent: Extent | None = None
    returned: bool = False
    struct: Struct | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One exported function.

    Attributes:
        name: The authored name; it is the symbol, and what a profiler shows.
        result: The C type of the result; ``int`` is a status code only where the clause says so.
        parameters: In order.
        namespace: Segments below the module, from the folders below the layout root.
        root: The root that holds this definition.
        status: True where a nonzero ``int`` result becomes an exception in Python.
        domain: For a compiled Python kernel, the number of grid dimensions its caller states with
            ``over=``: the first `domain` parameters, in order; 0 for an ordinary function.
        device_space: True where the clause says that pointers are device memory.
        stream: The parameter that is the stream, or empty.
        result_struct: The struct that is returned, or that a returned pointer points to.
        span: Where it is defined. No part of equality.
        doc: A comment directly above, for the stub.
    """

    name: str
    result: str
    parameters: tuple[Parameter, ...]
    namespace: tuple[str, ...] = ()
    root: str = ""
    status: bool = False
    domain: int = 0
    device_space: bool = False
    stream: str = ""
    result_struct: Struct | None = None
    span: Span | None = field(default=None, compare=False)
    doc: str = field(default="", compare=False)

    @property
    def structs(self) -> tuple[Struct, ...]:
        """The structs that it takes and returns, in order, each once."""
        found = [*(item.struct for item in self.parameters), self.result_struct]
        return tuple(dict.fromkeys(struct for struct in found if struct is not None))
