"""The C of a shipped kernel: its code as records, and the entry that fills arguments and launches."""

from __future__ import annotations

from collections.abc import Sequence

from atoll.accel import PROCESSOR
from atoll.boundary import Parameter, struct_text
from atoll.ir import SCALARS, ParamField
from atoll.plugin import Emitted
from atoll.runtime.record import Record, c_array
from atoll_plugins.python.contract import HELPERS, checks
from atoll_plugins.python.values import CTYPES, Described, Field, Param, by_kernel_name, parameters

_HEAD = """\
/* Made by Atoll from {file}:{line}. */
{code}
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "atoll_launch.h"
{structs}
ATOLL_DRIVER({driver});
"""


def source(kernel: Described, emitted: Sequence[Emitted], driver: str) -> str:
    """Return the C file of one kernel for one driver.

    Args:
        kernel: What it is.
        emitted: Its codes for the driver; for the processor one C text.
        driver: The driver that launches it.
    """
    processor = driver == PROCESSOR
    arrays, codes = _processor_code(emitted[0]) if processor else _embedded(kernel, emitted)
    # The processor's code is C text of its own, which comes first because it says how to be compiled.
    structs = {param.struct: None for param in kernel.params if param.struct}
    head = _HEAD.format(
        file=kernel.file,
        line=kernel.line,
        code=arrays if processor else "",
        structs="\n".join(line for struct in structs for line in struct_text(struct)),
        driver=driver,
    )
    helpers = HELPERS if kernel.requires else ""
    return "\n".join(
        [head, "" if processor else arrays, helpers, *_entry(kernel, emitted[0], codes, driver), ""]
    )


def _processor_code(emitted: Emitted) -> tuple[str, list[str]]:
    shared = emitted.layout.shared_bytes
    held = f"static const atoll_cpu_code atoll_code_ = {{{emitted.entry}, {shared}u}};"
    return emitted.code.decode(), [held, '{&atoll_code_, sizeof atoll_code_, "", "", ""}']


def _embedded(kernel: Described, emitted: Sequence[Emitted]) -> tuple[str, list[str]]:
    texts, rows = [], [""]
    for index, item in enumerate(emitted):
        record = Record(
            backend=item.target.backend,
            kind=item.stage,
            entry=item.entry,
            payload=item.code,
            arch=item.arch,
            floor=item.floor,
            version=item.version,
            declared=item.declared,
        )
        held = c_array(f"atoll_code_{kernel.name}_{index}", record)
        texts.append(held.text)
        said = ", ".join(_text(value) for value in (item.arch, item.floor, item.version))
        rows.append(f"{{{held.data}, {held.size}, {said}}}")
    return "\n".join(texts), rows


def _text(value: str) -> str:
    plain = "".join(char if char.isalnum() or char in "._-+" else f"\\{ord(char):03o}" for char in value)
    return f'"{plain}"'


def _entry(kernel: Described, emitted: Emitted, codes: list[str], driver: str) -> list[str]:
    layout, group = emitted.layout, _group(kernel, emitted)
    params = parameters(kernel)
    domain = [param.name for param in params[: kernel.rank]]
    lines = [f"int {kernel.name}({', '.join(_declared(param) for param in params)}) {{"]
    lines += [f"  {codes[0]}"] if codes[0] else []
    lines += [f"  static const atoll_code atoll_codes_[] = {{{', '.join(codes[1:])}}};"]
    lines += [f"  _Alignas(8) unsigned char atoll_block_[{max(layout.block_bytes, 8)}] = {{0}};"]
    lines += checks(kernel.name, kernel.requires, by_kernel_name(kernel, params))
    lines += _domain_checks(kernel, domain, group)
    for item in layout.fields:
        lines += _field(item, _value(item, kernel, params, domain))
    lines += _launch(kernel, emitted, params, group, domain, driver)
    return [*lines, "}"]


def _declared(param: Parameter) -> str:
    space = "" if param.ctype.endswith("*") else " "
    return f"{param.ctype}{space}{param.name}"


def _group(kernel: Described, emitted: Emitted) -> tuple[int, int, int]:
    from atoll.kernels.shapes import DEFAULT_BLOCKS

    for group in (emitted.layout.group, kernel.group):
        if any(group):
            return group
    return DEFAULT_BLOCKS[kernel.rank]


