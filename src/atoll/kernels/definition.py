"""What the decorators make: a kernel, a device function."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, overload

from atoll.diagnostics import Diagnostic
from atoll.errors import CompileError, LaunchError

if TYPE_CHECKING:
    from atoll.ir import Module
    from atoll.kernels.contract import Requirement
    from atoll.kernels.front import Compiled
    from atoll.kernels.launch import Launch
    from atoll.kernels.oracle import OracleLaunch
    from atoll.kernels.tune import Tuned
    from atoll.plugin import Target

Sizes = int | tuple[int, ...]
Conditions = str | tuple[str, ...] | None


class DeviceFunction:
    """A function that kernels may call; made by :func:`device`."""

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"

    def __reduce__(self) -> str:
        """Pickle by name, as functions are; a copy is the function itself."""
        return self.function.__qualname__

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run in the oracle, where a kernel's body calls it; anywhere else it refuses."""
        from atoll.kernels.surface import running

        if running.item is None:
            raise LaunchError(
                Diagnostic(
                    code="ATL0761",
                    message=f"the device function `{self.__name__}` is called outside a running kernel",
                    hint="call it from a kernel",
                )
            )
        return running.item.call(self, arguments, named)


class ExternFunction:
    """A function that another source defines and kernels may call; made by :func:`extern`."""

    def __init__(self, function: types.FunctionType, link: str) -> None:
        self.function, self.link = function, link
        self.__name__ = function.__name__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __repr__(self) -> str:
        return f"<extern {self.__name__} of {self.link}>"

    def __reduce__(self) -> str:
        """Pickle by name, as functions are; a copy is the function itself."""
        return self.function.__qualname__

    def __call__(self, *_arguments: Any, **_named: Any) -> Any:
        """Refuse: Python has no body of it."""
        from atoll.kernels.scalars import Fault
        from atoll.kernels.surface import running

        message = f"`{self.__name__}` is defined by {self.link}, and Python has no body of it"
        if running.item is not None:
            raise Fault("ATL0758", message)
        raise LaunchError(
            Diagnostic(
                code="ATL0761", message=message, hint="call it from a kernel for a target that links it"
            )
        )


