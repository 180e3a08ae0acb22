"""`atoll kernel`: what does a kernel become, is it right, and what does a device say?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from atoll.cli._answer import answering, plain
from atoll.cli._group import WholeGroup

if TYPE_CHECKING:
    from atoll.diagnostics import Diagnostic
    from atoll.kernels import KernelFunction

_FILE = click.argument("file", metavar="FILE[:NAME]")
_JSON = click.option("--json", "as_data", is_flag=True, help="Print one JSON object.")


@click.group(name="kernel", cls=WholeGroup)
def command() -> None:
    """Show, check and run kernels written in Python."""


@command.command(name="show")
@_FILE
@click.option("--target", metavar="PLATFORM[:ARCH]", help="What to emit for, such as cpu.")
@click.option("--stage", metavar="NAME", help="`kir`, `kir-optimised`, or one of the target's stages.")
@click.option("--lines", is_flag=True, help="Put the lines of the source into the code, for debuggers.")
@click.option("--without", metavar="PASS", multiple=True, help="Leave out a pass over KIR; may be repeated.")
@_JSON
def show(
    file: str,
    target: str | None,
    stage: str | None,
    lines: bool,
    without: tuple[str, ...],
    as_data: bool,
) -> None:
    """Print a kernel as KIR, or as a target's text; a binary stage that is named as its bytes."""
    with answering(as_data) as answer:
        from atoll.kernels.files import select

        wanted = stage or ("kir" if target is None else None)
        if target is None and wanted not in ("kir", "kir-optimised"):
            raise _no_target(str(stage))
        rows = [
            (kernel, kernel.show(target or "", wanted, lines=lines, without=without))
            for kernel in select(file)
        ]
        answer["kernels"] = [
            {"name": kernel.__name__, "text": code if isinstance(code, str) else None, "hex": _hex(code)}
            for kernel, code in rows
        ]
        if not as_data:
            for _, code in rows:
                _print_code(code, stage, target)


def _no_target(stage: str) -> Exception:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError
    from atoll.plugin import registry

    return UsageError(
        Diagnostic(
            code="ATL0763",
            message=f"the stage `{stage}` belongs to a target, and none is named",
            notes=(f"targets: {', '.join(registry().emitters)}",),
            hint="add `--target`",
        )
    )


def _hex(code: str | bytes) -> str | None:
    return code.hex() if isinstance(code, bytes) else None


def _print_code(code: str | bytes, stage: str | None, target: str | None) -> None:
    if isinstance(code, str):
        click.echo(code, nl=not code.endswith("\n"))
    elif sys.stdout.isatty():
        raise _binary(len(code), stage, str(target))
    else:
        sys.stdout.buffer.write(code)


def _binary(size: int, stage: str | None, target: str) -> Exception:
    from atoll.diagnostics import Diagnostic
    from atoll.errors import UsageError

    text = ", or leave `--stage` out to read it" if stage else ""
    return UsageError(
        Diagnostic(
            code="ATL0763",
            message=f"the stage `{stage or 'native'}` of `{target}` is binary, and stdout is a terminal",
            notes=(f"it has: {size} bytes",),
            hint=f"redirect it (`> kernel.bin`){text}",
        )
    )


@command.command(name="check")
@_FILE
@click.option("--target", "targets", metavar="PLATFORM[:ARCH]", multiple=True, help="Also emit for this.")
@click.option("--races", is_flag=True, help="Also run the oracle on sample arguments and look for races.")
@click.option("--size", metavar="N", type=click.IntRange(1, 1 << 16), help="Work-items in a dimension.")
@click.option("--seed", metavar="N", type=int, default=0, help="Of the arguments and the schedule.")
@click.option("-v", "--verbose", is_flag=True, help="Say what is compiled, and what is skipped.")
@_JSON
def check(
    file: str,
    targets: tuple[str, ...],
    races: bool,
    size: int | None,
    seed: int,
    verbose: bool,
    as_data: bool,
) -> None:
    """Compile every kernel of a file and list all that is wrong; needs no device.

    For a target that is every operation it lacks, and what a device of it must have.
    """
    failed = False
    with answering(as_data) as answer:
        from atoll.diagnostics import Severity, as_json, render
        from atoll.kernels.files import select

        rows: dict[str, list[str]] = {}
        found: list[Diagnostic] = []
        for kernel in select(file):
            faults, done = _checked(kernel, targets, races=races, size=size, seed=seed)
            found += faults
            rows[kernel.__name__] = done
        failed = any(item.severity is Severity.ERROR for item in found)
        if verbose and not failed:
            from atoll.kernels.collector import collect

            for line in collect(select(file)).lines():
                click.echo(line, err=True)
        answer |= {"kernels": rows, "diagnostics": [as_json(item) for item in found]}
        if not as_data:
            for name, done in rows.items():
                if done:
                    click.echo(f"{name}: {', '.join(done)}")
            for item in found:
                click.echo(render(item), err=True)
    sys.exit(1 if failed else 0)


