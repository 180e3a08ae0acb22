"""What is this host? The C library's version and the processor, as facts."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping

from atoll.artifact import Fact


class HostProbe:
    """States ``host.machine`` and, on glibc, ``host.glibc``."""

    name = "host"

    def facts(self, environment: Mapping[str, str]) -> tuple[Fact, ...]:
        """Return what the running system says."""
        facts = [Fact(name="host.machine", relation="=", value=platform.machine() or "unknown")]
        try:
            library = (os.confstr("CS_GNU_LIBC_VERSION") or "").split()
        except (AttributeError, ValueError, OSError):
            library = []
        if len(library) == 2 and library[0] == "glibc":
            facts.append(Fact(name="host.glibc", relation="=", value=library[1]))
        return tuple(facts)
