"""Which numbers does SPIR-V give the things an emitter writes?

Values are from the unified SPIR-V specification, version 1.6 (sections 3.x). Only what
:mod:`atoll_plugins.spirv.emitter` writes is listed; the reader has its own, smaller table.
"""

from __future__ import annotations

from enum import IntEnum

MAGIC = 0x07230203


class Op(IntEnum):
    """Instructions (section 3.49)."""

    Name = 5
    MemberName = 6
    String = 7
    Line = 8
    Extension = 10
    ExtInstImport = 11
    ExtInst = 12
    MemoryModel = 14
    EntryPoint = 15
    ExecutionMode = 16
    Capability = 17
    TypeVoid = 19
    TypeBool = 20
    TypeInt = 21
    TypeFloat = 22
    TypeVector = 23
    TypeArray = 28
    TypeRuntimeArray = 29
    TypeStruct = 30
    TypePointer = 32
    TypeFunction = 33
    ConstantTrue = 41
    ConstantFalse = 42
    Constant = 43
    ConstantComposite = 44
    ConstantNull = 46
    Function = 54
    FunctionParameter = 55
    FunctionEnd = 56
    FunctionCall = 57
    Variable = 59
    Load = 61
    Store = 62
    AccessChain = 65
    ArrayLength = 68
    Decorate = 71
    MemberDecorate = 72
    CompositeConstruct = 80
    CompositeExtract = 81
    ConvertFToU = 109
    ConvertFToS = 110
    ConvertSToF = 111
    ConvertUToF = 112
    UConvert = 113
    SConvert = 114
    FConvert = 115
    Bitcast = 124
    SNegate = 126
    FNegate = 127
    IAdd = 128
    FAdd = 129
    ISub = 130
    FSub = 131
    IMul = 132
    FMul = 133
    UDiv = 134
    SDiv = 135
    FDiv = 136
    UMod = 137
    SRem = 138
    SMod = 139
    FRem = 140
    UMulExtended = 151
    SMulExtended = 152
    IsNan = 156
    LogicalEqual = 164
    LogicalNotEqual = 165
    LogicalOr = 166
    LogicalAnd = 167
    LogicalNot = 168
    Select = 169
    IEqual = 170
    INotEqual = 171
    UGreaterThan = 172
    SGreaterThan = 173
    UGreaterThanEqual = 174
    SGreaterThanEqual = 175
    ULessThan = 176
    SLessThan = 177
    ULessThanEqual = 178
    SLessThanEqual = 179
    FOrdEqual = 180
    FUnordEqual = 181
    FOrdNotEqual = 182
    FUnordNotEqual = 183
    FOrdLessThan = 184
    FOrdGreaterThan = 186
    FOrdLessThanEqual = 188
    FOrdGreaterThanEqual = 190
    ShiftRightLogical = 194
    ShiftRightArithmetic = 195
    ShiftLeftLogical = 196
    BitwiseOr = 197
    BitwiseXor = 198
    BitwiseAnd = 199
    Not = 200
    BitReverse = 204
    BitCount = 205
    ControlBarrier = 224
    MemoryBarrier = 225
    AtomicLoad = 227
    AtomicStore = 228
    AtomicExchange = 229
    AtomicCompareExchange = 230
    AtomicIAdd = 234
    AtomicISub = 235
    AtomicSMin = 236
    AtomicUMin = 237
    AtomicSMax = 238
    AtomicUMax = 239
    AtomicAnd = 240
    AtomicOr = 241
    AtomicXor = 242
    Phi = 245
    LoopMerge = 246
    SelectionMerge = 247
    Label = 248
    Branch = 249
    BranchConditional = 250
    Return = 253
    ReturnValue = 254
    Unreachable = 255
    GroupNonUniformAll = 334
    GroupNonUniformAny = 335
    GroupNonUniformShuffle = 345
    GroupNonUniformIAdd = 349
    GroupNonUniformFAdd = 350
    GroupNonUniformSMin = 353
    GroupNonUniformUMin = 354
    GroupNonUniformFMin = 355
    GroupNonUniformSMax = 356
    GroupNonUniformUMax = 357
    GroupNonUniformFMax = 358
    GroupNonUniformBitwiseAnd = 359
    GroupNonUniformBitwiseOr = 360
    GroupNonUniformBitwiseXor = 361


class GroupOperation(IntEnum):
    """What a reduction of a sub-group gives (section 3.30)."""

    Reduce = 0
    InclusiveScan = 1
    ExclusiveScan = 2


class Capability(IntEnum):
    """Capabilities (section 3.31). A name here is also the name of the fact that states it."""

    Shader = 1
    Float16 = 9
    Float64 = 10
    Int64 = 11
    Int64Atomics = 12
    Int16 = 22
    Int8 = 39
    GroupNonUniform = 61
    GroupNonUniformVote = 62
    GroupNonUniformArithmetic = 63
    GroupNonUniformShuffle = 65
    StorageBuffer16BitAccess = 4433
    StorageBuffer8BitAccess = 4448
    SignedZeroInfNanPreserve = 4466


class StorageClass(IntEnum):
    """Storage classes (section 3.7)."""

    Input = 1
    Workgroup = 4
    Function = 7
    PushConstant = 9
    StorageBuffer = 12


class Decoration(IntEnum):
    """Decorations (section 3.20)."""

    Block = 2
    ArrayStride = 6
    BuiltIn = 11
    Aliased = 20
    Coherent = 23
    NonWritable = 24
    NonReadable = 25
    Binding = 33
    DescriptorSet = 34
    Offset = 35
    NoContraction = 42


class BuiltIn(IntEnum):
    """Built-in variables (section 3.21)."""

    NumWorkgroups = 24
    WorkgroupSize = 25
    WorkgroupId = 26
    LocalInvocationId = 27
    GlobalInvocationId = 28
    SubgroupSize = 36
    SubgroupId = 40
    SubgroupLocalInvocationId = 41


class Scope(IntEnum):
    """Scopes (section 3.27)."""

    Device = 1
    Workgroup = 2
    Subgroup = 3


class Semantics(IntEnum):
    """Memory semantics (section 3.25)."""

    Relaxed = 0x0
    Acquire = 0x2
    Release = 0x4
    AcquireRelease = 0x8
    UniformMemory = 0x40
    WorkgroupMemory = 0x100


class Glsl(IntEnum):
    """The instructions of the extended set ``GLSL.std.450``."""

    RoundEven = 2
    Trunc = 3
    FAbs = 4
    SAbs = 5
    Floor = 8
    Ceil = 9
    Sin = 13
    Cos = 14
    Tan = 15
    Asin = 16
    Acos = 17
    Atan = 18
    Sinh = 19
    Cosh = 20
    Tanh = 21
    Atan2 = 25
    Pow = 26
    Exp = 27
    Log = 28
    Exp2 = 29
    Log2 = 30
    Sqrt = 31
    InverseSqrt = 32
    FMin = 37
    UMin = 38
    SMin = 39
    FMax = 40
    UMax = 41
    SMax = 42
    Fma = 50
