"""Write the golden files of the emitters: saxpy and a block sum for each target. `--check` only compares."""

from __future__ import annotations

import sys
from pathlib import Path

from atoll.plugin import Target, registry
from atoll.testing.programs import programs

HERE = Path(__file__).parent
TARGETS = (
    Target(backend="cpu"),
    Target(backend="cuda", arch="sm_80"),
    Target(backend="cuda", arch="sm_90"),
    Target(backend="opencl", version="1.2"),
    Target(backend="vulkan", version="1.2"),
)
NAMES = ("saxpy", "block_sum")


def golden() -> dict[Path, bytes]:
    """Return every golden file with what the emitters write today."""
    found = {}
    for program in programs():
        if program.name not in NAMES:
            continue
        for target in TARGETS:
            emitter = registry().emitters[target.backend]
            code = emitter.emit(program.module, program.name, target, program.group)
            where = f"{program.name}.{target.backend}{target.arch}{target.version}{code.suffix}"
            found[HERE / where] = code.code
    return found


def main() -> None:
    """Write, or with ``--check`` tell what would change."""
    changed = [path for path, code in golden().items() if not path.exists() or path.read_bytes() != code]
    if "--check" in sys.argv:
        sys.exit("\n".join(f"would change: {path.name}" for path in changed))
    for path in changed:
        path.write_bytes(golden()[path])
        print(path.name)


if __name__ == "__main__":
    main()
