"""Which operations exist. The semantics stand in the operation; nothing is left to the target.

docs/reference/kir.md is the specification; in one line each:

* integers wrap; ``div_floor``/``rem_floor`` are Python's ``//`` and ``%``, ``div_trunc``/``rem_trunc``
  are C's; division by zero gives quotient 0 and remainder = the dividend; INT_MIN / -1 wraps.
* ``shl``/``shr`` with a count not in ``0 ≤ count < bits`` give 0, or the sign fill for a signed ``shr``.
* every float operation rounds to its own type (half to even), never fused with another one;
  denormals may be flushed by a target, which then says so.
* ``fmin(a, b)`` is ``b if b < a else a`` and ``fmax(a, b)`` is ``b if b > a else a``, as in Python;
  ``min``/``max`` are the same for integers.
* comparisons with NaN are false, except ``ne``.
"""

from __future__ import annotations

from enum import StrEnum


class Unary(StrEnum):
    """One operand; the result has its type."""

    NEG_WRAP = "neg_wrap"  # integers; -INT_MIN is INT_MIN, unsigned: 2**bits - x
    ABS_WRAP = "abs_wrap"  # integers; |INT_MIN| is INT_MIN
    NOT = "not"  # integers: every bit; bool: logical
    FNEG = "fneg"  # flips the sign bit, of a NaN and a zero too
    FABS = "fabs"


class Binary(StrEnum):
    """Two operands of one type; the result has it too."""

    ADD_WRAP = "add_wrap"
    SUB_WRAP = "sub_wrap"
    MUL_WRAP = "mul_wrap"
    DIV_FLOOR = "div_floor"
    REM_FLOOR = "rem_floor"
    DIV_TRUNC = "div_trunc"
    REM_TRUNC = "rem_trunc"
    AND = "and"  # integers and bool (both sides evaluated)
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    SHR = "shr"  # arithmetic on signed types, logical on unsigned ones
    MIN = "min"
    MAX = "max"
    FADD = "fadd"
    FSUB = "fsub"
    FMUL = "fmul"
    FDIV = "fdiv"  # IEEE: x / 0 is an infinity or NaN
    FMIN = "fmin"
    FMAX = "fmax"


FLOAT_BINARY = frozenset({Binary.FADD, Binary.FSUB, Binary.FMUL, Binary.FDIV, Binary.FMIN, Binary.FMAX})
BITWISE = frozenset({Binary.AND, Binary.OR, Binary.XOR})
DIVISIONS = frozenset({Binary.DIV_FLOOR, Binary.REM_FLOOR, Binary.DIV_TRUNC, Binary.REM_TRUNC})
FLOAT_UNARY = frozenset({Unary.FNEG, Unary.FABS})


