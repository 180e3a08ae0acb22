"""A root's table: what it defines, and whether its code fits the device present, in the one refusal text."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from atoll.accel import AccelSet, DeviceFacts, Entry, Relation, Version
from atoll.accel.relations import not_above, run_entry
from atoll.artifact import Descriptor, DeviceRequest, Subject, choose, refusal
from atoll.boundary import root_file
from atoll.diagnostics import render
from unit.boundary.kit import SAXPY, Built, driver, interface, scanned


class _State(ctypes.Structure):
    _fields_ = [
        ("available", ctypes.c_uint32),
        ("software", ctypes.c_uint32),
        ("device", ctypes.c_char * 256),
        ("reason", ctypes.c_char * 4096),
    ]


class _Table(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_uint32),
        ("name", ctypes.c_char_p),
        ("package", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("driver", ctypes.c_char_p),
        ("entry_count", ctypes.c_uint32),
        ("entries", ctypes.c_void_p),
        ("state", ctypes.CFUNCTYPE(None, ctypes.POINTER(_State))),
    ]


def table(path: Path) -> _Table:
    library = ctypes.CDLL(str(path))
    library.atoll_root_v1.restype = ctypes.POINTER(_Table)
    found = library.atoll_root_v1().contents
    assert isinstance(found, _Table)
    return found


def state(path: Path) -> _State:
    out = _State()
    table(path).state(ctypes.byref(out))
    return out


def entry(text: str) -> Entry:
    (only,) = AccelSet.parse(text, floor_words={"toy": "level"})
    return only


@pytest.fixture
def made(tmp_path: Path) -> Built:
    return Built(tmp_path, interface(*(scanned(tmp_path / "src" / name, SAXPY) for name in ("toy", "cpu"))))


# The fake's rule: its own architecture by equal name, a floor it is above, a version not above the device's.
FITS = (
    'strcmp(code->version, "2.0") <= 0 && '
    "((code->arch[0] && strcmp(code->arch, facts->arch) == 0) ||"
    ' (!code->arch[0] && strcmp(code->floor, "5") < 0))'
)


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(
    ("carried", "arch", "version"),
    [
        ("toy1.0+{t1,t2}", "t9", "2, 0"),
        ("toy1.0+{t1} level>=7", "t9", "2, 0"),
        ("toy3.0+{t9}", "t9", "2, 0"),
        ("toy3.0+{t1}", "t9", "2, 0"),
        ("toy1.0+{t1}", "", "2, 0"),
        ("toy3.0", "", "2, 0"),
    ],
)
def test_the_refusal_at_load_is_byte_equal_to_the_one_of_match(
    made: Built, carried: str, arch: str, version: str, declared: bool
) -> None:
    has = entry(carried)
    if declared and has.floor is not None:
        return  # a declared entry has the engine's own floor word
    device = "Toy\\tone \\x1b[1m\\\\"
    source = driver("toy", device=device, arch=arch, version=version, fits=FITS)
    found = state(
        made.root("toy", SAXPY, source, version="0.1.0", driver="toy", carried=has, declared=declared)
    )
    facts = DeviceFacts(backend="toy", name="Toy\tone \x1b[1m\\", arch=arch, version=Version.parse("2.0"))
    what = {"declared": (carried,)} if declared else {"accel": AccelSet((has,))}
    artifact = Descriptor(path=root_file(made.interface, "toy"), **what)
    request = DeviceRequest(device=facts)
    choice = choose([artifact], request, {"toy": _Exact()})
    assert not choice
    expected = render(refusal(Subject.LOAD, "app", "0.1.0", request, choice))
    assert found.reason.decode() == expected
    assert (found.available, found.device.decode()) == (0, "Toy\tone \x1b[1m\\")


class _Exact:
    """The fake's rule in Python: a version not above the device's is compatible."""

    floor_word: str | None = "level"

    def check(self, entry: Entry) -> None:
        return None

    def links(self, have: Entry, asked: Entry) -> None:
        return None

    def runs(self, have: Entry, device: DeviceFacts) -> Relation:
        return run_entry(have, device, compatible=not_above, covers=lambda _have, _arch: False)

    def provides(self, target: Entry, arch: str) -> None:
        return None


@pytest.mark.parametrize("carried", ["toy1.0+{t1,t9}", "toy2.0+{t1} level>=3", "toy2.0 level>=3"])
def test_a_root_whose_code_fits_is_available(made: Built, carried: str) -> None:
    source = driver("toy", arch="t9", version="2, 0", fits=FITS)
    found = state(made.root("toy", SAXPY, source, version="0.1.0", driver="toy", carried=entry(carried)))
    assert (found.available, found.software, found.device, found.reason) == (1, 0, b"Fake 1", b"")


def test_an_absent_device_is_said_in_the_drivers_words(made: Built) -> None:
    source = driver("toy", missing="no toy is on the shelf")
    found = state(made.root("toy", SAXPY, source, driver="toy", carried=entry("toy1.0")))
    assert (found.available, found.reason) == (0, b"no toy is on the shelf")


def test_the_processor_is_always_available(made: Built) -> None:
    found = state(made.root("cpu", SAXPY, version="3"))
    assert (found.available, found.reason) == (1, b"")


def test_a_long_device_name_is_cut_and_not_written_past(made: Built) -> None:
    source = driver("toy", device="x" * 255, arch="t" * 63, fits="0")
    long = Entry(backend="toy", archs=tuple(f"arch{index}" for index in range(900)))
    found = state(made.root("toy", SAXPY, source, version="1", driver="toy", carried=long))
    assert found.available == 0
    assert 4000 < len(found.reason) < 4096


def test_a_root_exports_one_symbol_and_keeps_authored_names(made: Built) -> None:
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    path = made.root("cpu", SAXPY, version="1")
    with path.open("rb") as file:
        elf = ELFFile(file)
        dynamic, static = elf.get_section_by_name(".dynsym"), elf.get_section_by_name(".symtab")
        assert isinstance(dynamic, SymbolTableSection)
        assert isinstance(static, SymbolTableSection)
        shown = {
            symbol.name
            for symbol in dynamic.iter_symbols()
            if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_shndx"] != "SHN_UNDEF"
        }
        named = {symbol.name for symbol in static.iter_symbols()}
    assert shown == {"atoll_root_v1"}
    assert "app_saxpy" in named


def test_the_table_names_package_version_and_what_is_defined(made: Built) -> None:
    found = table(made.root("cpu", SAXPY, version="1.2"))
    assert (found.abi, found.name, found.package, found.version, found.driver, found.entry_count) == (
        *(1, b"cpu", b"app", b"1.2", b""),
        1,
    )
