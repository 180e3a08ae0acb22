"""How is a class of values made without compiling five functions for it? What `dataclasses` does, later.

`dataclasses` compiles each method of a class from text when the module is imported: 0.6 ms a class, and
the engine has hundreds. Here all methods are the same functions for every class; ``__init__`` is compiled
where many values of a class are made. A type checker sees `dataclasses` itself; so does what asks a class
for its fields. What is not served here (``InitVar``, ``KW_ONLY``, a base with fields) is given to
`dataclasses`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter, ge, gt, le, lt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import is_dataclass as is_dataclass
    from dataclasses import replace as replace

_OWN = "_atoll_fields"
_SETTERS = "_atoll_setters"


class _Missing:
    """Stands where a field has no default."""


_MISSING: Any = _Missing()
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class _Field:
    """One field, with the names that `dataclasses.Field` has."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "hash",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "type",
    )

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,  # noqa: A002 - as `dataclasses.field` names it
        hash: bool | None = None,  # noqa: A002
        compare: bool = True,
        metadata: Mapping[str, Any] | None = None,
        kw_only: bool | None = None,
    ) -> None:
        self.name, self.type = "", ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.hash, self.compare = init, repr, hash, compare
        self.metadata = MappingProxyType(metadata) if metadata else _NOTHING
        self.kw_only = kw_only


def _field(**given: Any) -> _Field:
    """Return what `dataclasses.field` returns, for :func:`dataclass` here."""
    return _Field(**given)


def _dataclass(cls: type | None = None, /, **how: bool) -> Any:
    """Make a class of values, as `dataclasses.dataclass` does."""

    def wrap(made: type) -> type:
        return _made(made, how)

    return wrap if cls is None else wrap(cls)


_SERVED = {"frozen", "slots", "kw_only", "eq", "order", "repr"}


def _made(cls: type, how: Mapping[str, bool]) -> type:
    kw_only = how.get("kw_only", False)
    strange = not how.keys() <= _SERVED or any(_has_fields(base) for base in cls.__mro__)
    found = None if strange else _fields_of(cls, kw_only=kw_only)
    if found is None:
        return _theirs(cls, how)
    return _finished(cls, found, how)


def _has_fields(cls: type) -> bool:
    return "__dataclass_fields__" in cls.__dict__


def _theirs(cls: type, how: Mapping[str, bool]) -> type:
    """Give a class to `dataclasses`, with fields that it knows."""
    import dataclasses

    for name, value in list(cls.__dict__.items()):
        if isinstance(value, _Field):
            setattr(cls, name, _their_field(value))
    return dataclasses.dataclass(**how)(cls)


def _their_field(item: _Field) -> Any:
    import dataclasses

    given = {name: getattr(item, name) for name in ("init", "repr", "hash", "compare", "metadata")}
    for name in ("default", "default_factory"):
        if getattr(item, name) is not _MISSING:
            given[name] = getattr(item, name)
    if item.kw_only is not None:
        given["kw_only"] = item.kw_only
    return dataclasses.field(**given)


def _fields_of(cls: type, *, kw_only: bool) -> dict[str, _Field] | None:
    """Return the fields of a class; None where an annotation is none that is served."""
    found: dict[str, _Field] = {}
    for name, hint in cls.__annotations__.items() if "__annotations__" in cls.__dict__ else ():
        if not isinstance(hint, str) or "InitVar" in hint or "KW_ONLY" in hint:
            return None
        if hint.startswith(("ClassVar", "typing.ClassVar")):
            continue
        default = cls.__dict__.get(name, _MISSING)
        if type(default).__module__ == "dataclasses":
            return None
        item = default if isinstance(default, _Field) else _Field(default=default)
        if item.default.__class__.__hash__ is None:
            raise ValueError(f"mutable default {item.default.__class__} for field {name} is not allowed")
        item.name, item.type = name, hint
        item.kw_only = kw_only if item.kw_only is None else item.kw_only
        found[name] = item
    _check_order(found.values())
    return found


def _check_order(found: Any) -> None:
    optional = ""
    for item in found:
        if item.init and not item.kw_only:
            if item.default is not _MISSING or item.default_factory is not _MISSING:
                optional = item.name
            elif optional:
                raise TypeError(f"non-default argument {item.name!r} follows default argument")


