"""`atoll build`, `run`, `test` and `doctor` as a user types them: data, talk and exit codes."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atoll.artifact import Fact
from atoll.errors import BuildError
from unit.build.build_project import PACKAGE, PROGRAM, reopened, session
from unit.plugins.lane_project import write

ATOLL = Path(sys.executable).with_name("atoll")


def atoll(*words: str, where: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "ATOLL_OFFLINE": "1", "ATOLL_STORE": str(where / "store"), **more}
    return subprocess.run(
        [str(ATOLL), *words],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        input="from stdin\n",
    )


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


# build


def test_build_prints_paths_on_stdout_and_talks_on_stderr(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    done = atoll("build", where=tmp_path)
    assert done.returncode == 0
    assert done.stdout == ".atoll/build/release-none/bin/demo\n"
    assert "host compiler gcc" in done.stderr
    assert "set: none (atoll.toml names none)" in done.stderr
    again = atoll("build", where=tmp_path)
    assert again.stdout == done.stdout
    assert again.stderr == ""


def test_build_json_prints_one_event_a_line_and_the_result_last(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    found = events(atoll("build", "--json", where=tmp_path).stdout)
    assert [event["event"] for event in found] == ["plan", "edge", "edge", "result"]
    assert found[-1]["diagnostics"] == []
    assert found[-1]["ok"] is True
    (last,) = events(atoll("build", "--json", where=tmp_path).stdout)
    assert last["ran"] == 0


def test_a_compiler_error_is_a_diagnostic_and_exit_1(tmp_path: Path) -> None:
    write(tmp_path, {**PROGRAM, "src/main.cpp": "int main() { return nobody; }\n"})
    done = atoll("build", where=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "ATL0601" in done.stderr
    assert done.stderr.count("'nobody' was not declared") == 1
    found = events(atoll("build", "--json", where=tmp_path).stdout)
    assert found[-1]["ok"] is False
    assert [item["code"] for item in found[-1]["diagnostics"]] == ["ATL0601"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--accel", "x", "--no-accel"), "ATL0001"),
        (("--accel", "Bad!"), "ATL0109"),
        (("--accel", ""), "ATL01"),
        (("--profile", "p"), "ATL0561"),
    ],
)
def test_wrong_options_are_refused_with_both_sides(tmp_path: Path, words: tuple[str, ...], code: str) -> None:
    write(tmp_path, PROGRAM)
    done = atoll("build", *words, where=tmp_path)
    assert done.returncode == (1 if code == "ATL0561" else 2)
    assert code in done.stderr
    assert "Traceback" not in done.stderr


def test_what_a_plan_warned_of_is_said_where_the_build_fails(tmp_path: Path) -> None:
    files = {
        "atoll.toml": f"{PACKAGE}[targets.demo]\nkind = 'executable'\nsources = ['src/*.c', 'scr/*.cpp']\n"
    }
    write(tmp_path, {**files, "src/a.c": "int other(void) { return 0; }\n"})
    for _ in range(2):
        done = atoll("build", where=tmp_path)
        assert done.returncode == 1
        first, _, rest = done.stderr.partition("error[ATL0601]")[2].partition("warning[ATL0231]")
        assert "undefined reference to `main'" in first
        assert rest.startswith(": `scr/*.cpp` matches no file\n")


def test_a_full_disk_is_a_diagnostic(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk: it holds for root too."""
    write(tmp_path, PROGRAM)
    done = subprocess.run(
        [str(ATOLL), "build", "--json"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert [item["code"] for item in events(done.stdout)[-1]["diagnostics"]] == ["ATL0007"]


def test_a_file_in_the_place_of_the_build_folder_is_a_diagnostic(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    (tmp_path / ".atoll").write_text("mine")
    done = atoll("build", where=tmp_path)
    assert done.returncode == 1
    assert "error[ATL0007]" in done.stderr
    assert f"file: {tmp_path / '.atoll'}" in done.stderr
    assert (tmp_path / ".atoll").read_text() == "mine"


@pytest.mark.parametrize("name", ["build/release-none/.graph/specs", "build/release-none/resolution.json"])
def test_a_folder_in_the_place_of_a_file_of_the_build_is_a_diagnostic(tmp_path: Path, name: str) -> None:
    write(tmp_path, PROGRAM)
    (tmp_path / ".atoll" / name).mkdir(parents=True)
    done = atoll("build", where=tmp_path)
    assert done.returncode == 1
    assert "error[ATL0007]" in done.stderr
    assert f"file: {tmp_path / '.atoll' / name}" in done.stderr
    assert "`atoll clean`" in done.stderr


@pytest.mark.parametrize(
    "keys",
    [
        f'[build]\nprogram = "{"x" * 300}.py"\n',
        f'[boundary.b]\nmodule = "m"\nroots = ["{"x" * 300}"]\n',
        f'[dependencies]\nx = {{ path = "{"x" * 300}" }}\n',
        f'[lane.host]\ncompiler = "{"x" * 300}"\n',
    ],
)
def test_a_name_that_no_file_can_have_is_a_diagnostic(tmp_path: Path, keys: str) -> None:
    write(tmp_path, {**PROGRAM, "atoll.toml": PROGRAM["atoll.toml"] + keys})
    done = atoll("build", where=tmp_path)
    assert done.returncode == 1
    assert "error[ATL0007]: the system refused a file\n" in done.stderr
    assert "reason: File name too long\n  help: give it a shorter name" in done.stderr


def test_no_manifest_is_unreadable_and_exit_2(tmp_path: Path) -> None:
    done = atoll("build", "--json", where=tmp_path)
    assert done.returncode == 2
    assert events(done.stdout)[-1]["event"] == "result"


def test_verbose_prints_the_commands(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    assert "-ffp-contract=off" in atoll("build", "-v", where=tmp_path).stderr


def test_two_builds_at_once_both_end_well(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    environment = {"PATH": "/usr/bin:/bin", "ATOLL_STORE": str(tmp_path / "store")}
    started = [
        subprocess.Popen([str(ATOLL), "build"], cwd=tmp_path, env=environment, stdout=-1, stderr=-1)
        for _ in range(2)
    ]
    outcomes = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0], outcomes


# floors


def test_a_missed_floor_refuses_here_and_warns_for_elsewhere_with_the_same_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atoll.build import planner

    floor = Fact(name="host.glibc", relation=">=", value="99.0")
    real = planner._finish
    monkeypatch.setattr(planner, "_finish", lambda work: replace(real(work), floors=(floor,)))
    with pytest.raises(BuildError) as caught:
        session(tmp_path, PROGRAM).build()
    (refused,) = caught.value.diagnostics
    assert refused.code == "ATL0550"
    assert not (tmp_path / ".atoll/build/release-none/host").exists(), "it compiled before it looked"
    built = reopened(tmp_path).build(elsewhere=True)
    (warned,) = built.diagnostics
    assert warned.message == refused.message
    assert warned.notes == refused.notes
    assert str(warned.severity) == "warning"
    assert not built.planned, "the floor is looked at with a kept plan too"


# run

ECHO = """\
#include <csignal>
#include <cstdio>
#include <cstring>
int main(int count, char** words) {
    char line[64] = "";
    if (count > 1 && !std::strcmp(words[1], "sleep")) { std::puts("ready"); std::fflush(stdout); for (;;) ; }
    std::fgets(line, sizeof line, stdin);
    for (int k = 1; k < count; ++k) std::printf("[%s]", words[k]);
    std::printf("%s", line);
    return 7;
}
"""


def test_run_passes_arguments_stdin_and_the_exit_code_through(tmp_path: Path) -> None:
    write(tmp_path, {**PROGRAM, "src/main.cpp": ECHO})
    for words in (("run", "demo", "--", "a b", "--json", "-v"), ("run", "--", "a b", "--json", "-v")):
        done = atoll(*words, where=tmp_path)
        assert done.returncode == 7
        assert done.stdout == "[a b][--json][-v]from stdin\n"


def test_run_passes_a_signal_through(tmp_path: Path) -> None:
    write(tmp_path, {**PROGRAM, "src/main.cpp": ECHO})
    process = subprocess.Popen(
        [str(ATOLL), "run", "--", "sleep"],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == -signal.SIGTERM


def test_run_json_prints_the_programs_lines_as_events(tmp_path: Path) -> None:
    write(tmp_path, {**PROGRAM, "src/main.cpp": ECHO})
    done = atoll("run", "--json", "--", "x", where=tmp_path)
    assert done.returncode == 7
    found = events(done.stdout)
    assert found[-3:] == [
        {"event": "output", "text": "[x]from stdin"},
        {"event": "exit", "code": 7},
        {"event": "result", "ok": False, "diagnostics": []},
    ]


def test_run_of_a_library_is_refused_with_what_runs(tmp_path: Path) -> None:
    more = '[targets.lib]\nkind = "static"\nsources = ["src/main.cpp"]\n'
    write(tmp_path, {**PROGRAM, "atoll.toml": PROGRAM["atoll.toml"] + more})
    done = atoll("run", "lib", where=tmp_path)
    assert done.returncode == 2
    assert "`lib` is a static library and cannot be run" in done.stderr
    assert "targets that run: demo" in done.stderr


# test

TESTS = {
    "atoll.toml": PACKAGE
    + "".join(
        f'[targets.{name}]\nkind = "test"\nsources = ["t/{name}.c"]\n{more}'
        for name, more in {
            "passes": "",
            "skips": "",
            "fails": "",
            "crashes": "",
            "hangs": "timeout = 0.5\nexclusive = true\n",
            "writes": 'args = ["here"]\n',
            "reports": "",
        }.items()
    ),
    "t/passes.c": "int main(void) { return 0; }\n",
    "t/skips.c": '#include <stdio.h>\nint main(void) { puts("talk\\nno such device here"); return 77; }\n',
    "t/fails.c": '#include <stdio.h>\nint main(void) { puts("saw 3, not 4"); return 3; }\n',
    "t/crashes.c": "#include <stdlib.h>\nint main(void) { abort(); }\n",
    "t/hangs.c": "#include <unistd.h>\nint main(void) { fork(); for (;;) pause(); }\n",
    "t/writes.c": '#include <stdio.h>\nint main(int c, char** v) { return c != 2 || !fopen(v[1], "wx"); }\n',
    "t/reports.c": "#include <stdio.h>\n#include <stdlib.h>\nint main(void) { FILE* f = fopen(getenv("
    '"ATOLL_DEVICE_REPORT"), "a"); fputs("Some GPU\\n", f); return fclose(f); }\n',
}


def verdicts(done: subprocess.CompletedProcess[str]) -> dict[str, tuple[str, str]]:
    found = [event for event in events(done.stdout) if event["event"] == "test"]
    return {str(event["name"]): (str(event["verdict"]), str(event["reason"])) for event in found}


def test_each_end_of_a_test_has_its_verdict(tmp_path: Path) -> None:
    write(tmp_path, TESTS)
    begin = time.monotonic()
    done = atoll("test", "--json", where=tmp_path)
    assert done.returncode == 1
    assert time.monotonic() - begin < 60
    assert verdicts(done) == {
        "passes": ("passed", ""),
        "skips": ("skipped", "no such device here"),
        "fails": ("failed", "it ended with 3"),
        "crashes": ("failed", f"it was ended by signal {int(signal.SIGABRT)}"),
        "hangs": ("failed", "it ran longer than 0.5 seconds"),
        "writes": ("passed", ""),
        "reports": ("passed", ""),
    }
    codes = [item["code"] for item in events(done.stdout)[-1]["diagnostics"]]
    assert codes == ["ATL0563"] * 3


def test_a_test_runs_in_an_empty_folder_each_time(tmp_path: Path) -> None:
    write(tmp_path, TESTS)
    assert atoll("test", "writes", where=tmp_path).returncode == 0
    assert atoll("test", "writes", where=tmp_path).returncode == 0


def test_the_report_names_the_device_and_require_device_wants_one(tmp_path: Path) -> None:
    write(tmp_path, TESTS)
    done = atoll("test", "reports", "passes", "--require-device", where=tmp_path)
    assert done.returncode == 1
    assert "passed reports on Some GPU" in done.stdout
    assert "it reported no device" in done.stdout
    assert "ATL0564" in done.stderr


def test_the_processor_is_no_device(tmp_path: Path) -> None:
    cpu = {**TESTS, "t/reports.c": TESTS["t/reports.c"].replace("Some GPU", "cpu")}
    write(tmp_path, cpu)
    done = atoll("test", "reports", "--require-device", where=tmp_path)
    assert done.returncode == 1
    assert "it reported the processor alone" in done.stdout
    assert atoll("test", "reports", where=tmp_path).returncode == 0


def test_a_project_without_tests_says_so(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    done = atoll("test", where=tmp_path)
    assert done.returncode == 0
    assert "no target of kind test" in done.stderr


# doctor


def test_doctor_exits_0_on_an_empty_machine_and_fills_every_cell(tmp_path: Path) -> None:
    done = atoll("doctor", "--json", where=tmp_path, PATH=str(tmp_path), ATOLL_DEVICE="cpu")
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["environment"] == {
        "ATOLL_DEVICE": "cpu",
        "ATOLL_STORE": str(tmp_path / "store"),
        "ATOLL_OFFLINE": "1",
    }
    kinds = {(row["kind"], row["name"]) for row in found["rows"]}
    assert {("lane", "host"), ("driver", "cpu")} <= kinds
    for row in found["rows"]:
        for cell in ("found", "payload", "devices", "can_build", "can_run"):
            assert row[cell] or row["why"][cell]["reason"], (row["name"], cell)
    host = next(row for row in found["rows"] if (row["kind"], row["name"]) == ("lane", "host"))
    assert host["why"]["can_build"]["fix"].startswith("install g++")


def test_doctor_says_yes_where_there_is_a_compiler(tmp_path: Path) -> None:
    found = json.loads(atoll("doctor", "--json", where=tmp_path).stdout)
    rows = {(row["kind"], row["name"]): row for row in found["rows"]}
    assert rows["lane", "host"]["can_build"] == "yes"
    assert rows["driver", "cpu"]["can_run"] == "yes"


def test_doctor_says_each_reason_once_and_fits_120_columns(tmp_path: Path) -> None:
    done = atoll("doctor", where=tmp_path, COLUMNS="120")
    found = json.loads(atoll("doctor", "--json", where=tmp_path).stdout)
    lines = done.stdout.splitlines()
    table = lines[: next(at for at, line in enumerate(lines) if line.startswith("driver "))]
    assert max(len(line) for line in table) <= 120
    missing = [row for row in found["rows"] if row["kind"] == "driver" and not row["devices"]]
    assert missing, "this machine has every device"
    for row in missing:
        why = row["why"]["devices"]
        assert sum(why["reason"] in line for line in lines) == 1
        assert f"driver {row['name']}: {why['reason']}" in lines
        assert f"  fix: {why['fix']}" in lines


def test_doctor_knows_who_compiles_for_the_processor(tmp_path: Path) -> None:
    found = json.loads(atoll("doctor", "--json", where=tmp_path).stdout)
    (row,) = [row for row in found["rows"] if (row["kind"], row["name"]) == ("driver", "cpu")]
    assert row["can_build"] == "by python"


def test_doctor_as_text_is_a_table_with_reasons(tmp_path: Path) -> None:
    done = atoll("doctor", where=tmp_path, COLUMNS="200")
    assert done.returncode == 0
    for word in ("can build", "lane host", "driver cpu", "fix:", "ATOLL_OFFLINE=1"):
        assert word in done.stdout
    assert "\x1b" not in done.stdout
