"""How does a kernel's body become one PTX entry?

Virtual registers are mutable, so a local is a register; control flow is labels and predicated branches
that come from the tree. Float arithmetic carries `.rn`, which ptxas never contracts: a plain `mul.f32`
and `add.f32` become one fused operation (measured on an H200). Source: PTX ISA 9.0, section 9.
"""

from __future__ import annotations

from typing import assert_never

from atoll.ir import BF16, BOOL, F32, I32, I64, SCALARS, U32, U64, Scalar, nodes, ops
from atoll.ir.module import PrivateArray, SharedArray
from atoll.ir.ops import AtomicOp, Cast, Compare, Math, Order, Unary
from atoll.ir.walk import expressions
from atoll_plugins.cuda import warp
from atoll_plugins.cuda.ptxindex import Place, apart, changes, factor, locals_of, names_of, parts_of
from atoll_plugins.cuda.ptxtext import PtxFunction, arch_level, float_literal
from atoll_plugins.formats import maths32
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.fours import fours_of, steps
from atoll_plugins.formats.inline import filled
from atoll_plugins.formats.lowering import Lowering, wide
from atoll_plugins.formats.narrow import is_narrow_float
from atoll_plugins.formats.places import Places, quoted

_AXES = "xyz"
#: The first architecture with `cvt.rn.bf16.f32` (PTX ISA 7.0, 9.7.9.21).
BF16_ARCH = 80
_CORE = {
    Core.ADD: "add", Core.SUB: "sub", Core.MUL: "mul.lo", Core.DIV: "div", Core.SHR: "shr",
    Core.FADD: "add.rn", Core.FSUB: "sub.rn", Core.FMUL: "mul.rn", Core.FDIV: "div.rn",
}  # fmt: skip
_BITS = {Core.AND: "and", Core.OR: "or", Core.XOR: "xor", Core.SHL: "shl"}
_ROUNDED = {Math.FLOOR: "rmi", Math.CEIL: "rpi", Math.TRUNC: "rzi", Math.RINT: "rni"}
_CONVERT = {Cast.SITOF: "cvt.rn", Cast.UITOF: "cvt.rn", Cast.FTOSI: "cvt.rzi", Cast.FTOUI: "cvt.rzi"}
_ATOMICS = {
    AtomicOp.ADD: "add", AtomicOp.MIN: "min", AtomicOp.MAX: "max", AtomicOp.AND: "and",
    AtomicOp.OR: "or", AtomicOp.XOR: "xor", AtomicOp.EXCHANGE: "exch", AtomicOp.COMPARE_EXCHANGE: "cas",
}  # fmt: skip
_UNTYPED = frozenset(_ATOMICS) - {AtomicOp.ADD, AtomicOp.MIN, AtomicOp.MAX}
_ORDERS = {
    Order.RELAXED: "relaxed", Order.ACQUIRE: "acquire", Order.RELEASE: "release", Order.ACQ_REL: "acq_rel",
}  # fmt: skip
_SCOPES = {ops.Scope.SUB_GROUP: "cta", ops.Scope.WORK_GROUP: "cta", ops.Scope.DEVICE: "gpu"}


def kind_of(scalar: Scalar) -> str:
    """Return the kind of register that holds a value of a wide type."""
    if scalar == BOOL:
        return "pred"
    return scalar.name if scalar.is_float else f"b{scalar.bits}"


def typed(scalar: Scalar) -> str:
    """Return the suffix of an instruction that minds the type: ``s32 u64 f32``."""
    if scalar.is_float:
        return scalar.name
    return f"{'s' if scalar.is_signed else 'u'}{scalar.bits}"


def stored(scalar: Scalar) -> str:
    """Return the suffix of a load or store of an element."""
    return "u16" if is_narrow_float(scalar) else typed(scalar)


#: What a constraint's register is declared as.
_LETTERS = {"f": "f32", "d": "f64", "r": "b32", "l": "b64"}