def _finished(cls: type, found: dict[str, _Field], how: Mapping[str, bool]) -> type:
    frozen, slots = how.get("frozen", False), how.get("slots", False)
    own = cls.__dict__
    methods: dict[str, Any] = {
        _OWN: found,
        "__dataclass_fields__": _FIELDS,
        "__dataclass_params__": _Params(how),
        "__match_args__": tuple(item.name for item in found.values() if item.init and not item.kw_only),
    }
    if how.get("repr", True):
        methods["__repr__"] = _shown
    if how.get("eq", True):
        compared = tuple(name for name, item in found.items() if item.compare)
        values = _getter(compared)
        methods["__eq__"] = _equal(values)
        if how.get("order"):
            methods |= _ordered(values)
        explicit = own.get("__hash__", _MISSING)
        if explicit is _MISSING or (explicit is None and "__eq__" in own):
            hashed = tuple(
                name for name, item in found.items() if (item.compare if item.hash is None else item.hash)
            )
            methods["__hash__"] = (
                _hashed(values if hashed == compared else _getter(hashed)) if frozen else None
            )
    methods = {name: value for name, value in methods.items() if name not in own or name == "__hash__"}
    if frozen:
        methods |= {"__setattr__": _frozen_set, "__delattr__": _frozen_delete}
    if "__init__" not in own:
        methods["__init__"] = _first_init
    if slots:
        return _slotted(cls, found, methods, frozen=frozen)
    for name, item in found.items():
        if item.default is not _MISSING:
            setattr(cls, name, item.default)
        elif isinstance(own.get(name), _Field):
            delattr(cls, name)
    for name, value in methods.items():
        setattr(cls, name, value)
    return cls


def _slotted(cls: type, found: dict[str, _Field], methods: dict[str, Any], *, frozen: bool) -> type:
    """Return the class anew, with a slot for each field."""
    body = {name: value for name, value in cls.__dict__.items() if name not in found}
    if "__slots__" in body:
        raise TypeError(f"{cls.__name__} already specifies __slots__")
    body.pop("__dict__", None)
    body.pop("__weakref__", None)
    inherited = {name for base in cls.__mro__[1:-1] for name in getattr(base, "__slots__", ())}
    body["__slots__"] = tuple(name for name in found if name not in inherited)
    body["__qualname__"] = cls.__qualname__
    body |= methods
    if frozen:
        body.setdefault("__getstate__", _state)
        body.setdefault("__setstate__", _set_state)
    return type(cls)(cls.__name__, cls.__bases__, body)


# the methods


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if len(names) > 1:
        return attrgetter(*names)
    return lambda value: tuple(getattr(value, name) for name in names)


