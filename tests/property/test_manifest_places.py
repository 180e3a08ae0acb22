"""The scan for places finds exactly the paths that `tomllib` finds, and points at them."""

from __future__ import annotations

import tomllib
from typing import Any

import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.errors import AtollError
from atoll.manifest import document, scan

NAMES = st.one_of(
    st.sampled_from(["a", "b-c", "d_e", "1", 'cfg(x = "y")', "核", "a.b", "it's", "", 'q"', "t\tb", "#"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=6),
)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(),
    st.datetimes().map(lambda moment: moment.replace(microsecond=0)),
    st.text(st.characters(codec="utf-8"), max_size=12),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=5)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    found = {path} if path else set()
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return found.union(*(paths(item, (*path, name)) for name, item in items))


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_every_path_has_a_place_and_no_place_is_of_another_path(data: dict[str, Any]) -> None:
    text = tomlkit.dumps(data)
    assert set(scan.scan(text)) == paths(tomllib.loads(text))


WRITTEN = '''
# a comment = 1
top = 1 # [x]
"quoted key" = "va]lue" # }
'single.quoted' = 'a "b"'
four = """say "hi""""
five = ''\'it is ''hi''\'''
[a.b]
c.d.e = """
x = 1
[not]
"""  # end
f = [ 1, # one
  "]", { g = [ ], h.i = { } }, [ [ ] , ],
]
[[list]]
name = \'\'\'it's'\'\'\'
[list.sub]
x = 1979-05-27 07:32:00
[[list]]
[[list.inner]]
y = 0x_
'''.replace("0x_", "0xff")


def test_a_text_with_every_form_is_found_whole() -> None:
    assert set(scan.scan(WRITTEN)) == paths(tomllib.loads(WRITTEN))


def test_places_point_at_key_and_value() -> None:
    lines = WRITTEN.split("\n")
    found = scan.scan(WRITTEN)

    def shown(path: tuple[str | int, ...]) -> tuple[str, str]:
        place = found[path]
        (k, kb, ke), (v, vb, ve) = place.key, place.value
        return lines[k - 1][kb - 1 : ke - 1], lines[v - 1][vb - 1 : ve - 1]

    assert shown(("quoted key",)) == ('"quoted key"', '"va]lue"')
    assert shown(("single.quoted",)) == ("'single.quoted'", "'a \"b\"'")
    assert shown(("a", "b")) == ("b", "b")
    assert shown(("a", "b", "c", "d", "e")) == ("e", '"""')
    assert shown(("a", "b", "f", 1)) == ('"', '"]"')
    assert shown(("a", "b", "f", 2, "g")) == ("g", "[ ]")
    assert shown(("list", 0, "sub", "x")) == ("x", "1979-05-27 07:32:00")
    assert shown(("list", 1, "inner", 0, "y")) == ("y", "0xff")


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab.=[]{}\"'\\\n#, 01-+_:TZ\x00é"), max_size=60))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    code = _code(text)
    if code is None:
        assert set(scan.scan(text)) == paths(tomllib.loads(text))
    else:
        assert code in {"ATL0204", "ATL0205"}


def _code(text: str) -> str | None:
    try:
        document.parse(text, "<test>")
    except AtollError as error:
        return error.diagnostics[0].code
    return None
