"""A class made by `atoll._util.values` is what `dataclasses` makes of the same text."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable

# `dataclasses` looks for these words in the module of a class.
from dataclasses import KW_ONLY, InitVar  # noqa: F401
from typing import Any, ClassVar  # noqa: F401

import pytest

from atoll._util import values

TEXT = """
from __future__ import annotations
from typing import ClassVar

@dataclass{how}
class Point:
    '''A point.'''
    limit: ClassVar[int] = 9
    x: int
    y: str = "k"
    many: tuple[int, ...] = ()
    table: dict = field(default_factory=dict, compare=False)
    hidden: int = field(default=3, repr=False, hash=False)
    fixed: list = field(init=False, default_factory=list)
    kept: int = field(init=False, default=7)

    @property
    def twice(self):
        return 2 * self.x
"""
HOWS = [
    "",
    "(frozen=True)",
    "(slots=True)",
    "(frozen=True, slots=True)",
    "(frozen=True, slots=True, kw_only=True)",
    "(frozen=True, slots=True, order=True)",
    "(slots=True, eq=False)",
    "(frozen=True, slots=True, repr=False)",
]


def made(module: Any, how: str, text: str = TEXT) -> Any:
    space = {"dataclass": module.dataclass, "field": module.field, "__name__": __name__}
    exec(text.replace("{how}", how), space)
    return space["Point"]


def said(action: Callable[[], object]) -> object:
    """Return what something gives, or the kind and text of what it raises."""
    try:
        return action()
    except Exception as error:
        return type(error), str(error)


LOOKS: list[Callable[[Any], object]] = [
    lambda cls: repr(cls(x=1)).partition(" object at")[0],
    lambda cls: repr(cls(x=1, y="z", many=(1, 2), table={"a": cls(x=2)})).partition(" object at")[0],
    lambda cls: cls(x=1) == cls(x=1, table={"a": 1}),
    lambda cls: cls(x=1) == cls(x=1, hidden=4),
    lambda cls: cls(x=1) == 1,
    lambda cls: cls(x=1) < cls(x=2),
    lambda cls: cls(x=1) < 3,
    lambda cls: sorted([cls(x=2), cls(x=1)]) == [cls(x=1), cls(x=2)],
    lambda cls: hash(cls(x=1)) == hash(cls(x=1)),
    lambda cls: hash(cls(x=1)) == hash(cls(x=1, hidden=8)),
    lambda cls: cls(1, "b"),
    lambda cls: cls(),
    lambda cls: cls(x=1, z=1),
    lambda cls: cls(x=1, fixed=[]),
    lambda cls: cls(1, x=1),
    lambda cls: cls(1, "b", (), {}, 5, 6),
    lambda cls: cls(1, "b", hidden=4).hidden,
    lambda cls: cls(y="b"),
    lambda cls: setattr(cls(x=1), "x", 2),
    lambda cls: delattr(cls(x=1), "x"),
    lambda cls: (cls(x=1).twice, cls.limit, cls(x=1).kept, cls(x=1).fixed),
    lambda cls: cls(x=1).table is cls(x=1).table,
    lambda cls: cls.__match_args__,
    lambda cls: cls.__doc__,
    lambda cls: getattr(cls, "__slots__", None),
    lambda cls: dataclasses.asdict(cls(x=1)),
    lambda cls: [(item.name, item.type, item.init, item.kw_only) for item in dataclasses.fields(cls)],
    lambda cls: (dataclasses.is_dataclass(cls), dataclasses.is_dataclass(cls(x=1))),
    lambda cls: repr(dataclasses.replace(cls(x=1), x=5)).partition(" object at")[0],
    lambda cls: dataclasses.replace(cls(x=1), kept=5),
    lambda cls: copy.deepcopy(cls(x=1, table={"a": 1})) == cls(x=1),
    lambda cls: cls.__hash__ is None,
    lambda cls: type("Sub", (cls,), {})(x=1) == cls(x=1),
]


def plain(value: object) -> object:
    return repr(value).partition(" object at")[0]


@pytest.mark.parametrize("many", [0, 1, 1000], ids=["compiled", "both", "not compiled"])
@pytest.mark.parametrize("how", HOWS)
def test_it_is_what_dataclasses_makes(how: str, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_MANY", many)
    theirs, ours = made(dataclasses, how), made(values, how)
    for number, look in enumerate(LOOKS):
        expected, found = said(lambda: look(theirs)), said(lambda: look(ours))  # noqa: B023 - at once
        assert plain(found) == plain(expected), number


@pytest.mark.parametrize("how", HOWS)
def test_a_value_is_pickled_and_changed(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls = made(values, how)
    cls.__qualname__ = "Point"
    monkeypatch.setitem(globals(), "Point", cls)
    value = cls(x=1, y="z", table={"a": 1})
    assert repr(pickle.loads(pickle.dumps(value))).partition(" at ")[0] == repr(value).partition(" at ")[0]
    assert values.replace(value, x=5).x == 5
    with pytest.raises(TypeError, match="none"):
        values.replace(value, none=5)
    assert [item.name for item in values.fields(cls)] == [item.name for item in dataclasses.fields(cls)]


def test_the_order_of_fields_is_checked() -> None:
    text = "from __future__ import annotations\n@dataclass\nclass Point:\n    a: int = 1\n    b: int\n"
    expected, found = said(lambda: made(dataclasses, "", text)), said(lambda: made(values, "", text))
    assert found == expected


def test_a_default_that_could_change_is_refused() -> None:
    text = "from __future__ import annotations\n@dataclass\nclass Point:\n    a: list = []\n"
    with pytest.raises(ValueError, match="mutable default"):
        made(values, "", text)


@pytest.mark.parametrize(
    "fields", ["a: InitVar[int]\n    b: int = field(default=2)", "a: int\n    _: KW_ONLY\n    b: int = 2"]
)
def test_what_it_does_not_serve_dataclasses_makes(fields: str) -> None:
    head = "from __future__ import annotations\nfrom dataclasses import InitVar, KW_ONLY\n"
    cls = made(values, "", f"{head}@dataclass\nclass Point:\n    {fields}\n")
    assert cls(1).b == 2
    assert isinstance(vars(cls)["__dataclass_fields__"], dict)


def test_a_class_over_a_class_of_values_has_both_their_fields() -> None:
    base = made(values, "(frozen=True, slots=True)")
    space = {"dataclass": values.dataclass, "Point": base, "__name__": __name__}
    exec("@dataclass(frozen=True, slots=True)\nclass More(Point):\n    z: int = 4\n", space)
    more: Any = space["More"]
    assert (more(1).z, more(1).x, more(1).y) == (4, 1, "k")
    with pytest.raises(dataclasses.FrozenInstanceError):
        more(1).x = 3


def test_a_class_of_values_imports_no_inspect() -> None:
    code = (
        "import sys; from atoll._util.values import dataclass, field, replace\n"
        "A = dataclass(frozen=True, slots=True)(type('A', (), {'__annotations__': {'a': 'int'}}))\n"
        "print(replace(A(1), a=2), sys.modules.keys() & {'dataclasses', 'inspect', 'typing_extensions'})"
    )
    command = [sys.executable, "-I", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{code}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert found.stdout == "A(a=2) set()\n"


def test_a_frozen_value_takes_no_new_name_and_a_class_over_it_does() -> None:
    # `dataclasses` raises a TypeError for the first of them where there are slots (3.11).
    cls = made(values, "(frozen=True, slots=True)")
    with pytest.raises(dataclasses.FrozenInstanceError, match="none"):
        cls(x=1).none = 2
    more = type("More", (cls,), {})(x=1)
    more.none = 2
    assert more.none == 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="'x'"):
        more.x = 2