def _equal(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    def equal(self: Any, other: object) -> Any:
        if other.__class__ is self.__class__:
            return values(self) == values(other)
        return NotImplemented

    return equal


def _ordered(values: Callable[[Any], tuple[Any, ...]]) -> dict[str, Any]:
    def ordering(judge: Callable[[Any, Any], bool]) -> Any:
        def compare(self: Any, other: object) -> Any:
            if other.__class__ is self.__class__:
                return judge(values(self), values(other))
            return NotImplemented

        return compare

    return {"__lt__": ordering(lt), "__le__": ordering(le), "__gt__": ordering(gt), "__ge__": ordering(ge)}


def _hashed(values: Callable[[Any], tuple[Any, ...]]) -> Any:
    def hashed(self: Any) -> int:
        return hash(values(self))

    return hashed


_SHOWING: set[int] = set()


def _shown(self: Any) -> str:
    if id(self) in _SHOWING:
        return "..."
    _SHOWING.add(id(self))
    try:
        items = (item for item in getattr(self, _OWN).values() if item.repr)
        inner = ", ".join(f"{item.name}={getattr(self, item.name)!r}" for item in items)
    finally:
        _SHOWING.discard(id(self))
    return f"{self.__class__.__qualname__}({inner})"


def _frozen_set(self: Any, name: str, value: Any) -> None:
    if _OWN in type(self).__dict__ or name in getattr(self, _OWN):
        raise _frozen(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _frozen_delete(self: Any, name: str) -> None:
    if _OWN in type(self).__dict__ or name in getattr(self, _OWN):
        raise _frozen(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _frozen(text: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(text)


def _state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in getattr(self, _OWN)]


def _set_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(getattr(self, _OWN), state, strict=True):
        object.__setattr__(self, name, value)


_MADE: dict[type, int] = {}
# Compiling takes as long as making this many values without it; of most classes a command makes fewer.
_MANY = 16


def _first_init(self: Any, /, *given: Any, **named: Any) -> None:
    """Set the fields one by one; where many values of a class are made, compile its ``__init__``."""
    cls: Any = next(cls for cls in type(self).__mro__ if _OWN in cls.__dict__)
    count = _MADE[cls] = _MADE.get(cls, 0) + 1
    if count > _MANY or not _filled(self, cls, given, named):
        _compiled(cls)(self, *given, **named)


def _filled(value: Any, cls: Any, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Set the fields of a value; False, and nothing set, where the arguments are not those of the class."""
    fields, params = cls.__dict__[_OWN], cls.__dataclass_params__
    if given:
        places = [name for name, item in fields.items() if item.init and not item.kw_only]
        first = dict(zip(places, given))  # noqa: B905 - what is left over is refused below
        if len(first) != len(given) or not first.keys().isdisjoint(named):
            return False
        named = {**first, **named}
    found: list[tuple[str, Any]] = []
    taken = 0
    for name, item in fields.items():
        if item.init and name in named:
            found.append((name, named[name]))
            taken += 1
        elif item.default_factory is not _MISSING:
            found.append((name, item.default_factory()))
        elif item.default is not _MISSING:
            if item.init or params.slots:
                found.append((name, item.default))
        elif item.init:
            return False
    if taken != len(named):
        return False
    put = object.__setattr__ if params.frozen else setattr
    for name, one in found:
        put(value, name, one)
    if hasattr(cls, "__post_init__"):
        value.__post_init__()
    return True


def _compiled(cls: Any) -> Callable[..., None]:
    """Give a class its compiled ``__init__``."""
    made = _init(cls)
    if cls.__dict__["__init__"] is _first_init:
        cls.__init__ = made
        if cls.__dataclass_params__.slots and not hasattr(cls, "__post_init__"):
            fields = cls.__dict__[_OWN]
            if fields and all(item.init for item in fields.values()):
                # A copy sets each slot, and asks no default.
                puts = {name: getattr(cls, name).__set__ for name in fields}
                setattr(cls, _SETTERS, (puts, tuple(puts.values()), _getter(tuple(fields))))
    return made


def _init(cls: Any) -> Callable[..., None]:
    """Compile the ``__init__`` of a class, which sets every field."""
    params = cls.__dataclass_params__
    names: dict[str, Any] = {"_set": object.__setattr__, "_unset": _MISSING}
    heads: dict[bool, list[str]] = {False: ["self"], True: []}
    lines: list[str] = []
    for name, item in cls.__dict__[_OWN].items():
        head, value = _initial(name, item, names, slots=params.slots)
        if head:
            heads[item.kw_only].append(head)
        if value and params.frozen and params.slots:
            names[f"_set_{name}"] = getattr(cls, name).__set__
            lines.append(f"_set_{name}(self, {value})")
        elif value:
            lines.append(f"_set(self, {name!r}, {value})" if params.frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = ", ".join((*heads[False], *(["*"] if heads[True] else []), *heads[True]))
    body = "\n  ".join(lines or ["pass"])
    space: dict[str, Any] = {}
    exec(f"def __init__({arguments}):\n  {body}", names, space)  # noqa: S102 - names of fields alone
    made: Callable[..., None] = space["__init__"]
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _initial(name: str, item: _Field, names: dict[str, Any], *, slots: bool) -> tuple[str, str]:
    """Return a field's parameter and the expression it is set from; empty for none."""
    if item.default_factory is not _MISSING:
        names[f"_make_{name}"] = item.default_factory
        if item.init:
            return f"{name}=_unset", f"_make_{name}() if {name} is _unset else {name}"
        return "", f"_make_{name}()"
    if item.default is not _MISSING:
        names[f"_default_{name}"] = item.default
        if item.init:
            return f"{name}=_default_{name}", name
        return "", f"_default_{name}" if slots else ""
    return (name, name) if item.init else ("", "")


# what `dataclasses` reads


class _Params:
    """What a class was made with, as `dataclasses` asks for it."""

    unsafe_hash, init = False, True

    def __init__(self, how: Mapping[str, bool]) -> None:
        self.repr, self.eq, self.order = how.get("repr", True), how.get("eq", True), how.get("order", False)
        self.frozen, self.slots = how.get("frozen", False), how.get("slots", False)


class _Theirs:
    """Gives the fields of a class as `dataclasses.Field`, where something asks for them."""

    def __get__(self, value: Any, cls: type) -> dict[str, Any]:
        owner = next(one for one in cls.__mro__ if _OWN in one.__dict__)
        return {name: _named(item) for name, item in owner.__dict__[_OWN].items()}


def _named(item: _Field) -> Any:
    import dataclasses

    made = _their_field(item)
    made.name, made.type, made.kw_only = item.name, item.type, item.kw_only
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined]
    return made


_FIELDS = _Theirs()


def _fields(value: Any) -> tuple[Any, ...]:
    """Return the fields of a class or a value."""
    found = getattr(value, _OWN, None)
    if found is not None:
        return tuple(found.values())
    from dataclasses import fields

    return fields(value)


def _is_dataclass(value: Any) -> bool:
    """Tell whether something is a class of values, or a value of one."""
    cls = value if isinstance(value, type) else type(value)
    return any(_has_fields(base) for base in cls.__mro__)


def _replace(value: Any, /, **changes: Any) -> Any:
    """Return a value of the same class with some fields changed.

    Raises:
        TypeError: Where there is no such field.
    """
    found = getattr(value, _OWN, None)
    if found is None:
        from dataclasses import replace

        return replace(value, **changes)
    cls = value.__class__
    copying = cls.__dict__.get(_SETTERS)
    if copying is not None and changes.keys() <= copying[0].keys():
        puts, every, values = copying
        made = object.__new__(cls)
        for put, one in zip(every, values(value), strict=True):
            put(made, one)
        for name, one in changes.items():
            puts[name](made, one)
        return made
    for name, item in found.items():
        if item.init:
            if name not in changes:
                changes[name] = getattr(value, name)
        elif name in changes:
            raise ValueError(f"field {name} is declared with init=False")
    return cls(**changes)


if not TYPE_CHECKING:
    MISSING, Field, is_dataclass = _MISSING, _Field, _is_dataclass
    dataclass, field, fields, replace = _dataclass, _field, _fields, _replace