def _domain_checks(kernel: Described, domain: list[str], group: tuple[int, int, int]) -> list[str]:
    lines = []
    for name, size in zip(domain, group, strict=False):
        too_many = f"{kernel.name}: at most 2147483647 work-items run in a dimension"
        lines.append(f"  if ({name} > INT32_MAX) {{ atoll_fail({_quoted(too_many)}); return 1; }}")
        if kernel.waits:
            whole = (
                f"{kernel.name}: its work-items wait for each other, "
                "so its domain has to be whole work-groups: "
                f"%u is no multiple of {size}"
            )
            lines += [
                f"  if ({name} % {size}u != 0) {{",
                "    char atoll_text_[256];",
                f"    (void)snprintf(atoll_text_, sizeof atoll_text_, {_quoted(whole)}, (unsigned){name});",
                "    atoll_fail(atoll_text_);",
                "    return 1;",
                "  }",
            ]
    empty = " || ".join(f"{name} == 0" for name in domain)
    return [*lines, f"  if ({empty}) return 0;"]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(item: ParamField, kernel: Described, params: Sequence[Parameter], domain: list[str]) -> str:
    """Return the C expression of a field of the parameter block."""
    name, _, rest = item.path.partition(".")
    if name == "domain" and rest.isdigit():  # a view of that name has `domain.offset` and so on
        return domain[int(rest)] if int(rest) < len(domain) else "1"
    param, field = _by_kir_name(kernel)[name]
    entry = by_kernel_name(kernel, params)[param.name]
    if not rest:
        return f"{entry.name}.{field.name}" if field else entry.name
    what, _, axis = rest.partition(".")
    if what == "offset":
        return f"offsetof({param.type}, {field.name}) / {_size(field)}" if field else "0"
    extent = entry.extent
    assert extent is not None
    if what == "size":
        return f"(int64_t){extent.dimensions[int(axis)]}"
    inner = [f"(int64_t){size}" for size in extent.dimensions[int(axis) + 1 :]]
    inner += [f"(int64_t)(sizeof({param.type}) / {_size(field)})"] if field else []
    return " * ".join(inner) if inner else "1"


def _size(field: Field) -> str:
    return f"sizeof({CTYPES[field.type]})"


def _by_kir_name(kernel: Described) -> dict[str, tuple[Param, Field | None]]:
    """Return the parameter of the source, and of a struct the field, that each parameter of KIR is."""
    plain: dict[str, tuple[Param, Field | None]] = {
        param.kir: (param, None) for param in kernel.params if not param.fields
    }
    return plain | {field.kir: (param, field) for param in kernel.params for field in param.fields}


def _field(item: ParamField, value: str) -> list[str]:
    scalar = SCALARS[item.type]
    wide = "int32_t" if scalar.is_signed else "uint32_t"
    ctype = wide if scalar.bits < 32 else CTYPES[item.type]
    copied = f"memcpy(atoll_block_ + {item.offset}, &atoll_value_, sizeof atoll_value_);"
    return [f"  {{ const {ctype} atoll_value_ = {value}; {copied} }}"]


def _launch(
    kernel: Described,
    emitted: Emitted,
    params: Sequence[Parameter],
    group: tuple[int, int, int],
    domain: list[str],
    driver: str,
) -> list[str]:
    names = by_kernel_name(kernel, params)
    args = []
    for param in kernel.params:
        if param.rank:
            entry = names[param.name]
            assert entry.extent is not None
            size = " * ".join([*entry.extent.dimensions, f"sizeof(*{entry.name})"])
            # What a kernel leaves alone in a written array has to come back as it was.
            access = "ATOLL_BOTH" if param.written else "ATOLL_READ"
            # Each field is a view of its own over the same memory, which launchers give one buffer.
            args += [f"{{ATOLL_BUFFER, {access}, (void *){entry.name}, {size}, 0, 0}}"] * max(
                len(param.fields), 1
            )
    if emitted.layout.block_bytes:
        args.append(f"{{ATOLL_SCALAR, ATOLL_READ, atoll_block_, {emitted.layout.block_bytes}, 8, 0}}")
    groups = [
        f"(uint32_t)(((uint64_t){name} + {size - 1}u) / {size}u)"
        for name, size in zip(domain, group, strict=False)
    ]
    return [
        f"  const atoll_arg atoll_args_[] = {{{', '.join(args) or '{0}'}}};",
        "  const atoll_launch atoll_launch_ = {",
        "      .abi = ATOLL_LAUNCH_ABI,",
        f'      .entry = "{emitted.entry}",',
        "      .codes = atoll_codes_,",
        "      .code_count = sizeof atoll_codes_ / sizeof atoll_codes_[0],",
        f"      .groups = {{{', '.join([*groups, '1', '1'][:3])}}},",
        f"      .group = {{{', '.join(map(str, group))}}},",
        "      .args = atoll_args_,",
        f"      .arg_count = {len(args)},",
        "  };",
        f"  return atoll_run(&atoll_driver_{driver}, &atoll_launch_);",
    ]
