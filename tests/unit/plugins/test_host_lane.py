"""The host lane: which compiler, which flags, what it links, what it refuses."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from atoll.build.parts import file_of
from atoll.errors import LaneError
from atoll.manifest import TargetKind
from atoll.plugin import LaneRequest, LinkRequest, Unit
from atoll.testing.lanes import LANE_CHECKS, LaneCheck, run_plan
from atoll_plugins.formats.host_compilers import choose, installed
from atoll_plugins.host import lane
from atoll_plugins.host.lane import HostLane, is_offload
from atoll_plugins.host.platforms import PLATFORMS
from atoll_plugins.host.zig import PAYLOAD
from unit.plugins.lane_project import ENVIRONMENT, program, request, write

FILES = {
    "src/main.cpp": '#include "twice.h"\n#include <cstdio>\nint main() { printf("%d\\n", twice(21)); }\n',
    "src/twice.c": '#include "twice.h"\nint twice(int x) { return 2 * x; }\nint unseen(void) { return 1; }\n',
    "src/twice.h": '#ifdef __cplusplus\nextern "C"\n#endif\nint twice(int x);\n',
}


@pytest.fixture
def wanted(tmp_path: Path) -> LaneRequest:
    write(tmp_path, FILES)
    units = tuple(Unit(path=path, target="demo") for path in ("src/main.cpp", "src/twice.c"))
    return request(tmp_path, units)


@pytest.mark.parametrize("check", LANE_CHECKS, ids=lambda check: str(check.__name__))
def test_it_keeps_the_promises_of_the_door(check: LaneCheck, wanted: LaneRequest) -> None:
    check(HostLane(), wanted)


def link(wanted: LaneRequest, kind: str, output: str, exports: tuple[str, ...] | None = None) -> Path:
    made = HostLane()
    compiled = made.plan(wanted)
    run_plan(compiled, wanted.root)
    objects = tuple(product.path for product in compiled.objects)
    linked = made.link(
        LinkRequest(
            request=wanted, kind=kind, output=f"{wanted.build}/{output}", inputs=objects, exports=exports
        )
    )
    run_plan(linked, wanted.root)
    return wanted.root / wanted.build / output


def said(*command: str | Path) -> str:
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def test_an_executable_answers(wanted: LaneRequest, tell: Callable[[str], None]) -> None:
    tell(f"PATH={ENVIRONMENT['PATH']}: {HostLane().plan(wanted).tools[0]}")
    assert said(link(wanted, "executable", "demo")) == "42\n"


def test_a_shared_object_shows_only_its_exports(wanted: LaneRequest) -> None:
    only_c = replace(wanted, units=wanted.units[1:])
    library = link(only_c, "shared", "libdemo.so", exports=("twice",))
    shown = {line.split()[-1] for line in said("nm", "-D", "--defined-only", library).splitlines()}
    assert shown == {"twice"}


def test_a_shared_object_with_an_undefined_symbol_does_not_link(wanted: LaneRequest) -> None:
    only_main = replace(wanted, units=wanted.units[:1])
    with pytest.raises(AssertionError, match="undefined reference to `twice'"):
        link(only_main, "shared", "libdemo.so")


def test_a_member_that_left_the_list_leaves_the_archive(wanted: LaneRequest) -> None:
    archive = link(wanted, "static", "libdemo.a")
    assert said("ar", "t", archive).split() == ["main.cpp.o", "twice.c.o"]
    archive = link(replace(wanted, units=wanted.units[1:]), "static", "libdemo.a")
    assert said("ar", "t", archive).split() == ["twice.c.o"]


def test_an_extension_module_leaves_the_interpreter_undefined(wanted: LaneRequest) -> None:
    write(
        wanted.root,
        {"ext.c": "extern int PyModule_Create2(void); int start(void) { return PyModule_Create2(); }\n"},
    )
    alone = replace(wanted, units=(Unit(path="ext.c", target="demo", hidden=False),))
    module = link(alone, "module", "ext.abi3.so", exports=("start",))
    assert "libpython" not in said("readelf", "-d", module)
    assert "PyModule_Create2" in said("nm", "-D", "--undefined-only", module)


def test_depfiles_list_headers(wanted: LaneRequest) -> None:
    plan = HostLane().plan(wanted)
    run_plan(plan, wanted.root)
    texts = [(wanted.root / str(action.depfile)).read_text() for action in plan.actions]
    assert all("src/twice.h" in text for text in texts)


def test_products_are_not_fused_and_the_flags_say_so(wanted: LaneRequest) -> None:
    for action in HostLane().plan(wanted).actions:
        assert "-ffp-contract=off" in action.argv
        assert "-fPIC" in action.argv


def test_the_key_is_a_hash_of_the_compiler_and_its_stages(wanted: LaneRequest) -> None:
    action = HostLane().plan(wanted).actions[0]
    assert len(action.key) == 64
    assert any(path.endswith("/cc1plus") for path in action.inputs)


def test_another_compiler_is_another_key(wanted: LaneRequest) -> None:
    others = [found for found in installed(ENVIRONMENT) if found.family == "clang"]
    if not others:
        pytest.skip("no clang++ on this machine")
    chosen = replace(wanted, options={"compiler": str(others[0].cxx)})
    plan = HostLane().plan(chosen)
    assert plan.tools[0].version.startswith("clang")
    assert plan.actions[0].key != HostLane().plan(wanted).actions[0].key


def test_the_preferred_compiler_is_gxx_and_the_reason_is_said(tmp_path: Path) -> None:
    found = choose(None, ENVIRONMENT)
    assert found is not None
    assert found[0].cxx.name == "g++"
    assert found[1] == "the first host compiler on PATH"


def test_versions_order_by_number_not_by_name(tmp_path: Path) -> None:
    real = choose(None, ENVIRONMENT)
    assert real is not None
    for name in ("g++-9", "g++-12"):
        program(tmp_path, name, f'exec {real[0].cxx} "$@"')
    names = [compiler.cxx.name for compiler in installed({"PATH": str(tmp_path)})]
    assert names == ["g++-12", "g++-9"]


def test_a_program_that_is_no_compiler_is_passed_over(tmp_path: Path) -> None:
    program(tmp_path, "g++", "echo hello")
    assert list(installed({"PATH": str(tmp_path)})) == []


@pytest.mark.parametrize(
    "flag", ["-fsycl", "-stdpar", "-stdpar=gpu", "-fopenmp-targets=nvptx64", "-foffload=x"]
)
def test_flags_that_offload_are_known(flag: str) -> None:
    assert is_offload(flag)


@pytest.mark.parametrize(
    "flag", ["-fsyntax-only", "-fopenmp", "-foffload=disable", "-stdlib=libc++", "-std=c++20"]
)
def test_flags_that_only_look_alike_pass(flag: str) -> None:
    assert not is_offload(flag)


COMPILED = (
    "ROOT/bin/clang++ -std=c++20 -O2 -DNDEBUG -ffp-contract=off{pic} -fvisibility=hidden"
    " -Iinc -IHEADERS -DA=1 -MD -MF OUT/demo/a.cpp.d -c a.cpp -o OUT/demo/a.cpp.o"
)
ARGS = ("lib/libother.so", "-Wl,-rpath,$ORIGIN/../lib", "-L/kit/lib", "-lkit", "-lpthread", "-ldl")
# For each host: how a unit is compiled; a program, a shared library with two exports, an extension module, an
# archive; and the lines of the file of exports.
PLANS = {
    "linux": (
        COMPILED.format(pic=" -fPIC"),
        {
            ("executable", "bin/app"): (
                "ROOT/bin/clang++ -Wl,--as-needed -Wl,--build-id=sha1 -o bin/app a.o lib/libother.so"
                " -Wl,-rpath,$ORIGIN/../lib -L/kit/lib -lkit -lpthread -ldl"
            ),
            ("shared", "lib/libapp.so"): (
                "ROOT/bin/clang++ -shared -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--as-needed"
                " -Wl,--build-id=sha1 -Wl,--version-script=OUT/exports/lib/libapp.so -Wl,-soname,libapp.so"
                " -o lib/libapp.so a.o lib/libother.so -Wl,-rpath,$ORIGIN/../lib -L/kit/lib -lkit"
                " -lpthread -ldl"
            ),
            ("module", "python/m.abi3.so"): (
                "ROOT/bin/clang++ -shared -Wl,--exclude-libs,ALL -Wl,--as-needed -Wl,--build-id=sha1"
                " -Wl,--version-script=OUT/exports/python/m.abi3.so -o python/m.abi3.so a.o lib/libother.so"
                " -Wl,-rpath,$ORIGIN/../lib -L/kit/lib -lkit -lpthread -ldl"
            ),
            ("static", "lib/libapp.a"): "archive lib/libapp.a ROOT/bin/ar a.o",
        },
        ["{", "global:", "  one;", "  two;", "local: *;", "};"],
    ),
    "macos": (
        COMPILED.format(pic=" -fPIC"),
        {
            ("executable", "bin/app"): (
                "ROOT/bin/clang++ -Wl,-dead_strip_dylibs -o bin/app a.o lib/libother.so"
                " -Wl,-rpath,@loader_path/../lib -L/kit/lib -lkit"
            ),
            ("shared", "lib/libapp.dylib"): (
                "ROOT/bin/clang++ -dynamiclib -Wl,-dead_strip_dylibs"
                " -Wl,-exported_symbols_list,OUT/exports/lib/libapp.dylib"
                " -Wl,-install_name,@rpath/libapp.dylib -o lib/libapp.dylib"
                " a.o lib/libother.so -Wl,-rpath,@loader_path/../lib -L/kit/lib -lkit"
            ),
            ("module", "python/m.abi3.so"): (
                "ROOT/bin/clang++ -bundle -Wl,-undefined,dynamic_lookup -Wl,-dead_strip_dylibs"
                " -Wl,-exported_symbols_list,OUT/exports/python/m.abi3.so -o python/m.abi3.so a.o"
                " lib/libother.so -Wl,-rpath,@loader_path/../lib -L/kit/lib -lkit"
            ),
            ("static", "lib/libapp.a"): "archive-plain lib/libapp.a ROOT/bin/ar a.o",
        },
        ["_one", "_two"],
    ),
    "windows": (
        COMPILED.format(pic=""),
        {
            ("executable", "bin/app.exe"): (
                "ROOT/bin/clang++ -fuse-ld=lld -Wl,/Brepro -o bin/app.exe a.o"
                " lib/libother.so -L/kit/lib -lkit"
            ),
            ("shared", "bin/app.dll"): (
                "ROOT/bin/clang++ -shared -fuse-ld=lld -Wl,/Brepro -Wl,/DEF:OUT/exports/bin/app.dll"
                " -o bin/app.dll a.o lib/libother.so -L/kit/lib -lkit"
            ),
            ("module", "python/m.pyd"): (
                "ROOT/bin/clang++ -shared -fuse-ld=lld -Wl,/Brepro -Wl,/DEF:OUT/exports/python/m.pyd"
                " -o python/m.pyd a.o lib/libother.so -L/kit/lib -lkit"
            ),
            ("static", "lib/app.lib"): "archive lib/app.lib ROOT/bin/llvm-ar a.o",
        },
        ["EXPORTS", "  one", "  two"],
    ),
}


@pytest.mark.parametrize("host", PLANS)
def test_the_plan_is_this_on_each_host(tmp_path: Path, host: str) -> None:
    compiled, links, lines = PLANS[host]
    asked = replace(of_host(tmp_path), host=host)

    def said(argv: Iterable[str]) -> str:
        line = " ".join(argv).replace(".atoll/build/test/host", "OUT").replace(str(tmp_path), "ROOT")
        return line.replace(str(Path(lane.__file__).with_name("include")), "HEADERS")

    (action,) = HostLane().plan(asked).actions
    assert said(action.argv) == compiled
    for (kind, output), wanted in links.items():
        exports = ("two", "one") if kind in ("shared", "module") else None
        link = LinkRequest(
            request=asked, kind=kind, output=output, inputs=("a.o",), args=ARGS, exports=exports
        )
        *before, linked = HostLane().link(link).actions
        text = said(linked.argv)
        assert (text.partition("writes.py ")[2] if kind == "static" else text) == wanted
        if exports:
            assert list(before[0].argv[-len(lines) :]) == lines
            assert before[0].outputs[0] in linked.inputs


def of_host(root: Path) -> LaneRequest:
    """Return a request whose compiler and archivers are scripts that say what they are asked."""
    macros = "".join(f"echo '#define __clang{name}__ 19'\n" for name in ("", "_major"))
    program(root / "bin", "clang++", f'case "$1" in -dM) {macros} ;; esac')
    for name in ("ar", "llvm-ar"):
        program(root / "bin", name, "true")
    write(root, {"a.cpp": "int a;\n"})
    unit = Unit(path="a.cpp", target="demo", hidden=True, includes=("inc",), defines=("A=1",))
    return replace(
        request(root, (unit,)),
        options={"compiler": f"{root}/bin/clang++"},
        environment={"PATH": f"{root}/bin:/usr/bin:/bin"},
    )


def test_a_library_is_linked_by_the_file_beside_it_on_windows() -> None:
    platform = PLATFORMS["windows"]
    assert platform.args(("bin/other.dll", "x.dll.o")) == ("bin/other.lib", "x.dll.o")
    assert PLATFORMS["linux"].args(("bin/other.dll", *ARGS)) == ("bin/other.dll", *ARGS)


def test_windows_drives_clang_alone(tmp_path: Path) -> None:
    program(tmp_path / "bin", "g++", "echo '#define __GNUC__ 12'")
    asked = replace(
        request(tmp_path, (Unit(path="a.cpp", target="demo"),)),
        host="windows",
        environment={"PATH": f"{tmp_path}/bin"},
    )
    assert HostLane().plan(replace(asked, host="linux")).tools[0].version == "gcc 12.0.0"
    with pytest.raises(LaneError, match="on windows it drives: clang"):
        HostLane().plan(asked)


@pytest.mark.parametrize(
    ("host", "names"),
    [
        ("linux", ["bin/app", "bin/app", "lib/libapp.a", "lib/libapp.so"]),
        ("macos", ["bin/app", "bin/app", "lib/libapp.a", "lib/libapp.dylib"]),
        ("windows", ["bin/app.exe", "bin/app.exe", "lib/app.lib", "bin/app.dll"]),
    ],
)
def test_what_a_target_is_called(host: str, names: list[str]) -> None:
    kinds = (TargetKind.EXECUTABLE, TargetKind.TEST, TargetKind.STATIC, TargetKind.SHARED)
    assert [file_of(kind, "app", host) for kind in kinds] == names


def test_the_row_of_doctor_tells_of_the_compiler_that_would_be_fetched() -> None:
    empty = {"PATH": ""}
    row = HostLane().status(empty, frozenset())
    assert row.payload == f"{PAYLOAD.name} (not in the store)"
    assert (row.can_build, row.fix.endswith("or build: it is fetched")) == (None, True)
    row = HostLane().status(empty, frozenset({PAYLOAD.name}))
    assert (row.can_build, row.found) == (True, f"{PAYLOAD.name} in the store")
