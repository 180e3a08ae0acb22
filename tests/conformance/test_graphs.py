"""Recorded launches do what they did one by one, own what they refer to, and are seen in a trace."""

from __future__ import annotations

import gc
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import atoll
from atoll import f32, kernel, view
from atoll.errors import DeviceError, LaunchError
from atoll.runtime.array import array, empty
from atoll.runtime.device import Device
from conformance.driver_kernels import driver, needs_device

BACKENDS = ("cpu", "vulkan", "opencl")


@kernel
def add(x: view[f32], y: view[f32], out: view[f32]) -> None:
    i = atoll.global_id(0)
    if i < out.size:
        out[i] = x[i] + y[i]


@pytest.fixture(params=BACKENDS)
def device(request: pytest.FixtureRequest) -> Device:
    needs_device(driver(request.param))
    return atoll.open(request.param)


def test_a_replay_does_what_the_launches_did(device: Device) -> None:
    x, total = array(np.ones(100, np.float32), device=device), array(np.zeros(100, np.float32), device=device)
    launch = add.over(100, device=device)
    with atoll.capture(device) as graph:
        for _ in range(5):
            launch(x, total, total)
    assert len(graph) == 5
    assert total.numpy().max() == 0, "a launch ran while it was recorded"
    before = total.buffer.epoch
    for _ in range(3):
        graph.replay()
    assert total.buffer.epoch != before
    launch(x, total, total)
    assert total.numpy().tolist() == [16.0] * 100
    graph.close()
    with pytest.raises(DeviceError, match="can no longer be used"):
        graph.replay()


def test_a_graph_owns_its_arrays(device: Device) -> None:
    out = empty((64,), "f32", device=device)
    with atoll.capture(device) as graph:
        add.over(64, device=device)(
            array(np.full(64, 2, np.float32), device=device),
            array(np.full(64, 3, np.float32), device=device),
            out,
        )
    gc.collect()
    noise = [array(np.full(64, 9, np.float32), device=device) for _ in range(4)]
    graph.replay()
    assert out.numpy().tolist() == [5.0] * 64
    assert len(noise) == 4


def test_launches_of_a_batch_see_each_other(device: Device) -> None:
    x, total = array(np.ones(10, np.float32), device=device), array(np.zeros(10, np.float32), device=device)
    with device.batch():
        for _ in range(20):
            add.over(10, device=device)(x, total, total)
    assert total.numpy().tolist() == [20.0] * 10


def test_host_arrays_are_not_recorded(device: Device) -> None:
    x = np.ones(4, np.float32)
    launch = add.over(4, device=device)
    launch(x, x, x.copy())
    with atoll.capture(device), pytest.raises(LaunchError, match="do not lie on the device"):
        launch(x, x, x)
    with atoll.capture(device), pytest.raises(LaunchError, match="recording already"), atoll.capture(device):
        pass


def test_a_trace_has_the_calls_and_what_the_device_ran(device: Device, tmp_path: Path) -> None:
    x, out = array(np.ones(1000, np.float32), device=device), empty((1000,), "f32", device=device)
    with atoll.trace(tmp_path / "run.json"):
        for _ in range(10):
            add.over(1000, device=device)(x, x, out)
        assert out.numpy()[0] == 2
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    tracks = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    assert {"download"} <= {event["name"] for event in spans if tracks[event["pid"]] == "host"}
    assert all(event["dur"] >= 0 for event in spans)
    ran = [event for event in spans if tracks[event["pid"]] != "host"]
    assert [event["name"] for event in ran] == ["add"] * 10
    assert all(device.name in tracks[event["pid"]] for event in ran)
    assert all(first["ts"] <= second["ts"] for first, second in pairwise(ran))
    low, high = min(event["ts"] for event in spans), max(event["ts"] + event["dur"] for event in spans)
    assert high - low < 60e6


def test_a_trace_has_each_launch_of_a_graph_and_of_a_long_batch(device: Device, tmp_path: Path) -> None:
    x, out = array(np.ones(64, np.float32), device=device), array(np.zeros(64, np.float32), device=device)
    launch = add.over(64, device=device)
    with atoll.capture(device) as graph:
        for _ in range(5):
            launch(x, out, out)
    with atoll.trace(tmp_path / "run.json") as made:
        graph.replay()
        with device.batch():
            for _ in range(300):
                launch(x, out, out)
        graph.replay()
    assert out.numpy().tolist() == [310.0] * 64
    assert sum(span.name == "add" for span in made.spans) == 310
    graph.replay()
    assert out.numpy().tolist() == [315.0] * 64


def test_a_copy_of_an_array_is_made_on_its_device(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    x = array(np.arange(100, dtype=np.float32), device=device)
    through_the_host: list[str] = []
    monkeypatch.setattr(device, "download", lambda *_: through_the_host.append("download"))
    monkeypatch.setattr(device, "upload", lambda *_: through_the_host.append("upload"))
    made = array(x[10:50], device=device)
    assert made.buffer is not x.buffer
    monkeypatch.undo()
    assert through_the_host == []
    assert made.numpy().tolist() == list(range(10, 50))
    assert array(x[::2], device=device).numpy().tolist() == list(range(0, 100, 2))
    elsewhere = array(x, device="cpu")
    assert elsewhere.device.info.driver == "cpu"
    assert elsewhere.numpy().tolist() == list(range(100))
