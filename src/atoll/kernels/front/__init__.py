"""The front end: one Python function in, one KIR kernel out. The only room that knows `ast`.

Words: a *value* is what an expression lowered to; a *weak* value is a literal that has no type yet; a
*frame* is one function being lowered (the kernel, or a device function that is inlined into it).
"""

from atoll.kernels.front.compile import Compiled, compile_kernel

__all__ = ["Compiled", "compile_kernel"]
