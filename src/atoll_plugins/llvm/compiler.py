"""What does LLVM make of the IR? Optimised code in this process, or an object file, through llvmlite.

llvmlite is the extra `atoll[llvm]`; finding out whether it is there imports nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

#: The first llvmlite whose LLVM (22) was measured.
LEAST = (0, 50)
SPEED = 2


class LlvmError(Exception):
    """LLVM refused the text; its own words."""


@cache
def installed() -> str | None:
    """Return the version of llvmlite, or None where there is none or one too old."""
    if find_spec("llvmlite") is None:
        return None
    try:
        found = version("llvmlite")
    except PackageNotFoundError:
        return None
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    return found if numbers >= LEAST else None


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def _machine(triple: str, processor: str, features: str, *, jit: bool) -> Any:
    target = _binding().Target.from_triple(triple)
    return target.create_target_machine(
        cpu=processor, features=features, opt=SPEED, reloc="default" if jit else "pic", jit=jit
    )


def _optimised(text: str, machine: Any, triple: str) -> Any:
    binding = _binding()
    try:
        module = binding.parse_assembly(text)
        module.triple = triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise LlvmError(str(error)) from error
    options = binding.create_pipeline_tuning_options(speed_level=SPEED)
    # LLVM 22 reads straight on where an index wraps inside a row: `row[(i + lane) & 31]` in 32 turns.
    options.loop_vectorization = False
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module


@dataclass(frozen=True, slots=True)
class Loaded:
    """A function in this process; its code goes when this is dropped."""

    address: int
    engine: Any


def load(text: str, name: str, functions: tuple[str, ...]) -> Loaded:
    """Compile a module for this processor and return the address of one function.

    Args:
        text: The module.
        name: The function.
        functions: The functions of the C library that the text calls: LLVM ends the process where it cannot
            find one, so each is looked up before.

    Raises:
        LlvmError: Where the text is not valid or a function is missing.
    """
    binding = _binding()
    missing = [item for item in functions if not _found(item)]
    if missing:
        raise LlvmError(f"the C library has no {', '.join(missing)}")
    triple = binding.get_process_triple()
    features = binding.get_host_cpu_features().flatten()
    machine = _machine(triple, binding.get_host_cpu_name(), features, jit=True)
    module = _optimised(text, machine, triple)
    if not any(item.name == name and not item.is_declaration for item in module.functions):
        raise LlvmError(f"the text has no function {name}")
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Loaded(engine.get_function_address(name), engine)


def _found(name: str) -> bool:
    if _binding().address_of_symbol(name):
        return True
    from ctypes.util import find_library

    library = find_library("m")
    if library is not None:
        _binding().load_library_permanently(library)
    return bool(_binding().address_of_symbol(name))


def object_file(text: str, triple: str, processor: str) -> bytes:
    """Return the relocatable object of a module.

    Raises:
        LlvmError: Where the text is not valid.
    """
    machine = _machine(triple, processor, "", jit=False)
    found: bytes = machine.emit_object(_optimised(text, machine, triple))
    return found
