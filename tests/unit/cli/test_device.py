"""`atoll device`: data on stdout, talk on stderr, and a refusal that lists what exists."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from click.testing import CliRunner

from atoll import plugin, runtime
from atoll.cli.device import command
from atoll.diagnostics import Diagnostic
from atoll.errors import DeviceError
from atoll.plugin import DeviceInfo
from atoll.runtime import Device
from unit.runtime.fakes import MemoryDevice, MemoryDriver, info, status
from unit.runtime.test_device import Doors

STATUSES = (
    status("mem", 5, *MemoryDriver().devices()),
    status("fast", 10, reason="libfast.so.1 could not be opened"),
    status("cpu", 1000, info("cpu", 0, "A Processor", software=True)),
)


def choose(name: str | None = None) -> DeviceInfo:
    if name not in (None, "mem", "mem:0"):
        raise DeviceError(Diagnostic(code="ATL0801", message=f"there is no device `{name}`"))
    return MemoryDriver().devices()[0]


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "statuses", lambda: STATUSES)
    monkeypatch.setattr(runtime, "choose", choose)
    monkeypatch.setattr(runtime, "open", lambda name: Device(MemoryDevice(choose(name))))


def call(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(command, words)
    return done.exit_code, done.stdout, done.stderr


def as_data(*words: str, code: int = 0) -> dict[str, Any]:
    status_code, out, _ = call(*words, "--json")
    assert status_code == code
    found: dict[str, Any] = json.loads(out)
    return found


def test_the_list_has_a_line_a_device_and_the_reasons_apart() -> None:
    code, out, err = call("list")
    assert code == 0
    assert out.splitlines() == [
        "mem:0        Memory",
        "mem:1        Other Memory",
        "cpu:0        A Processor  (software)",
    ]
    assert err == "fast: libfast.so.1 could not be opened; buy one\n"


def test_one_device_may_be_asked_for() -> None:
    assert call("list", "--device", "mem") == (0, "mem:0        Memory\n", "")


def test_the_list_as_json_has_devices_drivers_and_diagnostics() -> None:
    found = as_data("list")
    assert [row["device"] for row in found["devices"]] == ["mem:0", "mem:1", "cpu:0"]
    assert [row["driver"] for row in found["drivers"]] == ["mem", "fast", "cpu"]
    assert found["drivers"][1]["fix"] == "buy one"
    assert found["diagnostics"] == []


def test_info_describes_the_default_and_what_is_emitted_for_it() -> None:
    code, out, _ = call("info")
    assert code == 0
    rows = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert (rows["device"], rows["name"], rows["software"], rows["target"]) == (
        "mem:0",
        "Memory",
        "no",
        "mem",
    )
    assert as_data("info")["device"]["target"] == "mem"


def test_info_takes_the_device_as_its_argument_too() -> None:
    assert call("info", "mem") == call("info", "--device", "mem") == call("info", "mem", "--device", "mem")
    code, _, err = call("info", "mem", "--device", "cpu")
    assert code == 2
    assert "two devices are named: mem and --device cpu" in err
    assert call("info", "nothing")[0] == 1


@pytest.mark.parametrize("verb", ["list", "info"])
def test_a_device_that_does_not_exist_is_refused(verb: str) -> None:
    code, out, err = call(verb, "--device", "nothing")
    assert (code, out) == (1, "")
    assert err == "error[ATL0801]: there is no device `nothing`\n"
    found = as_data(verb, "--device", "nothing", code=1)
    assert [item["code"] for item in found["diagnostics"]] == ["ATL0801"]


def test_help_imports_no_driver_and_no_numpy() -> None:
    text = (
        "import sys\nfrom atoll.cli import main\n"
        "try:\n    main(['device', '--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'cffi', 'ctypes'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_the_memory_has_now_is_said_where_the_driver_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(MemoryDriver):
        def memory(self, index: int) -> dict[str, int]:
            return {"total": 64 + index, "used": 3}

    assert as_data("info")["device"]["memory"] == {}
    monkeypatch.setattr(plugin, "registry", lambda: Doors(Told()))
    assert as_data("info")["device"]["memory"] == {"total": 64, "used": 3}
    assert "memory total     64\nmemory used      3\n" in call("info")[1]