class Compare(StrEnum):
    """Two operands of one type (bool: ``eq`` and ``ne`` only); the result is a bool."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"


class Logical(StrEnum):
    """Two bools; the right one is evaluated only where the left one does not decide."""

    LAND = "land"
    LOR = "lor"


class Cast(StrEnum):
    """A conversion. Source and result types are as the comment says."""

    SEXT = "sext"  # signed → wider integer
    ZEXT = "zext"  # unsigned or bool → wider integer (bool: 0 or 1)
    TRUNC = "trunc"  # integer → narrower integer, low bits
    SIGN = "sign"  # integer → the integer of the same width and the other sign, same bits
    BITS = "bits"  # integer ↔ float of the same width, same bits
    SITOF = "sitof"  # signed → float, rounded half to even
    UITOF = "uitof"  # unsigned or bool → float, rounded half to even
    FTOSI = "ftosi"  # float → signed: toward zero, saturates, NaN gives 0
    FTOUI = "ftoui"  # float → unsigned: toward zero, saturates, NaN gives 0
    FEXT = "fext"  # float → wider float, exact
    FTRUNC = "ftrunc"  # float → narrower float (or f16 ↔ bf16), rounded half to even


class Id(StrEnum):
    """Who a work-item is; i32, one dimension each."""

    GLOBAL_ID = "global_id"
    LOCAL_ID = "local_id"
    GROUP_ID = "group_id"
    GROUP_SIZE = "group_size"
    NUM_GROUPS = "num_groups"
    LANE_ID = "lane_id"  # the work-item's number in its sub-group; dimension 0 only, as the next two
    SUBGROUP_ID = "subgroup_id"  # the sub-group's number in the group
    SUBGROUP_SIZE = "subgroup_size"


#: Ids of sub-groups, which have one dimension.
SUBGROUP_IDS = frozenset({Id.LANE_ID, Id.SUBGROUP_ID, Id.SUBGROUP_SIZE})
#: Ids that are equal for every work-item of a group.
UNIFORM_IDS = frozenset({Id.GROUP_ID, Id.GROUP_SIZE, Id.NUM_GROUPS, Id.SUBGROUP_SIZE})
#: Ids that are equal for every work-item of a sub-group.
SUBGROUP_UNIFORM_IDS = UNIFORM_IDS | {Id.SUBGROUP_ID}


class Extent(StrEnum):
    """What a view says of itself; i64, in elements."""

    SIZE = "size"
    STRIDE = "stride"
    OFFSET = "offset"


class Math(StrEnum):
    """The closed list of intrinsics; float operands of one type, the result has it too.

    `sqrt`, `floor`, `ceil`, `truncate`, `rint` and `fma` are exact or correctly rounded; the accuracy of
    the others is the target's, within docs/reference/kir.md.
    """

    SQRT = "sqrt"
    RSQRT = "rsqrt"
    EXP = "exp"
    EXP2 = "exp2"
    LOG = "log"
    LOG2 = "log2"
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    TANH = "tanh"
    FLOOR = "floor"
    CEIL = "ceil"
    TRUNC = "truncate"  # toward zero, stays a float
    RINT = "rint"  # half to even, stays a float
    POW = "pow"
    FMA = "fma"  # one rounding


#: How many operands each takes.
MATH_ARITY = {name: {Math.POW: 2, Math.FMA: 3}.get(name, 1) for name in Math}


class AtomicOp(StrEnum):
    """What an atomic does to an element; integers, and ADD and EXCHANGE on floats too."""

    ADD = "add"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"
    COMPARE_EXCHANGE = "compare_exchange"


class SubGroup(StrEnum):
    """What the work-items of a sub-group do together; every one of them reaches it."""

    ADD = "add"  # the sum of all values; the order of a float sum is the target's
    MIN = "min"
    MAX = "max"
    AND = "and"  # integers
    OR = "or"
    XOR = "xor"
    INCLUSIVE_ADD = "inclusive_add"  # the sum up to and with one's own value
    EXCLUSIVE_ADD = "exclusive_add"  # the sum before one's own value
    ALL = "all"  # bool: whether it holds for all
    ANY = "any"
    BROADCAST = "broadcast"  # the value of one lane, the same for all
    SHUFFLE = "shuffle"  # the value of the lane that each names


#: Operations on bools, with a lane, and whose result is the same for the whole sub-group.
VOTES = frozenset({SubGroup.ALL, SubGroup.ANY})
WITH_LANE = frozenset({SubGroup.BROADCAST, SubGroup.SHUFFLE})
SCANS = frozenset({SubGroup.INCLUSIVE_ADD, SubGroup.EXCLUSIVE_ADD})
SAME_FOR_ALL = frozenset(SubGroup) - SCANS - {SubGroup.SHUFFLE}


class Inline(StrEnum):
    """What the text of inline code is; only a target that has that language takes it."""

    ASM = "asm"  # the assembly of the device: the constraints are its own letters
    SNIPPET = "snippet"  # the device language of the target; the constraints are types
    OPERATIONS = "operations"  # instructions of the binary that it emits; the constraints are types
    MISSING = "missing"  # an intrinsic that the target has no implementation of; never emitted


class Order(StrEnum):
    """How an atomic orders other memory traffic."""

    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"


class Scope(StrEnum):
    """Between whom memory is ordered."""

    SUB_GROUP = "sub_group"
    WORK_GROUP = "work_group"
    DEVICE = "device"
