"""Arrays as the oracle sees them: typed elements, bounds, who touched what.

Two accesses race where they touch one element, at least one writes, not both are atomic, and nothing
orders them: they come from different groups, or from different work-items of one group between the
same two barriers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from atoll.diagnostics import Span
from atoll.ir import BF16, I64, Scalar, View
from atoll.ir.nodes import bits_of, value_of
from atoll.kernels.promote import widens
from atoll.kernels.scalars import Fault, Typed, convert, make
from atoll.kernels.structs import StructType

Site = tuple[str, int]


def line_span(site: Site) -> Span:
    """Return the whole line of a place as a span."""
    import linecache

    text = linecache.getline(site[0], site[1]).rstrip("\n")
    start = len(text) - len(text.lstrip()) + 1
    return Span(
        file=site[0], line=site[1], column=start, end_column=len(text) + 1 if text else None, text=text
    )


@dataclass(frozen=True, slots=True)
class Touch:
    """One access: by whom, between which barriers, where in the source."""

    group: int
    epoch: int
    item: tuple[int, int, int]
    site: Site
    write: bool
    atomic: bool

    def races(self, other: Touch) -> bool:
        """Tell whether two accesses of one element race."""
        if not (self.write or other.write) or (self.atomic and other.atomic):
            return False
        if self.group != other.group:
            return True
        return self.epoch == other.epoch and self.item != other.item


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses that race, the earlier one first."""

    name: str
    index: tuple[int, ...]
    first: Touch
    second: Touch


@dataclass(slots=True)
class Log:
    """The accesses of a launch: for each element a few of each kind, enough to find every kind of race."""

    touched: dict[Any, list[Touch]] = field(default_factory=dict)
    races: dict[tuple[str, Site, Site], Race] = field(default_factory=dict)

    def touch(self, key: object, name: str, index: tuple[int, ...], now: Touch) -> None:
        """Note an access; a race is kept once for each pair of places."""
        before = self.touched.setdefault(key, [])
        for earlier in before:
            if now.races(earlier):
                self.races.setdefault((name, earlier.site, now.site), Race(name, index, earlier, now))
        # An access of the same group before a barrier is ordered with all that follow it there, and
        # of one kind in one stretch two work-items are enough to show any third.
        same = [
            old for old in before if (old.group, old.write, old.atomic) == (now.group, now.write, now.atomic)
        ]
        current = [old for old in same if old.epoch == now.epoch]
        if any(old.item == now.item for old in current) or len(current) >= 2:
            return
        self.touched[key] = [old for old in before if old not in same or old in current] + [now]


class OracleArray:
    """What views and shared arrays have in common; a subclass says where elements lie."""

    name: str
    element: Scalar
    sizes: tuple[int, ...]
    #: Whether no other work-item sees it.
    private = False
    #: Where the kernel makes it, where it does.
    made: Site | None = None

    def where(self) -> tuple[str, ...]:
        """Return a note that says where it is made."""
        return () if self.made is None else (f"`{self.name}` is made at {self.made[0]}:{self.made[1]}",)

    @property
    def size(self) -> Typed:
        """The number of elements (i64)."""
        total = 1
        for size in self.sizes:
            total *= size
        return make(I64, total)

    @property
    def shape(self) -> tuple[Typed, ...]:
        """The number of elements in each dimension (i64)."""
        return tuple(make(I64, size) for size in self.sizes)

    def __len__(self) -> int:
        return self.sizes[0]

    def read(self, index: tuple[int, ...]) -> Typed:
        """Return an element, without a note."""
        raise Fault("ATL0750", f"`{self.name}` cannot be read")

    def write(self, index: tuple[int, ...], value: Any) -> None:
        """Change an element, without a note."""
        raise Fault("ATL0750", f"`{self.name}` cannot be written")

    def key(self, index: tuple[int, ...]) -> object:
        """Return what identifies an element, whatever name it is reached by.

        The array itself is in it: the place of one that is gone is given to the next group's.
        """
        return self, index

    def place(self, index: Any) -> tuple[int, ...]:
        """Return an index as integers within the bounds; a literal may count from the end.

        Raises:
            Fault: Where it leaves the array.
        """
        parts = index if isinstance(index, tuple) else (index,)
        found = []
        for part, size in zip(parts, self.sizes, strict=True):
            value = int(part)
            if value < 0 and not isinstance(part, Typed):
                value += size
            if not 0 <= value < size:
                shown = ", ".join(str(int(item)) for item in parts)
                sizes = " x ".join(map(str, self.sizes))
                message = f"`{self.name}[{shown}]` is out of bounds: it has {sizes} elements"
                raise Fault("ATL0750", message, *self.where())
            found.append(value)
        return tuple(found)

    def __getitem__(self, index: Any) -> Any:
        from atoll.kernels.surface import running

        place = self.place(index)
        if running.item is not None and not self.private:
            running.item.touch(self, place, write=False)
        return self.read(place)

    def __setitem__(self, index: Any, value: Any) -> None:
        from atoll.kernels.surface import running

        place = self.place(index)
        if running.item is not None and not self.private:
            running.item.touch(self, place, write=True)
        self.write(place, self.element_value(value))

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a kernel loops over `range(…)`")

    def element_value(self, value: Any) -> Any:
        """Return a value as an element: a literal that fits, or one that widens exactly."""
        if isinstance(value, Typed) and not widens(value.scalar, self.element):
            raise Fault("ATL0713", f"an element of `{self.name}` is {self.element}, this is {value.scalar}")
        return convert(value, self.element)


