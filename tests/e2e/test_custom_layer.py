"""A layer of one's own: fused, recorded, shipped, and the same bytes on every device."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from e2e.harness import EXAMPLES, copied, machine


def test_the_example_is_one_kernel_with_the_same_bytes_on_every_device(tmp_path: Path) -> None:
    assert (EXAMPLES / "custom_layer").is_dir()
    folder = copied("custom_layer", tmp_path)
    command = [sys.executable, "run.py", "vulkan", "cpu", "opencl"]
    done = subprocess.run(command, cwd=folder, env=machine(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert {line.split(" on ")[0] for line in lines} == {lines[0].split(" on ")[0]}
    assert lines[0].startswith("1 kernel, ")
    assert "llvmpipe" in lines[0]
    assert (folder / "layer.json").is_file()