class KernelFunction:
    """A kernel; made by :func:`kernel`.

    Attributes:
        function: The Python function, unchanged.
        block: The work-group size that its contract fixes; zeros where any size serves.
        requires: What else its contract asks of a launch.
        contract: Whether a product may be fused with the sum it goes into.
    """

    #: The words of the buffer that its code reports to; 0 for code without checks.
    checked = 0

    def __init__(
        self,
        function: types.FunctionType,
        block: tuple[int, int, int],
        requires: str | tuple[str, ...] | None = None,
        *,
        bindings: tuple[tuple[str, Any], ...] = (),
        exported: str = "",
        contract: bool = False,
    ) -> None:
        self.function = function
        self.block = block
        self.contract = contract
        #: What an instance of a generic kernel binds: open names with their types and constants.
        self.bindings = bindings
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        self.requires: tuple[Requirement, ...] = ()
        if requires is not None:
            from atoll.kernels.contract import requirements

            self.requires = requirements(requires, function.__name__, names)
        self.__name__ = exported or function.__name__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._compiled: Compiled | None = None
        #: The same for the targets it was asked for, where it has intrinsics; see :meth:`compiled_for`.
        self._for: dict[tuple[Any, ...], Compiled] = {}
        #: The block that was best on a device, by its name; see :meth:`tune`.
        self.tuned: dict[str, tuple[int, int, int]] = {}
        #: Code loaded on devices, by the device's identity and by block; see :mod:`atoll.kernels.launch`.
        self.loaded: dict[int, tuple[Any, dict[Any, Any]]] = {}
        #: Launches that were made, by what :meth:`over` was asked; see :mod:`atoll.kernels.launch`.
        self.ready: dict[Any, tuple[object, Launch]] = {}
        self._state = object()

    def __repr__(self) -> str:
        return f"<kernel {self.__name__}>"

    def __reduce__(self) -> Any:
        """Pickle by name, as functions are; an instance by that of its generic kernel. A copy is itself."""
        if not self.bindings:
            return self.function.__qualname__
        return _instance, (self.__module__, self.function.__qualname__, self.bindings)

    def __deepcopy__(self, _memo: object) -> KernelFunction:
        """Return this kernel: it is no data."""
        return self

    def ordered(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a launch in the order of the parameters.

        Raises:
            LaunchError: Where a name is unknown, given twice or missing.
        """
        code = self.function.__code__
        bound = {name for name, _ in self.bindings}
        names = [name for name in code.co_varnames[: code.co_argcount] if name not in bound]
        taken = names[: len(arguments)]
        wrong = [f"it has no parameter `{name}`" for name in named if name not in names]
        wrong += [f"`{name}` is given twice" for name in taken if name in named]
        wrong += [f"`{name}` is not given" for name in names[len(taken) :] if name not in named]
        if wrong or len(arguments) > len(names):
            raise LaunchError(
                Diagnostic(
                    code="ATL0760",
                    message=f"`{self.__name__}` cannot be launched with these arguments",
                    notes=(*wrong, f"its parameters: {', '.join(names)}"),
                )
            )
        return (*arguments, *(named[name] for name in names[len(taken) :]))

    def compiled(self) -> Compiled:
        """Return its KIR, compiled anew where a number it captures has changed.

        Raises:
            CompileError: Where it cannot be compiled.
        """
        if self._compiled is None or not self.is_current():
            from atoll.kernels.front import compile_kernel

            self.changed()
            self._compiled = compile_kernel(
                self.function,
                self.block,
                self.bindings,
                self.__name__,
                self.checked,
                contract=self.contract,
            )
        return self._compiled

    def compiled_for(self, target: Target) -> Compiled:
        """Return its KIR for a target, its intrinsics looked up there; without any, the same for all.

        Raises:
            CompileError: Where the target has no implementation of an intrinsic; with every such call.
        """
        compiled = self.compiled()
        if not compiled.looked:
            return compiled
        from atoll.kernels.front import compile_kernel
        from atoll.kernels.intrinsics.interface import added
        from atoll.kernels.intrinsics.lookup import load

        load(target.backend)
        key = (target.backend, target.arch, target.version, added(target.backend))
        found = self._for.get(key)
        if found is None:
            found = self._for[key] = compile_kernel(
                self.function,
                self.block,
                self.bindings,
                self.__name__,
                self.checked,
                target,
                contract=self.contract,
            )
        if found.missing:
            raise CompileError(*found.missing)
        return found

    def state(self) -> object:
        """Return a mark that is another one once launches made before serve no more."""
        return self._state

    def changed(self) -> None:
        """Let no launch serve that was made before."""
        self.ready.clear()
        self._for.clear()
        self._state = object()

    def is_current(self) -> bool:
        """Tell whether it is compiled with the numbers that it would capture now."""
        compiled = self._compiled
        return compiled is not None and (not compiled.captures.names or compiled.captures.current())

    @property
    def module(self) -> Module:
        """Its KIR module."""
        return self.compiled().module

    def __call__(self, *arguments: Any, **named: Any) -> NoReturn:
        """Refuse: a launch states its domain."""
        raise LaunchError(
            Diagnostic(
                code="ATL0761",
                message=f"the kernel `{self.__name__}` is called without a domain",
                hint=f"write `{self.__name__}.over(n)(…)` or `{self.__name__}[grid, block](…)`",
            )
        )

    def instance(self, **bindings: Any) -> KernelFunction:
        """Refuse: only a generic kernel has instances; see :mod:`atoll.kernels.generics`.

        Raises:
            CompileError: Always, here.
        """
        raise CompileError(
            Diagnostic(
                code="ATL0730",
                message=f"the kernel `{self.__name__}` is not generic",
                notes=(f"asked for: {', '.join(bindings) or 'an instance'}",),
                hint="annotate a parameter with a type variable or `atoll.const[int]`",
            )
        )

    def over(
        self, shape: Sizes, *, device: object = None, block: Sizes | None = None, wait: bool = True
    ) -> Launch:
        """Return a launch over a domain; bounds that no block divides are handled.

        Args:
            shape: The number of work-items in each dimension.
            device: A device's name (``cpu``, ``vulkan:0``), or an open device; None for the default.
            block: The work-group size; by default the contract's, else one that serves.
            wait: False gives a handle that is waited for later.
        """
        from atoll.kernels.launch import over

        return over(self, shape, device=device, block=block, wait=wait)

    def __getitem__(self, key: tuple[Any, ...]) -> Launch:
        """Return a launch by grid, block and, where named, device: ``saxpy[(4,), (64,), "cpu"]``."""
        from atoll.kernels.launch import grid

        return grid(self, key)

    def python(
        self,
        shape: Sizes,
        *,
        block: Sizes | None = None,
        seed: int = 0,
        races: bool = False,
        subgroup: int = 0,
    ) -> OracleLaunch:
        """Return a launch in the oracle: the body in CPython over typed scalars, the same indices.

        Args:
            shape: The domain, as for :meth:`over`.
            block: The work-group size, as for :meth:`over`.
            seed: Orders the groups, and the work-items between barriers.
            races: Look for races, which takes longer.
            subgroup: The work-items of a sub-group, which divides the block; 0 for what is emulated
                where there are none (docs/reference/kir.md).
        """
        from atoll.kernels.oracle import OracleLaunch

        return OracleLaunch.over(self, shape, block=block, seed=seed, races=races, subgroup=subgroup)

    def tune(
        self,
        *arguments: Any,
        block: Sequence[Sizes],
        shape: Sizes | None = None,
        device: object = None,
        again: bool = False,
    ) -> Tuned:
        """Measure this kernel with several blocks and keep the best for this device, in the cache too.

        Launches with no block of their own then use it.

        Args:
            arguments: What to measure it with; copied. By default, seeded ones for the domain.
            block: The work-group sizes to try.
            shape: The domain; by default one that is large enough to measure.
            device: As for :meth:`over`.
            again: Measure even where the cache has an answer.
        """
        from atoll.kernels.tune import tune

        return tune(self, arguments, block, shape, device, again=again)

    def show(
        self, target: str, stage: str | None = None, *, lines: bool = False, without: Sequence[str] = ()
    ) -> str | bytes:
        """Return a stage of compilation: text as `str`, a binary stage that is named as `bytes`.

        Args:
            target: ``PLATFORM`` or ``PLATFORM:ARCH``.
            stage: ``kir``, ``kir-optimised``, or one of the target's; None for the target's text.
            lines: Whether the code says which line of the source each statement is from.
            without: Passes over KIR, and rewrites as ``PASS.RULE``, that are left out.
        """
        from atoll.kernels.show import show

        return show(self, target, stage, lines=lines, without=without)


def _instance(module: str, name: str, bindings: tuple[tuple[str, Any], ...]) -> KernelFunction:
    """Return the instance of a generic kernel that was pickled."""
    import functools
    import importlib

    found: KernelFunction = functools.reduce(getattr, name.split("."), importlib.import_module(module))  # type: ignore[assignment]
    return found.instance(**dict(bindings))


def device(function: Callable[..., Any]) -> DeviceFunction:
    """Mark a function as one that kernels may call; it is inlined."""
    return DeviceFunction(_checked(function, "device"))


def extern(*, link: str) -> Callable[[Callable[..., Any]], ExternFunction]:
    """Mark a function without a body as one that another source defines: ``@atoll.extern(link="blur.cu")``.

    Args:
        link: The source that defines it, which whoever links the emitted code adds.
    """

    def marked(function: Callable[..., Any]) -> ExternFunction:
        return ExternFunction(_checked(function, "extern"), link)

    return marked


@overload
def kernel(
    function: Callable[..., Any],
    *,
    block: Sizes | None = None,
    requires: Conditions = None,
    debug: bool = False,
    contract: bool = False,
) -> KernelFunction: ...


@overload
def kernel(
    function: None = None,
    *,
    block: Sizes | None = None,
    requires: Conditions = None,
    debug: bool = False,
    contract: bool = False,
) -> Callable[[Callable[..., Any]], KernelFunction]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    block: Sizes | None = None,
    requires: Conditions = None,
    debug: bool = False,
    contract: bool = False,
) -> Any:
    """Mark a function as a kernel: ``@kernel`` or ``@kernel(block=256)``.

    Args:
        function: The function.
        block: A launch contract: the work-group size, which emitters use and launches keep.
        requires: More of it: conditions over the arguments, as ``"n <= x.size"``, checked before a launch.
        debug: Check every launch: indices, signed arithmetic, `assert`; and `print`. Code that is
            compiled ahead of time has no checks.
        contract: Let a product be fused with the sum it goes into, one rounding for two, where the target
            has the instruction; without it no two operations are fused anywhere.
    """
    sizes = (0, 0, 0) if block is None else block_sizes(block)
    if function is None:
        return lambda wrapped: _kernel(
            _checked(wrapped, "kernel"), sizes, requires, debug=debug, contract=contract
        )
    return _kernel(_checked(function, "kernel"), sizes, requires, debug=debug, contract=contract)


def _kernel(
    function: types.FunctionType,
    block: tuple[int, int, int],
    requires: Conditions,
    *,
    debug: bool,
    contract: bool,
) -> KernelFunction:
    from atoll.kernels.generics import GenericKernel, openings

    opened = openings(function)
    if opened:
        return GenericKernel(function, block, requires, opened, debug=debug, contract=contract)
    if debug:
        from atoll.kernels.checked import CheckedKernel

        return CheckedKernel(function, block, requires, contract=contract)
    return KernelFunction(function, block, requires, contract=contract)


def _checked(function: object, word: str) -> types.FunctionType:
    if isinstance(function, types.FunctionType):
        from atoll.kernels.texts import remember

        remember(function)
        return function
    raise CompileError(
        Diagnostic(
            code="ATL0710",
            message=f"`@{word}` marks a plain function, not a {type(function).__name__}",
            hint=f"put `@{word}` directly above `def`",
        )
    )


#: The most work-items of a group that every device has to offer together.
MAX_BLOCK = 1024


def block_sizes(block: object) -> tuple[int, int, int]:
    """Return a work-group size in three dimensions.

    Raises:
        CompileError: Where it is none.
    """
    parts = block if isinstance(block, tuple) else (block,)
    good = 1 <= len(parts) <= 3 and all(
        isinstance(size, int) and not isinstance(size, bool) and size >= 1 for size in parts
    )
    sizes = (*parts, 1, 1)[:3]
    if not good or sizes[0] * sizes[1] * sizes[2] > MAX_BLOCK:
        raise CompileError(
            Diagnostic(
                code="ATL0728",
                message=f"no work-group has the size {block!r}",
                notes=(f"at most {MAX_BLOCK} work-items, in one to three dimensions",),
                hint="write `block=256` or `block=(16, 16)`",
            )
        )
    return sizes