class Function(Lowering[str]):
    """One kernel under construction; a value is a register or a literal."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.places = Places(wanted=job.target.lines)
        self.files: dict[str, int] = {}
        self.out = PtxFunction()
        self.scalars = {local.name: local.type for local in job.kernel.locals}
        self.locals = {
            local.name: self.out.register(kind_of(wide(local.type))) for local in job.kernel.locals
        }
        self.own = {item.name: ("shared", item.element) for item in job.kernel.shared}
        self.own |= {item.name: ("local", item.element) for item in job.kernel.arrays}
        self.elements = dict(zip(job.layout.buffers, (view.type for view in job.kernel.views), strict=True))
        self.access = dict(zip(job.layout.buffers, job.layout.access, strict=True))
        self.bases: dict[str, str] = {}
        self.addresses: dict[Place, str] = {}
        #: Wide products of narrow factors.
        self.products: dict[tuple[nodes.Expr, nodes.Expr], str] = {}
        self.loops: list[tuple[str, str]] = []
        self.fours = fours_of(job)

    def text(self) -> list[str]:
        """Return the entry: head, registers, body."""
        self._read_bases()
        if self.job.layout.has_domain:
            self._leave_outside_domain()
        self.statements(self.job.kernel.body)
        self.out.line("ret")
        body = ["{", *self.out.declarations(), *self._memory(), "", *self.out.lines, "}", ""]
        files = [f".file {number} {quoted(path)}" for path, number in self.files.items()]
        return [*self._head(), *body, *files]

    # --- the head ---

    def _head(self) -> list[str]:
        params = [f"\t.param .u64 b_{name}" for name in self.job.layout.buffers]
        if self.job.layout.block_bytes:
            params.append(f"\t.param .align 8 .b8 block[{self.job.layout.block_bytes}]")
        lines = [f".visible .entry {self.job.kernel.symbol}(", ",\n".join(params), ")"]
        if any(self.job.group):
            lines.append(f".reqntid {', '.join(map(str, self.job.group))}")
        return lines

    def _memory(self) -> list[str]:
        listed: list[SharedArray | PrivateArray] = [*self.job.kernel.shared, *self.job.kernel.arrays]
        return [
            f"\t.{self.own[item.name][0]} .align 8 .b8 s_{item.name}[{item.length * item.element.nbytes}];"
            for item in listed
        ]

    def _read_bases(self) -> None:
        for name in self.job.layout.buffers:
            address, self.bases[name] = self.out.register("b64"), self.out.register("b64")
            self.out.line(f"ld.param.u64 {address}, [b_{name}]")
            self.out.line(f"cvta.to.global.u64 {self.bases[name]}, {address}")
        for name in self.own:
            self.bases[name] = self.out.register("b32")
            self.out.line(f"mov.u32 {self.bases[name]}, s_{name}")

    def _leave_outside_domain(self) -> None:
        for axis in range(3):
            identity, limit = self.builtin(ops.Id.GLOBAL_ID, axis), self.field(f"domain.{axis}")
            inside = self.compare(Compare.LT, U32, identity, limit)
            self.out.line(f"@!{inside} ret")

    # --- the core ---

    def constant(self, scalar: Scalar, bits: int) -> str:
        """Return a literal; a bool needs a register."""
        if scalar == BOOL:
            result = self.out.register("pred")
            self.out.line(f"mov.pred {result}, {-1 if bits else 0}")
            return result
        if scalar.is_float:
            return float_literal(bits, scalar.name)
        value = int(nodes.value_of(scalar, bits))
        return hex(bits) if value in (-(1 << 63), (1 << 64) - 1) else str(value)

    def put(self, kind: str, text: str, *operands: str) -> str:
        """Write an instruction with a new register as its result and return that."""
        result = self.out.register(kind)
        self.out.line(f"{text} {', '.join((result, *operands))}")
        return result

    def held(self, scalar: Scalar, value: str) -> str:
        """Return a value in a register: some instructions take no literal."""
        if value.startswith("%"):
            return value
        kind = kind_of(scalar)
        return self.put(kind, f"mov.{kind}", value)

    def core(self, op: Core, scalar: Scalar, left: str, right: str) -> str:
        """Apply an operation of the core."""
        kind = kind_of(scalar)
        if op is Core.SHL or op is Core.SHR:
            right = self._count(scalar, right)
        left = self.held(scalar, left)
        if op in _BITS:
            return self.put(kind, f"{_BITS[op]}.{kind}", left, right)
        return self.put(kind, f"{_CORE[op]}.{typed(scalar)}", left, right)

    def _count(self, scalar: Scalar, count: str) -> str:
        """Return a shift's count, which is 32 bits wide for every type."""
        if scalar.bits == 64 and count.startswith("%"):
            return self.put("b32", "cvt.u32.u64", count)
        return count

    def compare(self, op: Compare, scalar: Scalar, left: str, right: str) -> str:
        """Compare; `neu` is true on a NaN."""
        if scalar == BOOL:
            differ = self.put("pred", "xor.pred", left, right)
            return differ if op is Compare.NE else self.put("pred", "not.pred", differ)
        word = "neu" if scalar.is_float and op is Compare.NE else str(op)
        return self.put("pred", f"setp.{word}.{typed(scalar)}", self.held(scalar, left), right)

    def select(self, scalar: Scalar, condition: str, yes: str, no: str) -> str:
        """Choose."""
        if scalar != BOOL:
            kind = kind_of(scalar)
            return self.put(kind, f"selp.{kind}", yes, no, condition)
        taken = self.put("pred", "and.pred", condition, yes)
        other = self.put("pred", "and.pred", self.put("pred", "not.pred", condition), no)
        return self.put("pred", "or.pred", taken, other)

    def convert(self, op: Cast, source: Scalar, target: Scalar, value: str) -> str:
        """Convert."""
        value, kind = self.held(source, value), kind_of(target)
        if op is Cast.BITS:
            return self.put(kind, f"mov.b{target.bits}", value)
        if op in (Cast.SEXT, Cast.ZEXT, Cast.TRUNC):
            sign = "s" if op is Cast.SEXT else "u"
            return self.put(kind, f"cvt.{sign}{target.bits}.{sign}{source.bits}", value)
        word = "cvt" if op is Cast.FEXT else _CONVERT.get(op, "cvt.rn")
        return self.put(kind, f"{word}.{typed(target)}.{typed(source)}", value)

    def widen(self, scalar: Scalar, value: str) -> str:
        """Return the f32 of a narrow float's bits; a bf16 is the upper half of one."""
        if scalar == BF16:
            return super().widen(scalar, value)
        half = self.put("b16", "cvt.u16.u32", self.held(U32, value))
        return self.put("f32", "cvt.f32.f16", half)

    def narrow(self, scalar: Scalar, value: str) -> str:
        """Return the bits of the nearest narrow float; bf16 has an instruction since sm_80."""
        if scalar == BF16 and (arch_level(self.job.target.arch) or 0) < BF16_ARCH:
            return super().narrow(scalar, value)
        half = self.put("b16", f"cvt.rn.{scalar.name}.f32", self.held(F32, value))
        return self.put("b32", "cvt.u32.u16", half)

    def float_unary(self, op: Unary, scalar: Scalar, value: str) -> str:
        """Negate or take the absolute value."""
        word = "neg" if op is Unary.FNEG else "abs"
        return self.put(scalar.name, f"{word}.{scalar.name}", self.held(scalar, value))

    def maths(self, expr: nodes.MathCall, operands: list[str]) -> str:
        """Call an instruction, or the sequence of :mod:`atoll_plugins.formats.maths32`."""
        name = expr.type.name
        values = [self.held(expr.type, value) for value in operands]
        if expr.op in _ROUNDED:
            return self.put(name, f"cvt.{_ROUNDED[expr.op]}.{name}.{name}", *values)
        if expr.op is Math.SQRT:
            return self.put(name, f"sqrt.rn.{name}", *values)
        if expr.op is Math.FMA:
            return self.put(name, f"fma.rn.{name}", *values)
        if expr.op is Math.RSQRT and expr.type == F32:
            return self.put(name, "rsqrt.approx.f32", *values)  # within 2^-22.9 (PTX ISA 9.0, 9.7.3.18)
        if expr.op is Math.RSQRT:
            root = self.put(name, f"sqrt.rn.{name}", *values)
            return self.core(Core.FDIV, expr.type, self.number(expr.type, 1.0), root)
        if expr.op is Math.EXP2:
            return self.put(name, f"ex2.approx.{name}", *values)
        return maths32.call(self, expr.op, values)

    def small_power(self, value: str) -> str:
        """Take the instruction that flushes denormals: nothing of this size is near one."""
        return self.put("f32", "ex2.approx.ftz.f32", self.held(F32, value))

    def inverse(self, value: str) -> str:
        """Take the instruction, within one unit, and correct it once (Newton)."""
        value = self.held(F32, value)
        first = self.put("f32", "rcp.approx.ftz.f32", value)
        minus, one = self.float_unary(Unary.FNEG, F32, value), self.number(F32, 1.0)
        return self.function(Math.FMA, F32, self.function(Math.FMA, F32, minus, first, one), first, first)

    def logical(self, expr: nodes.Logical) -> str:
        """Branch around the right side where it may load; else evaluate both."""
        left = self.expression(expr.left)
        conjunction = expr.op is ops.Logical.LAND
        if not any(isinstance(item, nodes.Load) for item in expressions(expr.right)):
            return self.core(Core.AND if conjunction else Core.OR, BOOL, left, self.expression(expr.right))
        result = self.put("pred", "mov.pred", left)
        done = self.out.label("decided")
        self.out.branch(done, result, unless=conjunction)
        known = dict(self.addresses), dict(self.products)
        self.out.line(f"mov.pred {result}, {self.expression(expr.right)}")
        self.addresses, self.products = known
        self.out.place(done)
        return result

    def field(self, path: str) -> str:
        """Read a field of the block."""
        item = next(item for item in self.job.layout.fields if item.path == path)
        scalar = SCALARS[item.type]
        held = U32 if scalar == BOOL else wide(scalar)
        return self.put(kind_of(held), f"ld.param.{typed(held)}", f"[block+{item.offset}]")

    def read_local(self, name: str) -> str:
        """Return a local's register: within one statement it is assigned after every read."""
        return self.locals[name]

    def builtin(self, op: ops.Id, dimension: int) -> str:
        """Return an id."""
        axis = _AXES[dimension]
        match op:
            case ops.Id.LOCAL_ID:
                return self.put("b32", "mov.u32", f"%tid.{axis}")
            case ops.Id.GROUP_ID:
                return self.put("b32", "mov.u32", f"%ctaid.{axis}")
            case ops.Id.GROUP_SIZE:
                return self.put("b32", "mov.u32", f"%ntid.{axis}")
            case ops.Id.NUM_GROUPS:
                return self.put("b32", "mov.u32", f"%nctaid.{axis}")
            case ops.Id.GLOBAL_ID:
                parts = [self.builtin(part, dimension) for part in (ops.Id.GROUP_ID, ops.Id.GROUP_SIZE)]
                return self.put("b32", "mad.lo.s32", *parts, self.builtin(ops.Id.LOCAL_ID, dimension))
            case ops.Id.LANE_ID | ops.Id.SUBGROUP_ID | ops.Id.SUBGROUP_SIZE:
                return warp.builtin(self, op)
        assert_never(op)

    # --- memory ---

    def binary(self, expr: nodes.Binary) -> str:
        """Apply an operation on two operands; a wide product of narrow factors is one instruction.

        The product of the same factors in 32 bits is the lower half of it, where it is there already.
        """
        if expr.op is not ops.Binary.MUL_WRAP:
            return super().binary(expr)
        known = self.products.get((expr.left, expr.right))
        if known is not None:
            return self.put("b32", "cvt.u32.u64", known)
        if expr.type.bits == 64:
            for cast, narrow, word in ((Cast.ZEXT, U32, "u32"), (Cast.SEXT, I32, "s32")):
                factors = [factor(side, cast, narrow) for side in (expr.left, expr.right)]
                left, right = factors
                if left is not None and right is not None:
                    held = [self.held(narrow, self.expression(item)) for item in (left, right)]
                    product = self.put("b64", f"mul.wide.{word}", *held)
                    if not any(isinstance(item, nodes.Load) for item in parts_of(left, right)):
                        self.products[left, right] = product
                    return product
        return super().binary(expr)

    def divide(self, op: ops.Binary, scalar: Scalar, left: str, right: str, known: int | None) -> str:
        """Divide; a remainder of what lies inside already, as most indices do, goes around the division."""
        if op is not ops.Binary.REM_FLOOR or known is not None or scalar.bits < 32:
            return super().divide(op, scalar, left, right, known)
        held = wide(scalar)
        unsigned = U64 if held.bits == 64 else U32
        result = self.put(kind_of(held), f"mov.{kind_of(held)}", left)
        inside = self.compare(Compare.LT, unsigned, result, right)
        if scalar.is_signed:
            positive = self.compare(Compare.GT, held, self.held(held, right), "0")
            inside = self.core(Core.AND, BOOL, inside, positive)
        done = self.out.label("inside")
        self.out.branch(done, inside)
        value = super().divide(op, scalar, left, right, known)
        self.out.line(f"mov.{kind_of(held)} {result}, {value}")
        self.out.place(done)
        return result

    def _plain_address(self, base: str, indices: tuple[nodes.Expr, ...], element: Scalar) -> str:
        """Return the address of an element of a plain view; constants of the last index stand beside it.

        Rows in bytes fit 32 bits there, so an index is one product into the address; what no loop changes
        goes first. Within straight text an address is taken again where only the constant differs.
        """
        first, constant = apart(indices[-1])
        key = (base, tuple(indices[:-1]), first)
        known = self.addresses.get(key)
        if known is None:
            known, nbytes = self.bases[base], str(element.nbytes)
            parts = [(expr, f"{base}.stride.{axis}") for axis, expr in enumerate(indices[:-1])]
            parts += [] if first is None else [(first, "")]
            for expr, stride in sorted(parts, key=lambda part: changes(part[0])):
                step = self.put("b32", "mul.lo.s32", self._low(stride), nbytes) if stride else nbytes
                known = self.put("b64", "mad.wide.s32", self._inside(expr), step, known)
            self.addresses[key] = known
        return f"{known}+{constant * element.nbytes}" if constant else known

    def _low(self, path: str) -> str:
        """Return the lower half of a field of the block."""
        return self.put("b32", "ld.param.u32", f"[block+{self.job.layout.offset_of(path)}]")

    def _inside(self, index: nodes.Expr) -> str:
        """Return an index of a plain view: it lies inside, so its lower half is all of it."""
        if isinstance(index, nodes.Cast) and index.op is Cast.SEXT and index.operand.type == I32:
            return self.held(I32, self.expression(index.operand))
        return self.put("b32", "cvt.u32.u64", self.held(I64, self.expression(index)))

    def forget(self, local: str | None = None) -> None:
        """Forget addresses and products: those of a local, or all, where text no longer runs in one line."""
        if local is None:
            self.addresses.clear()
            self.products.clear()
            return
        self.addresses = {key: at for key, at in self.addresses.items() if local not in locals_of(key)}
        kept = self.products.items()
        self.products = {key: at for key, at in kept if local not in names_of(parts_of(*key))}

    def _address(self, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[str, Scalar, str]:
        """Return the space, the element and the address of an element."""
        if base in self.own:
            space, element = self.own[base]
            index = self.held(I32, self.expression(indices[0]))
            place = self.put("b32", "mad.lo.s32", index, str(element.nbytes), self.bases[base])
            return space, element, place
        element = self.elements[base].element  # type: ignore[union-attr]
        if self.job.target.plain:
            return "global", element, self._plain_address(base, indices, element)
        total = self.field(f"{base}.offset")
        for axis, expr in enumerate(indices):
            index = self.held(I64, self.expression(expr))
            total = self.put("b64", "mad.lo.s64", index, self.field(f"{base}.stride.{axis}"), total)
        place = self.put("b64", "mad.lo.s64", total, str(element.nbytes), self.bases[base])
        return "global", element, place

    def load(self, expr: nodes.Load) -> str:
        """Load an element; a narrow one is extended as it comes."""
        space, element, place = self._address(expr.base, expr.indices)
        return self.put(
            kind_of(wide(element)), f"{self._loader(space, expr.base)}.{stored(element)}", f"[{place}]"
        )

    def _loader(self, space: str, base: str) -> str:
        """Return a load's first words: what nobody writes meanwhile takes the read-only path."""
        if space == "global" and self.job.target.apart and self.access[base] == "read":
            return "ld.global.nc"
        return f"ld.{space}"

    def _four_loads(self, four: list[tuple[str, nodes.Load]]) -> None:
        """Write four loads of neighbours as one."""
        first = four[0][1]
        space, element, place = self._address(first.base, first.indices)
        into = ", ".join(self.locals[name] for name, _ in four)
        self.out.line(f"{self._loader(space, first.base)}.v4.{stored(element)} {{{into}}}, [{place}]")
        for name, _ in four:
            self.forget(name)

    def _four_stores(self, four: list[nodes.Store]) -> None:
        """Write four stores to neighbours as one."""
        space, element, place = self._address(four[0].base, four[0].indices)
        values = [self.held(wide(element), self.expression(item.value)) for item in four]
        self.out.line(f"st.{space}.v4.{stored(element)} [{place}], {{{', '.join(values)}}}")

    # --- statements ---

    def statements(self, block: nodes.Block) -> None:
        """Write statements."""
        for loads, stores, stmt in steps(self.fours, block):
            if loads:
                self._four_loads(loads)
            elif stores:
                self._four_stores(stores)
            else:
                self.statement(stmt)

    def statement(self, stmt: nodes.Stmt) -> None:
        """Write one statement, after its place where that is asked for."""
        span = self.places.changed(stmt.span)
        if span is not None:
            number = self.files.setdefault(span.file, len(self.files) + 1)
            self.out.lines.append(f"\t.loc {number} {span.line} {max(span.column, 1)}")
        match stmt:
            case nodes.Assign():
                kind = kind_of(wide(self.scalars[stmt.local]))
                self.out.line(f"mov.{kind} {self.locals[stmt.local]}, {self.expression(stmt.value)}")
                self.forget(stmt.local)
            case nodes.Store():
                space, element, place = self._address(stmt.base, stmt.indices)
                value = self.held(wide(element), self.expression(stmt.value))
                self.out.line(f"st.{space}.{stored(element)} [{place}], {value}")
            case nodes.If():
                self._if(stmt)
            case nodes.Loop():
                self._loop(stmt)
            case nodes.Break():
                self.out.branch(self.loops[-1][0])
            case nodes.Continue():
                self.out.branch(self.loops[-1][1])
            case nodes.Return():
                self.out.line("ret")
            case nodes.Barrier() | nodes.Fence() | nodes.SubGroup() | nodes.ExternCall() | nodes.Inline():
                self._together(stmt)
            case nodes.Atomic():
                self._atomic(stmt)
            case _:
                assert_never(stmt)

    def _together(self, stmt: nodes.Together) -> None:
        match stmt:
            case nodes.ExternCall():
                raise AssertionError("an extern is refused before")
            case nodes.Inline():
                self._inline(stmt)
            case nodes.Barrier():
                self.out.line("bar.sync 0")
            case nodes.Fence():
                self.out.line(f"fence.acq_rel.{_SCOPES[stmt.scope]}")
            case nodes.SubGroup():
                result = warp.operation(self, stmt)
                kind = kind_of(wide(self.scalars[stmt.result]))
                self.out.line(f"mov.{kind} {self.locals[stmt.result]}, {result}")
                self.forget(stmt.result)

    def _inline(self, stmt: nodes.Inline) -> None:
        """Write assembly, its places filled with registers; nothing where nobody asks for its result."""
        names: list[str] = []
        if stmt.output is not None:
            if stmt.result is None and not stmt.writes:
                return
            name = stmt.result
            scratch = _LETTERS[stmt.output]
            names.append(self.out.register(scratch) if name is None else self.locals[name])
        for base, operand in zip(stmt.bases, stmt.operands, strict=True):
            if base:
                names.append(self._address(base, (operand,))[2])
            else:
                names.append(self.held(operand.type, self.expression(operand)))
        text = filled(stmt.text, names).strip()
        if text.count(";") == 1 and text.endswith(";"):
            self.out.line(text[:-1])
        else:
            self.out.lines += ["{", *text.split("\n"), "}"]
        if stmt.result is not None:
            self.forget(stmt.result)

    def _if(self, stmt: nodes.If) -> None:
        other, end = self.out.label("else"), self.out.label("endif")
        self.out.branch(other, self.expression(stmt.condition), unless=True)
        # What was taken before a branch is there on both its sides.
        known = dict(self.addresses), dict(self.products)
        self.statements(stmt.then)
        if stmt.orelse:
            self.out.branch(end)
        self.out.place(other)
        self.addresses, self.products = known
        self.statements(stmt.orelse)
        self.out.place(end)
        self.forget()

    def _loop(self, stmt: nodes.Loop) -> None:
        test, step, end = self.out.label("loop"), self.out.label("step"), self.out.label("end")
        self.out.place(test)
        self.forget()
        self.out.branch(end, self.expression(stmt.condition), unless=True)
        self.loops.append((end, step))
        self.statements(stmt.body)
        self.loops.pop()
        self.out.place(step)
        self.forget()
        self.statements(stmt.step)
        self.out.branch(test)
        self.out.place(end)
        self.forget()

    def _atomic(self, stmt: nodes.Atomic) -> None:
        space, element, place = self._address(stmt.base, stmt.indices)
        operands = [] if stmt.expected is None else [self._bits(element, self.expression(stmt.expected))]
        operands.append(self.expression(stmt.value))
        kind, suffix = kind_of(element), typed(element)
        if stmt.op in _UNTYPED:
            kind = suffix = f"b{element.bits}"
            operands[-1] = self._bits(element, operands[-1])
        elif stmt.op is AtomicOp.ADD and element == I64:
            suffix = "u64"  # the same sum; there is no add.s64
        head = f"atom.{_ORDERS[stmt.order]}.{_SCOPES[stmt.scope]}.{space}.{_ATOMICS[stmt.op]}.{suffix}"
        values = [self.held(element, value) if kind == kind_of(element) else value for value in operands]
        old = self.put(kind, head, f"[{place}]", *values)
        if stmt.result is not None:
            self.out.line(f"mov.b{element.bits} {self.locals[stmt.result]}, {old}")
            self.forget(stmt.result)

    def _bits(self, element: Scalar, value: str) -> str:
        """Return a float's bits in an integer register."""
        if not element.is_float:
            return self.held(element, value)
        return self.convert(Cast.BITS, element, U32 if element == F32 else U64, value)
