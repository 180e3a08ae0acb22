"""What do the kernels of the C-like GPU languages share?

Buffers are pointer parameters, the parameter block is a struct by value (docs/reference/launch-abi.md), one
call of the function is one work-item. A language subclasses :class:`GpuPrinter` and says how it spells the
rest.
"""

from __future__ import annotations

from abc import abstractmethod

from atoll.ir import View
from atoll.ir.module import SharedArray
from atoll_plugins.formats.cdialect import Dialect
from atoll_plugins.formats.ctext import CPrinter
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.places import Places


class GpuPrinter(CPrinter):
    """Prints one kernel; the text stands by itself."""

    def __init__(self, dialect: Dialect, job: Job) -> None:
        super().__init__(dialect, job.kernel, job.layout)
        self.job = job
        self.places = Places(wanted=job.target.lines)

    # --- what a language says ---

    @abstractmethod
    def head(self) -> list[str]:
        """Return the lines before everything."""

    @abstractmethod
    def function(self, parameters: str) -> list[str]:
        """Return the lines that name the entry, before its brace."""

    @abstractmethod
    def shared(self, item: SharedArray) -> str:
        """Return the declaration of memory of the work-group."""

    @abstractmethod
    def global_id(self, axis: int) -> str:
        """Return a work-item's place in the launch, as an unsigned value."""

    def first(self) -> list[str]:
        """Return what the function does before anything else."""
        return []

    def buffer(self, element: str, name: str, *, constant: bool) -> str:
        """Return the parameter of a buffer."""
        return f"{'const ' if constant else ''}{element} *{name}"

    # --- the whole ---

    def text(self) -> str:
        """Return the whole program."""
        name = f"atoll_block_{self.kernel.name}"
        self._body()
        lines = [*self.head(), "", *self.helper_text()]
        if self.layout.fields:
            lines += [*self.block_struct(name), ""]
        return "\n".join([*lines, *self.function(self._parameters(name)), "{", *self.lines, "}", ""])

    def _parameters(self, block: str) -> str:
        params = []
        for view, access in zip(self.kernel.views, self.layout.access, strict=True):
            assert isinstance(view.type, View)
            element = self.dialect.element(view.type.element)
            params.append(self.buffer(element, f"b_{view.name}", constant=access == "read"))
        if self.layout.fields:
            params.append(f"const struct {block} p")
        return ", ".join(params)

    def _body(self) -> None:
        for text in (*self.first(), *map(self.shared, self.kernel.shared)):
            self.line(text)
        for array in self.kernel.arrays:
            self.line(self.own_array(array))
        for local in self.kernel.locals:
            self.line(f"{self.dialect.value(local.type)} l_{local.name} = 0;")
        if self.layout.has_domain:
            outside = [f"{self.global_id(axis)} >= p.f_domain_{axis}" for axis in range(3)]
            self.line(f"if ({' || '.join(outside)}) return;")
        self.depth -= 1
        self.block(self.kernel.body)
        self.depth += 1

    def leave(self) -> None:
        """Return."""
        self.line("return;")
