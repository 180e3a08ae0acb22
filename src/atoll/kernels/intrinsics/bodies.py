"""What is one intrinsic for a target, as KIR by itself? What headers for other languages are made from."""

from __future__ import annotations

import inspect
import linecache
from dataclasses import dataclass
from typing import Any

from atoll.ir import Kernel
from atoll.kernels.front import compile_kernel
from atoll.kernels.front.signature import annotations_of
from atoll.kernels.intrinsics.interface import Intrinsic
from atoll.kernels.intrinsics.lookup import look_up
from atoll.kernels.pointers import ptr
from atoll.kernels.source import find
from atoll.plugin import Target

#: The pointer to which a body writes its result.
RESULT = "atoll_result"


@dataclass(frozen=True, slots=True)
class LoweredBody:
    """An intrinsic's body for a target.

    Attributes:
        kernel: It as a kernel: its parameters, then :data:`RESULT` where it has one, whose element 0 is it.
        names: The parameters' names.
        how: What the look-up found.
    """

    kernel: Kernel
    names: tuple[str, ...]
    how: str


def lowered(item: Intrinsic, target: Target) -> LoweredBody | None:
    """Return an intrinsic's body for a target, or None where it has none."""
    found = look_up(item, target)
    if found is None:
        return None
    function = find(item.device.function)
    types = annotations_of(function)
    result = types.pop("return", None)
    names = tuple(inspect.signature(item.device.function).parameters)
    bound: dict[str, Any] = {f"atoll_type_{at}": types[name] for at, name in enumerate(names)}
    listed = [f"{name}: atoll_type_{at}" for at, name in enumerate(names)]
    call = f"atoll_intrinsic({', '.join(names)})"
    if result is not None:
        pointers: Any = ptr
        bound["atoll_type_result"] = pointers[result]
        listed.append(f"{RESULT}: atoll_type_result")
        call = f"{RESULT}[0] = {call}"
    text = f"def {item.device.__name__}({', '.join(listed)}):\n    {call}\n"
    made = compile_kernel(_function(text, item, bound), target=target)
    return LoweredBody(made.optimised.kernels[0], names, found.how)


def _function(text: str, item: Intrinsic, bound: dict[str, Any]) -> Any:
    file = f"<intrinsic {item.name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {"atoll_intrinsic": item, **bound}
    exec(compile(text, file, "exec", dont_inherit=True), names)  # noqa: S102 - our own text
    return names[item.device.__name__]
