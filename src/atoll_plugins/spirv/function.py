"""How does a kernel's body become one SPIR-V function?

Control flow is structured already, so merge and continue blocks come from the tree; locals are variables
of the function, so there is no phi but the one of a short circuit. Float arithmetic carries
`NoContraction`. Source: SPIR-V 1.6, sections 2.11 (structured control flow) and 3.49.
"""

from __future__ import annotations

from typing import assert_never

from atoll.ir import BOOL, F64, I32, U32, U64, Kind, Scalar, nodes, ops
from atoll.ir.ops import AtomicOp, Cast, Compare, Math, Order, Unary
from atoll.ir.walk import all_expressions, expressions
from atoll_plugins.formats.core import Core
from atoll_plugins.formats.emission import Job
from atoll_plugins.formats.fours import fours_of, steps
from atoll_plugins.formats.lowering import Lowering, info_path, wide
from atoll_plugins.formats.places import Places
from atoll_plugins.formats.powers import with_special_cases
from atoll_plugins.formats.rounding import rint_of_size
from atoll_plugins.spirv import access, resources
from atoll_plugins.spirv.assembler import Assembler, literal_words
from atoll_plugins.spirv.inline import instructions
from atoll_plugins.spirv.opcodes import (
    Capability,
    Decoration,
    Glsl,
    GroupOperation,
    Op,
    Scope,
    Semantics,
    StorageClass,
)

