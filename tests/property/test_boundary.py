"""Over random declaration sets: what is written is what is read, and the order of files changes nothing."""

from __future__ import annotations

import random
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given, settings

from atoll.boundary import (
    Access,
    Entry,
    Extent,
    Parameter,
    Struct,
    clause,
    declaration,
    header,
    python_files,
    python_source,
    scan,
)
from atoll.boundary.lex import blanked, find_markers, tokens
from atoll.diagnostics import Diagnostic
from atoll.errors import BoundaryError
from unit.boundary.kit import interface, refused

SCALARS = "float|double|int|unsigned|size_t|uint8_t|int64_t|bool|unsigned long long".split("|")
STRUCTS = (
    Struct(name="Pair", fields=(("x", "float"), ("n", "int"))),
    Struct(name="Mixed", fields=(("a", "uint8_t"), ("b", "double"), ("c", "bool"), ("d", "int64_t"))),
)
LENGTHS = ["unsigned", "size_t", "int", "uint32_t", "long long"]
NOISE = [
    "",
    "// ATOLL_EXPORT_C\n",
    "/* ATOLL_EXPORT_AS(x[n]) */\n",
    'const char *s{} = "ATOLL_EXPORT_C (";\n',
    "#define HIDE{} ATOLL_EXPORT_C\n",
    "static int helper{}() {{ return 1; }}\n",
    'const char *r{} = R"(")";\n',
]
WORDS = [
    f"{a}{b}" for a in ("in", "x", "scale", "class", "lambda", "blur", "n", "use") for b in ("", "_", "2")
]


@st.composite
def entries(draw: st.DrawFn, name: str) -> Entry:
    """Draw a declaration that is right by construction."""
    lengths = draw(st.lists(st.sampled_from(LENGTHS), max_size=2))
    named = [Parameter(name=f"n{k}", ctype=ctype) for k, ctype in enumerate(lengths)]
    given_names = draw(
        st.lists(st.sampled_from(["a", "b", "c", "data", "status", "out"]), unique=True, max_size=4)
    )
    others = [draw(parameters(item, tuple(item.name for item in named))) for item in given_names]
    order = draw(st.permutations([*named, *others]))
    status = draw(st.booleans())
    result = "int" if status else draw(st.sampled_from(["void", *SCALARS]))
    return Entry(name=name, result=result, parameters=tuple(order), status=status)


@st.composite
def parameters(draw: st.DrawFn, name: str, lengths: tuple[str, ...]) -> Parameter:
    """Draw one parameter that is no length."""
    struct = draw(st.sampled_from([None, None, None, *STRUCTS]))
    element = draw(st.sampled_from(SCALARS)) if struct is None else struct.name
    if not draw(st.booleans()):
        return Parameter(name=name, ctype=element, struct=struct)
    sizes = draw(st.lists(st.sampled_from([*lengths, "3", "16"]), min_size=1, max_size=3))
    written = draw(st.booleans())
    return Parameter(
        name=name,
        ctype=f"{element} *" if written else f"const {element} *",
        element=element,
        struct=struct,
        access=Access.WRITE if written else Access.READ,
        extent=Extent(dimensions=tuple(sizes)),
        returned=written and draw(st.booleans()),
    )