def _checked(
    kernel: KernelFunction, targets: tuple[str, ...], *, races: bool, size: int | None, seed: int
) -> tuple[list[Diagnostic], list[str]]:
    """Return what is wrong with a kernel and what a device must have, and what was done without a fault."""
    from atoll.errors import AtollError, UsageError
    from atoll.kernels.needs import needs
    from atoll.kernels.show import emit, target_named

    faults: list[Diagnostic] = []
    done: list[str] = []
    try:
        kernel.compiled()
    except AtollError as error:
        return list(error.diagnostics), done
    done.append("compiles")
    for text in targets:
        try:
            emitter, target = target_named(text)
            emit(kernel, emitter, target)
            done.append(f"emits for {text}")
        except UsageError:
            raise
        except AtollError as error:
            faults += error.diagnostics
        faults += needs(kernel, emitter, target)
    if races:
        try:
            _run_oracle(kernel, size, seed)
            done.append("no race found")
        except AtollError as error:
            faults += error.diagnostics
    return faults, done


def _run_oracle(kernel: KernelFunction, size: int | None, seed: int) -> None:
    from atoll.kernels.sample import sample

    given = sample(kernel.compiled(), size, seed)
    kernel.python(given.domain, seed=seed, races=True)(*given.fresh())


@command.command(name="run")
@_FILE
@click.option("--target", "device", metavar="DEVICE", help="The device: a driver, driver:index or a name.")
@click.option("--size", metavar="N", type=click.IntRange(1, 1 << 20), help="Work-items in a dimension.")
@click.option("--seed", metavar="N", type=int, default=0, help="Of the sample arguments.")
@_JSON
def run(file: str, device: str | None, size: int | None, seed: int, as_data: bool) -> None:
    """Launch every kernel of a file on sample arguments and compare with the oracle."""
    wrong = False
    with answering(as_data) as answer:
        from atoll.kernels.files import select

        rows: list[dict[str, Any]] = []
        for kernel in select(file):
            name, differences = _compared(kernel, device, size, seed)
            rows.append({"name": kernel.__name__, "device": name, "differences": differences})
            if not as_data:
                verdict = "differs from the oracle" if differences else "equal to the oracle"
                click.echo(f"{kernel.__name__}: {verdict} on {plain(name)}")
                for line in differences:
                    click.echo(f"  {line}", err=True)
        answer["kernels"] = rows
        wrong = any(row["differences"] for row in rows)
    sys.exit(1 if wrong else 0)


def _compared(
    kernel: KernelFunction, device: str | None, size: int | None, seed: int
) -> tuple[str, list[str]]:
    from atoll.kernels.sample import differs, sample

    given = sample(kernel.compiled(), size, seed)
    expected, mine = given.fresh(), given.fresh()
    kernel.python(given.domain, seed=seed)(*expected)
    done = kernel.over(given.domain, device=device)(*mine)
    return done.device, differs(kernel.compiled(), mine, expected)


@command.command(name="bench")
@_FILE
@click.option("--target", "device", metavar="DEVICE", help="The device: a driver, driver:index or a name.")
@click.option("--size", metavar="N", type=click.IntRange(1, 1 << 20), help="Work-items in a dimension.")
@click.option("--block", metavar="N", type=click.IntRange(1, 1024), multiple=True, help="Blocks to compare.")
@_JSON
def bench(file: str, device: str | None, size: int | None, block: tuple[int, ...], as_data: bool) -> None:
    """Measure every kernel of a file: compiling it anew, and a launch on arrays that the device holds."""
    with answering(as_data) as answer:
        from atoll.kernels.files import select

        rows: list[dict[str, Any]] = []
        for kernel in select(file):
            for wanted in block or (None,):
                row = _measured(kernel, device, size, wanted)
                rows.append(row)
                if not as_data:
                    compiled, launched = row["compile_seconds"] * 1e3, row["launch_seconds"] * 1e6
                    times = f"compiled in {compiled:.2f} ms, launched in {launched:.1f} µs"
                    where = f"block {row['block']} on {plain(row['device'])}"
                    click.echo(f"{row['name']}: {times}, {where}")
        answer["kernels"] = rows


def _measured(
    kernel: KernelFunction, device: str | None, size: int | None, block: int | None
) -> dict[str, Any]:
    import time

    from atoll.kernels.front import compile_kernel
    from atoll.kernels.launch import open_device
    from atoll.kernels.sample import sample
    from atoll.kernels.shapes import fitted, over_shape
    from atoll.kernels.tune import measure
    from atoll.plugin import registry

    opened = open_device(device)
    given = sample(kernel.compiled(), size)
    shape = fitted(over_shape(kernel.compiled().kernel, given.domain, block), opened.info)
    emitter, target = registry().emitters[opened.target().backend], opened.target()
    start = time.perf_counter()
    module = compile_kernel(
        kernel.function, kernel.block, kernel.bindings, kernel.__name__, contract=kernel.contract
    ).module
    emitter.emit(module, kernel.__name__, target, shape.block)
    compiled = time.perf_counter() - start
    return {
        "name": kernel.__name__,
        "device": opened.info.name,
        "domain": list(given.domain),
        "block": list(shape.block),
        "compile_seconds": compiled,
        "launch_seconds": measure(kernel, given.domain, given.arguments, opened, shape.block),
    }
