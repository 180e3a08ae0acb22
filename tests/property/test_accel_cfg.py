"""A random predicate, spelled and parsed, holds exactly where plain boolean algebra says so."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from atoll.accel import AccelSet, Entry
from atoll.accel.cfg import evaluate, parse_cfg

Case = tuple[str, Callable[[set[str], str], bool]]
BACKENDS = ("a", "b", "c-c")


def _member(name: str) -> Case:
    return f'accelerator = "{name}"', lambda have, _: name in have if name != "none" else not have


def _system(name: str) -> Case:
    return f'os="{name}"', lambda _, system: system == name


_leaf = st.one_of(
    st.sampled_from([*BACKENDS, "none"]).map(_member), st.sampled_from(["linux", "macos"]).map(_system)
)


def _several(children: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    many = st.lists(children, min_size=1, max_size=3)

    def both(word: str, fold: Callable[..., bool], parts: list[Case]) -> Case:
        text = f"{word}({', '.join(part[0] for part in parts)})"
        return text, lambda have, system: fold(part[1](have, system) for part in parts)

    return st.one_of(
        many.map(lambda parts: both("any", any, parts)),
        many.map(lambda parts: both("all", all, parts)),
        children.map(lambda part: (f"not({part[0]})", lambda have, system: not part[1](have, system))),
    )


@given(
    st.recursive(_leaf, _several, max_leaves=8),
    st.sets(st.sampled_from(BACKENDS)),
    st.sampled_from(["linux", "macos"]),
)
def test_a_predicate_means_what_boolean_algebra_says(case: Case, have: set[str], system: str) -> None:
    text, expected = case
    accel = AccelSet(tuple(Entry(backend=name) for name in sorted(have)))
    assert evaluate(parse_cfg(f"cfg({text})"), accel=accel, os=system) == expected(have, system)
