"""What a compiled function is called: the one definition of the reserved names.

The decorators, the collector, ahead-of-time readers and other packages find entries by these names
alone. A changed hash or prefix orphans every artifact ever written; a test pins both.

Words: a *symbol* is a reserved name (``atoll_v1_kernel_4c624493_saxpy``); its *base name* is what the
author wrote (``saxpy``); the *reserved root* is the start that no author may use.
"""

from __future__ import annotations

import re
from enum import StrEnum

#: The first eight hex digits of SHA-256 of ``atoll_ + python``.
HASH = "4c624493"
#: Names of this shape belong to Atoll, whatever the version.
RESERVED = re.compile(r"atoll_v[0-9]+_")


class Role(StrEnum):
    """What kind of function a reserved symbol names."""

    KERNEL = "kernel"
    DEVICE = "device"
    DEVICE_EXTERN = "device_extern"
    INSTANTIATE = "instantiate"


#: No prefix is a substring of another one: each ends in the hash and an underscore.
PREFIXES = {role: f"atoll_v1_{role}_{HASH}_" for role in Role}


def symbol(role: Role, base: str) -> str:
    """Return the reserved symbol of a function."""
    return PREFIXES[role] + base


def kernel_symbol(base: str) -> str:
    """Return the entry point's name of a kernel."""
    return symbol(Role.KERNEL, base)


def role_of(name: str) -> Role | None:
    """Tell what a name is, bare or dotted: only its last segment counts; None for an ordinary name.

    A helper nested in a kernel (``atoll_v1_kernel_…_f.helper``) is therefore no kernel.
    """
    last = name.rpartition(".")[2]
    return next((role for role, prefix in PREFIXES.items() if last.startswith(prefix)), None)


def base_name(name: str) -> str:
    """Return what the author wrote for a reserved symbol, bare or dotted; other names as they are."""
    head, dot, last = name.rpartition(".")
    role = role_of(last)
    return name if role is None else f"{head}{dot}{last.removeprefix(PREFIXES[role])}"


def is_entry(name: str) -> bool:
    """Tell whether a name, bare or dotted, is a kernel's entry point."""
    return role_of(name) is Role.KERNEL


def is_reserved(name: str) -> bool:
    """Tell whether an author may not use this name because it lies under the reserved root."""
    return RESERVED.match(name) is not None