_CORE = {
    Core.ADD: Op.IAdd, Core.SUB: Op.ISub, Core.MUL: Op.IMul, Core.AND: Op.BitwiseAnd,
    Core.OR: Op.BitwiseOr, Core.XOR: Op.BitwiseXor, Core.SHL: Op.ShiftLeftLogical,
    Core.FADD: Op.FAdd, Core.FSUB: Op.FSub, Core.FMUL: Op.FMul, Core.FDIV: Op.FDiv,
}  # fmt: skip
_BOOL_CORE = {Core.AND: Op.LogicalAnd, Core.OR: Op.LogicalOr, Core.XOR: Op.LogicalNotEqual}
_FLOAT_CORE = frozenset({Core.FADD, Core.FSUB, Core.FMUL, Core.FDIV})
_COMPARE: dict[str, dict[Compare, Op]] = {
    "bool": {Compare.EQ: Op.LogicalEqual, Compare.NE: Op.LogicalNotEqual},
    "signed": {
        Compare.EQ: Op.IEqual, Compare.NE: Op.INotEqual, Compare.LT: Op.SLessThan,
        Compare.LE: Op.SLessThanEqual, Compare.GT: Op.SGreaterThan, Compare.GE: Op.SGreaterThanEqual,
    },
    "unsigned": {
        Compare.EQ: Op.IEqual, Compare.NE: Op.INotEqual, Compare.LT: Op.ULessThan,
        Compare.LE: Op.ULessThanEqual, Compare.GT: Op.UGreaterThan, Compare.GE: Op.UGreaterThanEqual,
    },
    "float": {
        Compare.EQ: Op.FOrdEqual, Compare.NE: Op.FUnordNotEqual, Compare.LT: Op.FOrdLessThan,
        Compare.LE: Op.FOrdLessThanEqual, Compare.GT: Op.FOrdGreaterThan,
        Compare.GE: Op.FOrdGreaterThanEqual,
    },
}  # fmt: skip
_CONVERT = {
    Cast.SEXT: Op.SConvert, Cast.ZEXT: Op.UConvert, Cast.TRUNC: Op.UConvert, Cast.SITOF: Op.ConvertSToF,
    Cast.UITOF: Op.ConvertUToF, Cast.FTOSI: Op.ConvertFToS, Cast.FTOUI: Op.ConvertFToU,
    Cast.FEXT: Op.FConvert, Cast.FTRUNC: Op.FConvert, Cast.BITS: Op.Bitcast,
}  # fmt: skip
#: What the extended set has. Its Fma may be two roundings ("Precision and Operation of SPIR-V
#: Instructions": inherited from OpMul followed by OpAdd), so it is no `fma` of KIR.
MATHS = {
    Math.SQRT: Glsl.Sqrt, Math.RSQRT: Glsl.InverseSqrt, Math.EXP: Glsl.Exp, Math.EXP2: Glsl.Exp2,
    Math.LOG: Glsl.Log, Math.LOG2: Glsl.Log2, Math.SIN: Glsl.Sin, Math.COS: Glsl.Cos, Math.TAN: Glsl.Tan,
    Math.TANH: Glsl.Tanh, Math.FLOOR: Glsl.Floor, Math.CEIL: Glsl.Ceil, Math.TRUNC: Glsl.Trunc,
    Math.RINT: Glsl.RoundEven, Math.POW: Glsl.Pow,
}  # fmt: skip
#: What it has in 64 bits too.
WIDE_MATHS = frozenset({Math.SQRT, Math.RSQRT, Math.FLOOR, Math.CEIL, Math.TRUNC, Math.RINT})
_ORDERS = {
    Order.RELAXED: Semantics.Relaxed, Order.ACQUIRE: Semantics.Acquire,
    Order.RELEASE: Semantics.Release, Order.ACQ_REL: Semantics.AcquireRelease,
}  # fmt: skip
_SCOPES = {
    ops.Scope.SUB_GROUP: Scope.Subgroup, ops.Scope.WORK_GROUP: Scope.Workgroup,
    ops.Scope.DEVICE: Scope.Device,
}  # fmt: skip
_FAILED = {
    Semantics.Relaxed: Semantics.Relaxed, Semantics.Acquire: Semantics.Acquire,
    Semantics.Release: Semantics.Relaxed, Semantics.AcquireRelease: Semantics.Acquire,
}  # fmt: skip
_ATOMICS = {
    (op, signed): opcode
    for op, pair in {
        AtomicOp.ADD: (Op.AtomicIAdd, Op.AtomicIAdd), AtomicOp.MIN: (Op.AtomicUMin, Op.AtomicSMin),
        AtomicOp.MAX: (Op.AtomicUMax, Op.AtomicSMax), AtomicOp.AND: (Op.AtomicAnd, Op.AtomicAnd),
        AtomicOp.OR: (Op.AtomicOr, Op.AtomicOr), AtomicOp.XOR: (Op.AtomicXor, Op.AtomicXor),
        AtomicOp.EXCHANGE: (Op.AtomicExchange, Op.AtomicExchange),
    }.items()
    for signed, opcode in enumerate(pair)
}  # fmt: skip
_GROUP = {
    ops.SubGroup.INCLUSIVE_ADD: GroupOperation.InclusiveScan,
    ops.SubGroup.EXCLUSIVE_ADD: GroupOperation.ExclusiveScan,
}
_TOGETHER = {
    (op, kind): opcode
    for op, row in {
        ops.SubGroup.ADD: (Op.GroupNonUniformIAdd, Op.GroupNonUniformIAdd, Op.GroupNonUniformFAdd),
        ops.SubGroup.INCLUSIVE_ADD: (Op.GroupNonUniformIAdd, Op.GroupNonUniformIAdd, Op.GroupNonUniformFAdd),
        ops.SubGroup.EXCLUSIVE_ADD: (Op.GroupNonUniformIAdd, Op.GroupNonUniformIAdd, Op.GroupNonUniformFAdd),
        ops.SubGroup.MIN: (Op.GroupNonUniformSMin, Op.GroupNonUniformUMin, Op.GroupNonUniformFMin),
        ops.SubGroup.MAX: (Op.GroupNonUniformSMax, Op.GroupNonUniformUMax, Op.GroupNonUniformFMax),
        ops.SubGroup.AND: (Op.GroupNonUniformBitwiseAnd,) * 2,
        ops.SubGroup.OR: (Op.GroupNonUniformBitwiseOr,) * 2,
        ops.SubGroup.XOR: (Op.GroupNonUniformBitwiseXor,) * 2,
    }.items()
    for kind, opcode in zip((Kind.SIGNED, Kind.UNSIGNED, Kind.FLOAT), row, strict=False)
}  # fmt: skip
_BOTH_MEMORIES = Semantics.UniformMemory | Semantics.WorkgroupMemory