@st.composite
def interfaces(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Draw entries with names of their own."""
    names = draw(st.lists(st.sampled_from(WORDS), unique=True, min_size=1, max_size=5))
    return tuple(draw(entries(f"app_{name}")) for name in names)


def spelled(entry: Entry, mess: random.Random) -> str:
    """Return a definition of an entry with white space and comments wherever they may stand."""
    said = clause(entry)
    marker = f"ATOLL_EXPORT_AS({said})" if said else "ATOLL_EXPORT_C"
    text = f"{marker} {declaration(entry)}".replace("(void)", mess.choice(["()", "(void)", "( void )"]))
    out = []
    for token in tokens(text.encode()):
        out.append(token.text.decode())
        out.append(mess.choice([" ", " ", "\n", "\t", " /* ) { ATOLL_EXPORT_C */ ", " // (\n"]))
    return "".join(out) + "{ return {}; }\n".replace("return {}", "throw 1")


def defined(struct: Struct) -> str:
    """Return what an island writes of a struct."""
    return f"struct {struct.name} {{\n{''.join(f'{ctype} {name};' for name, ctype in struct.fields)}\n}};\n"


def laid_out(folder: Path, drawn: tuple[Entry, ...], mess: random.Random) -> Path:
    """Write the entries into files of one folder, in any order."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    order = list(drawn)
    mess.shuffle(order)
    for index, entry in enumerate(order):
        path = folder / f"f{mess.randrange(3)}.cpp"
        have = path.read_text() if path.exists() else ""
        new = "".join(defined(each) for each in entry.structs if defined(each) not in have)
        path.write_text(have + mess.choice(NOISE).format(index) + new + spelled(entry, mess))
    return folder


@settings(deadline=None, max_examples=150)
@given(interfaces(), st.integers(0, 2**32))
def test_what_is_written_is_what_is_read_in_any_order_and_layout(drawn: tuple[Entry, ...], seed: int) -> None:
    mess = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        first = scan(laid_out(Path(place) / "cpu", drawn, mess))
        second = scan(laid_out(Path(place) / "gpu", drawn, mess))
    for root in (first, second):
        found = {entry.name: replace(entry, root="") for entry in root.entries}
        assert found == {entry.name: entry for entry in drawn}
    both = interface(first, second, layout_root="cpu")
    alone = interface(first)
    assert header(both) == header(alone)
    assert python_files(both) == python_files(alone)
    assert [item.name for item in both.entries] == sorted(entry.name for entry in drawn)
    for entry in drawn:
        assert f"{declaration(entry)};" in header(both)
        assert f'"{entry.name}"' in python_source(both)


@settings(deadline=None, max_examples=100)
@given(interfaces(), st.data())
def test_a_changed_type_in_one_root_is_always_refused(drawn: tuple[Entry, ...], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(drawn) - 1))
    entry = drawn[index]
    extra = Parameter(name="zz", ctype=data.draw(st.sampled_from(SCALARS)))
    changed = (*drawn[:index], replace(entry, parameters=(*entry.parameters, extra)), *drawn[index + 1 :])
    with tempfile.TemporaryDirectory() as place:
        one = scan(laid_out(Path(place) / "cpu", drawn, random.Random(0)))
        other = scan(laid_out(Path(place) / "gpu", changed, random.Random(1)))
    faults = refused(lambda: interface(one, other))
    assert [item.code for item in faults] == ["ATL0307"]
    assert all(text in note for text, note in zip((declaration(entry), "zz"), faults[0].notes, strict=True))


@settings(deadline=None, max_examples=300)
@given(
    st.binary(max_size=300)
    | st.text(alphabet="ATOLL_EXPORT_C(){}[]\"'/*\\\n#R ;,=x", max_size=300).map(str.encode)
)
def test_any_bytes_keep_their_length_and_lines_when_blanked(text: bytes) -> None:
    marked = find_markers(text, b"ATOLL_EXPORT_AS", b"ATOLL_EXPORT_C")
    blank = blanked(text, marked)
    assert len(blank) == len(text)
    assert blank.count(b"\n") == text.count(b"\n")
    assert not find_markers(blank, b"ATOLL_EXPORT_AS", b"ATOLL_EXPORT_C")


@settings(deadline=None, max_examples=200)
@given(
    st.text(alphabet="(){}[]\"'/*\\\n#R ;,=xint*&<>", max_size=120),
    st.sampled_from(["ATOLL_EXPORT_C ", "ATOLL_EXPORT_AS("]),
)
def test_any_text_after_a_marker_is_an_entry_or_a_refusal(text: str, marker: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "a.cpp").write_text(f"{marker}{text}")
        faults = _faults(Path(place))
    assert all(item.span is not None and item.code.startswith("ATL03") and item.notes for item in faults)


def _faults(folder: Path) -> tuple[Diagnostic, ...]:
    try:
        scan(folder, name="k")
    except BoundaryError as error:
        return error.diagnostics
    return ()