class OracleView(OracleArray):
    """A view over a NumPy array."""

    def __init__(self, name: str, view: View, array: Any) -> None:
        self.name, self.element, self.array = name, view.element, array
        self.sizes = tuple(array.shape)
        self.first = int(array.__array_interface__["data"][0])
        #: Whether NumPy has the bits of the elements and not their type.
        self.bits = view.element == BF16 and array.dtype.kind == "u"

    @property
    def strides(self) -> tuple[Typed, ...]:
        """Elements from one index to the next in each dimension (i64)."""
        return tuple(make(I64, stride // self.array.itemsize) for stride in self.array.strides)

    def components(self, struct: StructType) -> tuple[OracleView, ...]:
        """Return an array of vectors as an array of each component."""
        rows = View(self.element, len(self.sizes) - 1)
        return tuple(
            OracleView(f"{self.name}.{name}", rows, self.array[..., at])
            for at, name in enumerate(struct.names)
        )

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.sizes)

    def read(self, index: tuple[int, ...]) -> Typed:
        """Return an element."""
        found = self.array[index].item()
        return make(self.element, value_of(self.element, found) if self.bits else found)

    def write(self, index: tuple[int, ...], value: Any) -> None:
        """Change an element."""
        self.array[index] = bits_of(self.element, value) if self.bits else value

    def key(self, index: tuple[int, ...]) -> object:
        """Return the element's address: arguments may alias."""
        return self.first + sum(part * stride for part, stride in zip(index, self.array.strides, strict=True))


class OracleFixed(OracleArray):
    """An array of one work-item: zeros, one value everywhere, or every value, row after row."""

    private = True

    def __init__(self, element: Scalar, sizes: tuple[int, ...], values: tuple[Any, ...]) -> None:
        self.name, self.element, self.sizes = "array", element, sizes
        places = list(product(*map(range, sizes)))
        given = list(values) if len(values) > 1 else [*values, 0][:1] * len(places)
        plain = [convert(self.element_value(value), element) for value in given]
        self.values = {place: make(element, value) for place, value in zip(places, plain, strict=True)}

    def read(self, index: tuple[int, ...]) -> Typed:
        """Return an element."""
        return self.values[index]

    def write(self, index: tuple[int, ...], value: Any) -> None:
        """Change an element."""
        self.values[index] = make(self.element, value)


class OracleShared(OracleArray):
    """Memory of one work-group; an element has no value until one is written."""

    def __init__(self, name: str, element: Scalar, sizes: tuple[int, ...]) -> None:
        self.name, self.element, self.sizes = name, element, sizes
        self.values: dict[tuple[int, ...], Typed] = {}

    def read(self, index: tuple[int, ...]) -> Typed:
        """Return an element."""
        value = self.values.get(index)
        if value is None:
            shown = ", ".join(map(str, index))
            raise Fault("ATL0753", f"`{self.name}[{shown}]` is read before it is written", *self.where())
        return value

    def write(self, index: tuple[int, ...], value: Any) -> None:
        """Change an element."""
        self.values[index] = make(self.element, value)
