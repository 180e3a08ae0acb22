"""KIR: the small typed structured IR between the front end and every emitter.

Its specification is docs/reference/kir.md. Knows no Python internals and no device.
"""

from atoll.ir.module import Module

__all__ = ["Module"]