class Function(Lowering[int]):
    """One kernel under construction; a value is an id."""

    def __init__(self, job: Job, assembler: Assembler) -> None:
        self.job = job
        self.places = Places(wanted=job.target.lines)
        self.out = assembler
        self.types = resources.Types(assembler)
        self.fours = fours_of(job)
        by_four = set[str]() if self.fours is None else self.fours.bases(job.kernel.body)
        buffers, self.fours_at = resources.buffers(job, self.types, by_four)
        self.arrays = buffers | resources.shared(job, self.types)
        self.block_variable = resources.block(job, self.types)
        self.scalars = {local.name: local.type for local in job.kernel.locals}
        self.locals: dict[str, int] = {}
        self.fields: dict[str, int] = {}
        self.ids: dict[ops.Id, int] = {}
        self.here = 0
        self.loops: list[tuple[int, int]] = []

    def write(self) -> None:
        """Write the whole function and make it the entry point."""
        kernel = self.job.kernel
        nothing = self.out.type(Op.TypeVoid)
        function = self.out.fresh()
        self.out.name(function, kernel.name)
        self.out.begin(function, nothing, self.out.type(Op.TypeFunction, nothing))
        for local in kernel.locals:
            self.locals[local.name] = self.out.local(self.types.scalar(wide(local.type)))
            self.out.name(self.locals[local.name], local.name)
        self.arrays |= resources.private(self.job, self.types)
        self.here = self.out.first_label
        self._read_inputs()
        if self.job.layout.has_domain:
            self._leave_outside_domain()
        if not self.statements(kernel.body):
            self.out.emit(Op.Return)
        self.out.end()
        self.out.entry_point(function, kernel.symbol, self.job.group)

    # --- the head ---

    def _read_inputs(self) -> None:
        """Read ids and fields once, where they dominate every use."""
        used = {item.op for item in all_expressions(self.job.kernel.body) if isinstance(item, nodes.Builtin)}
        if self.job.layout.has_domain:
            used.add(ops.Id.GLOBAL_ID)
        for op in sorted(used - {ops.Id.GROUP_SIZE}):
            kind = resources.id_type(self.types, op)
            self.ids[op] = self.out.value(Op.Load, kind, resources.id_variable(self.types, op))
        needed = self._needed_fields()
        for number, item in enumerate(self.job.layout.fields):
            if item.path in needed:
                self.fields[item.path] = self._read_field(number, resources.field_type(item.type))

    def _needed_fields(self) -> set[str]:
        body = self.job.kernel.body
        used: set[str] = {f"domain.{axis}" for axis in range(3)}
        for expr in all_expressions(body):
            if isinstance(expr, nodes.Param):
                used.add(expr.name)
            if isinstance(expr, nodes.ViewInfo):
                used.add(info_path(expr))
        for view in self.job.kernel.views:
            used |= {
                item.path for item in self.job.layout.fields if item.path.startswith(f"{view.name}.offset")
            }
            used |= {
                item.path for item in self.job.layout.fields if item.path.startswith(f"{view.name}.stride.")
            }
        return used

    def _read_field(self, number: int, scalar: Scalar) -> int:
        assert self.block_variable is not None
        variable, storage = self.block_variable
        kind = self.types.scalar(scalar)
        place = self.out.value(
            Op.AccessChain, self.out.pointer(storage, kind), variable, self.types.word(number)
        )
        return self.out.value(Op.Load, kind, place)

    def _leave_outside_domain(self) -> None:
        outside = self.constant(BOOL, 0)
        for axis in range(3):
            beyond = self.compare(
                Compare.GE, U32, self.builtin(ops.Id.GLOBAL_ID, axis), self.field(f"domain.{axis}")
            )
            outside = beyond if axis == 0 else self.core(Core.OR, BOOL, outside, beyond)
        leave, stay = self.out.fresh(), self.out.fresh()
        self.out.emit(Op.SelectionMerge, stay, 0)
        self.out.emit(Op.BranchConditional, outside, leave, stay)
        self._label(leave)
        self.out.emit(Op.Return)
        self._label(stay)

    # --- the core ---

    def constant(self, scalar: Scalar, bits: int) -> int:
        """Return a constant."""
        kind = self.types.scalar(scalar)
        if scalar == BOOL:
            return self.out.constant(Op.ConstantTrue if bits else Op.ConstantFalse, kind)
        return self.out.constant(Op.Constant, kind, *literal_words(bits, scalar.bits))

    def core(self, op: Core, scalar: Scalar, left: int, right: int) -> int:
        """Apply an operation of the core."""
        kind = self.types.scalar(scalar)
        if scalar == BOOL:
            return self.out.value(_BOOL_CORE[op], kind, left, right)
        if op is Core.DIV:
            return self.out.value(Op.SDiv if scalar.is_signed else Op.UDiv, kind, left, right)
        if op is Core.SHR:
            opcode = Op.ShiftRightArithmetic if scalar.is_signed else Op.ShiftRightLogical
            return self.out.value(opcode, kind, left, right)
        result = self.out.value(_CORE[op], kind, left, right)
        if op in _FLOAT_CORE and not self.job.kernel.contract:
            self.out.decorate(result, Decoration.NoContraction)
        return result

    def compare(self, op: Compare, scalar: Scalar, left: int, right: int) -> int:
        """Compare."""
        return self.out.value(_COMPARE[scalar.kind][op], self.types.scalar(BOOL), left, right)

    def select(self, scalar: Scalar, condition: int, yes: int, no: int) -> int:
        """Choose."""
        return self.out.value(Op.Select, self.types.scalar(scalar), condition, yes, no)

    def convert(self, op: Cast, source: Scalar, target: Scalar, value: int) -> int:
        """Convert."""
        if op is Cast.SEXT:
            return self._extend_sign(value)
        return self.out.value(_CONVERT[op], self.types.scalar(target), value)

    def _extend_sign(self, value: int) -> int:
        """Extend 32 bits to 64 as a pair of words.

        Mesa (22.3 for one) folds a 64-bit compare of a sign-extended value with a constant to a wrong one:
        `63 < int64_t(x)` is true for every small x. A pair is what a device makes of it anyway.
        """
        word = self.types.integer(32)
        sign = self.out.value(Op.ShiftRightArithmetic, word, value, self.types.word(31))
        pair = self.out.value(Op.CompositeConstruct, self.out.type(Op.TypeVector, word, 2), value, sign)
        return self.out.value(Op.Bitcast, self.types.integer(64), pair)

    def float_unary(self, op: Unary, scalar: Scalar, value: int) -> int:
        """Negate or take the absolute value."""
        if op is Unary.FNEG:
            return self.out.value(Op.FNegate, self.types.scalar(scalar), value)
        return self._extended(Glsl.FAbs, scalar, [value])

    def maths(self, expr: nodes.MathCall, operands: list[int]) -> int:
        """Call a function of the extended set; its `Pow` is undefined below zero and at 0 ** 0."""
        if expr.op is Math.POW:
            size = self.float_unary(Unary.FABS, expr.type, operands[0])
            result = self._extended(Glsl.Pow, expr.type, [size, operands[1]])
            return with_special_cases(self, expr.type, operands[0], operands[1], result)
        if expr.op is Math.RINT and expr.type is F64:
            return self._with_sign(rint_of_size(self, operands[0]), operands[0])
        result = self._extended(MATHS[expr.op], expr.type, operands)
        whole = expr.op is Math.TRUNC and expr.type is F64
        return self._with_sign(result, operands[0]) if whole else result

    def _with_sign(self, value: int, source: int) -> int:
        """Give a double the sign of another; pairs of words, since 64-bit integers may be missing."""
        word = self.types.integer(32)
        pair = self.out.type(Op.TypeVector, word, 2)
        low, high, top = (
            self.out.value(Op.CompositeExtract, word, self.out.value(Op.Bitcast, pair, item), place)
            for item, place in ((value, 0), (value, 1), (source, 1))
        )
        sign = self.out.value(Op.BitwiseAnd, word, top, self.types.word(1 << 31))
        high = self.out.value(Op.BitwiseOr, word, high, sign)
        both = self.out.value(Op.CompositeConstruct, pair, low, high)
        return self.out.value(Op.Bitcast, self.types.scalar(F64), both)

    def _extended(self, function: Glsl, scalar: Scalar, operands: list[int]) -> int:
        library = self.out.extended("GLSL.std.450")
        return self.out.value(Op.ExtInst, self.types.scalar(scalar), library, function, *operands)

    def logical(self, expr: nodes.Logical) -> int:
        """Branch around the right side where it may load; else evaluate both."""
        left = self.expression(expr.left)
        conjunction = expr.op is ops.Logical.LAND
        if not any(isinstance(item, nodes.Load) for item in expressions(expr.right)):
            return self.core(Core.AND if conjunction else Core.OR, BOOL, left, self.expression(expr.right))
        decided = self.here
        further, merge = self.out.fresh(), self.out.fresh()
        self.out.emit(Op.SelectionMerge, merge, 0)
        ways = (further, merge) if conjunction else (merge, further)
        self.out.emit(Op.BranchConditional, left, *ways)
        self._label(further)
        right = self.expression(expr.right)
        arrived = self.here
        self.out.emit(Op.Branch, merge)
        self._label(merge)
        return self.out.value(Op.Phi, self.types.scalar(BOOL), left, decided, right, arrived)

    def field(self, path: str) -> int:
        """Return a field, read at the head."""
        return self.fields[path]

    def read_local(self, name: str) -> int:
        """Load a local."""
        return self.out.value(Op.Load, self.types.scalar(wide(self.scalars[name])), self.locals[name])

    def builtin(self, op: ops.Id, dimension: int) -> int:
        """Return an id."""
        if op is ops.Id.GROUP_SIZE:
            return self.number(I32, self.job.group[dimension])
        if op in ops.SUBGROUP_IDS:
            return self.ids[op]
        return self.out.value(Op.CompositeExtract, self.types.integer(32), self.ids[op], dimension)

    # --- memory ---

    def _place(self, base: str, indices: tuple[nodes.Expr, ...]) -> tuple[resources.Array, int]:
        array = self.arrays[base]
        pointer = self.out.pointer(array.storage, array.held)
        if array.storage in (StorageClass.Workgroup, StorageClass.Function):
            index = self.expression(indices[0])
            return array, self.out.value(Op.AccessChain, pointer, array.variable, index)
        index, _ = access.element(self, array, base, indices)
        zero = self.types.word(0)
        return array, self.out.value(Op.AccessChain, pointer, array.variable, zero, index)

    def load(self, expr: nodes.Load) -> int:
        """Load an element and bring it into its wide form."""
        array, place = self._place(expr.base, expr.indices)
        value = self.out.value(Op.Load, array.held, place)
        return self._from_memory(array, value)

    def _from_memory(self, array: resources.Array, value: int) -> int:
        kind = self.types.scalar(wide(array.element))
        if array.as_words:
            return self.out.value(Op.Bitcast, kind, value)
        if array.bits < 32:
            return self.out.value(Op.SConvert if array.element.is_signed else Op.UConvert, kind, value)
        return value

    def _to_memory(self, array: resources.Array, value: int) -> int:
        if array.as_words:
            return self.out.value(Op.Bitcast, array.held, value)
        if array.bits < 32:
            return self.out.value(Op.UConvert, array.held, value)
        return value

    # --- statements ---

    def _label(self, label: int) -> None:
        self.out.label(label)
        self.here = label

    def statements(self, block: nodes.Block) -> bool:
        """Write statements; tell whether they end in a jump."""
        for loads, stores, stmt in steps(self.fours, block):
            if loads:
                access.four_loads(self, loads)
            elif stores:
                access.four_stores(self, stores)
            elif self.statement(stmt):
                return True
        return False

    def statement(self, stmt: nodes.Stmt) -> bool:
        """Write one statement, after its place where that is asked for; tell whether the way ends here."""
        span = self.places.changed(stmt.span)
        if span is not None:
            self.out.emit(Op.Line, self.out.string(span.file), span.line, max(span.column, 0))
        match stmt:
            case nodes.Assign():
                self.out.emit(Op.Store, self.locals[stmt.local], self.expression(stmt.value))
            case nodes.Store():
                array, place = self._place(stmt.base, stmt.indices)
                self.out.emit(Op.Store, place, self._to_memory(array, self.expression(stmt.value)))
            case nodes.If():
                return self._if(stmt)
            case nodes.Loop():
                self._loop(stmt)
            case nodes.Break():
                self.out.emit(Op.Branch, self.loops[-1][0])
            case nodes.Continue():
                self.out.emit(Op.Branch, self.loops[-1][1])
            case nodes.Return():
                self.out.emit(Op.Return)
            case nodes.Barrier() | nodes.Fence() | nodes.SubGroup() | nodes.ExternCall() | nodes.Inline():
                self._together(stmt)
            case nodes.Atomic():
                self._atomic(stmt)
            case _:
                assert_never(stmt)
        return isinstance(stmt, nodes.Break | nodes.Continue | nodes.Return)

    def _if(self, stmt: nodes.If) -> bool:
        condition = self.expression(stmt.condition)
        then, merge = self.out.fresh(), self.out.fresh()
        orelse = self.out.fresh() if stmt.orelse else merge
        self.out.emit(Op.SelectionMerge, merge, 0)
        self.out.emit(Op.BranchConditional, condition, then, orelse)
        ended = self._arm(then, stmt.then, merge)
        if stmt.orelse:
            ended &= self._arm(orelse, stmt.orelse, merge)
        else:
            ended = False
        self._label(merge)
        if ended:
            self.out.emit(Op.Unreachable)
        return ended

    def _arm(self, label: int, block: nodes.Block, merge: int) -> bool:
        self._label(label)
        ended = self.statements(block)
        if not ended:
            self.out.emit(Op.Branch, merge)
        return ended

    def _loop(self, stmt: nodes.Loop) -> None:
        header, test, body, step, merge = (self.out.fresh() for _ in range(5))
        self.out.emit(Op.Branch, header)
        self._label(header)
        self.out.emit(Op.LoopMerge, merge, step, 0)
        self.out.emit(Op.Branch, test)
        self._label(test)
        self.out.emit(Op.BranchConditional, self.expression(stmt.condition), body, merge)
        self._label(body)
        self.loops.append((merge, step))
        if not self.statements(stmt.body):
            self.out.emit(Op.Branch, step)
        self.loops.pop()
        self._label(step)
        self.statements(stmt.step)
        self.out.emit(Op.Branch, header)
        self._label(merge)

    def _together(self, stmt: nodes.Together) -> None:
        memory = self.types.word(Semantics.AcquireRelease | _BOTH_MEMORIES)
        match stmt:
            case nodes.ExternCall():
                raise AssertionError("an extern is refused before")
            case nodes.Inline():
                self._inline(stmt)
            case nodes.Barrier():
                group = self.types.word(Scope.Workgroup)
                self.out.emit(Op.ControlBarrier, group, group, memory)
            case nodes.Fence():
                self.out.emit(Op.MemoryBarrier, self.types.word(_SCOPES[stmt.scope]), memory)
            case nodes.SubGroup():
                self.out.emit(Op.Store, self.locals[stmt.result], self._subgroup(stmt))

    def _inline(self, stmt: nodes.Inline) -> None:
        """Write SPIR-V instructions, one a line (:mod:`atoll_plugins.spirv.inline`)."""
        values = [self.expression(item) for item in stmt.operands]
        kind = None if stmt.result is None else self.types.scalar(self.scalars[stmt.result])
        result = instructions(self.out, self.types, stmt, values, kind)
        if stmt.result is not None and result is not None:
            self.out.emit(Op.Store, self.locals[stmt.result], result)

    def _subgroup(self, stmt: nodes.SubGroup) -> int:
        """Do an operation of a sub-group; a broadcast of any lane is a shuffle."""
        scalar, value = stmt.value.type, self.expression(stmt.value)
        kind, scope = self.types.scalar(scalar), self.types.word(Scope.Subgroup)
        if stmt.lane is not None:
            self.out.capability(Capability.GroupNonUniformShuffle)
            return self.out.value(Op.GroupNonUniformShuffle, kind, scope, value, self.expression(stmt.lane))
        if stmt.op in ops.VOTES:
            self.out.capability(Capability.GroupNonUniformVote)
            vote = Op.GroupNonUniformAll if stmt.op is ops.SubGroup.ALL else Op.GroupNonUniformAny
            return self.out.value(vote, kind, scope, value)
        self.out.capability(Capability.GroupNonUniformArithmetic)
        opcode = _TOGETHER[stmt.op, scalar.kind]
        return self.out.value(opcode, kind, scope, _GROUP.get(stmt.op, GroupOperation.Reduce), value)

    # --- atomics ---

    def _atomic(self, stmt: nodes.Atomic) -> None:
        array, place = self._place(stmt.base, stmt.indices)
        expected = None if stmt.expected is None else self.expression(stmt.expected)
        value = self._to_memory(array, self.expression(stmt.value))
        scope = self.types.word(_SCOPES[stmt.scope])
        order = _ORDERS[stmt.order]
        semantics = self.types.word(order | _BOTH_MEMORIES if order else order)
        if array.storage is StorageClass.StorageBuffer and array.bits == 64:
            self.out.capability(Capability.Int64Atomics)
        if array.as_words and stmt.op is AtomicOp.ADD:
            old = self._float_sum(array, place, value, (scope, semantics))
        elif expected is not None:
            failed = self.types.word(_FAILED[order] | _BOTH_MEMORIES if _FAILED[order] else 0)
            operands = (place, scope, semantics, failed, value, expected)
            old = self.out.value(Op.AtomicCompareExchange, array.held, *operands)
        else:
            opcode = _ATOMICS[stmt.op, array.element.is_signed]
            old = self.out.value(opcode, array.held, place, scope, semantics, value)
        if stmt.result is not None:
            self.out.emit(Op.Store, self.locals[stmt.result], self._from_memory(array, old))

    def _float_sum(self, array: resources.Array, place: int, value: int, how: tuple[int, int]) -> int:
        """Add to a float by comparing and swapping its word; return the old word.

        Core SPIR-V has no float sum; VK_EXT_shader_atomic_float would be one more thing to ask for.
        """
        scope, semantics = how
        word = U64 if array.bits == 64 else U32
        relaxed = self.types.word(Semantics.Relaxed)
        kind = self.types.scalar(array.element)
        addend = self.out.value(Op.Bitcast, kind, value)
        seen = self.out.local(array.held)
        self.out.emit(Op.Store, seen, self.out.value(Op.AtomicLoad, array.held, place, scope, relaxed))
        header, body, step, merge = (self.out.fresh() for _ in range(4))
        self.out.emit(Op.Branch, header)
        self._label(header)
        self.out.emit(Op.LoopMerge, merge, step, 0)
        self.out.emit(Op.Branch, body)
        self._label(body)
        old = self.out.value(Op.Load, array.held, seen)
        total = self.core(Core.FADD, array.element, self.out.value(Op.Bitcast, kind, old), addend)
        new = self.out.value(Op.Bitcast, array.held, total)
        operands = (place, scope, semantics, relaxed, new, old)
        found = self.out.value(Op.AtomicCompareExchange, array.held, *operands)
        self.out.emit(Op.Store, seen, found)
        self.out.emit(Op.BranchConditional, self.compare(Compare.EQ, word, found, old), merge, step)
        self._label(step)
        self.out.emit(Op.Branch, header)
        self._label(merge)
        return self.out.value(Op.Load, array.held, seen)
