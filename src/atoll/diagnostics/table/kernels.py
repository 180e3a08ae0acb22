"""07xx: kernels and KIR. Emitters have theirs in their own module of this folder."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0701": CodeInfo(
        "not KIR text",
        "The text form of KIR could not be read. docs/reference/kir.md has its grammar.",
    ),
    "ATL0702": CodeInfo(
        "not valid KIR",
        "A module breaks a rule that every emitter relies on: a type, a name, a definition before use, or "
        "the place of a statement. A front end that made it has a bug; please report it.",
    ),
    "ATL0703": CodeInfo(
        "a barrier that not every work-item reaches",
        "Work-items of one group that wait at different barriers, or not at all, hang a device. Whether "
        "they all arrive is derived from the ids: a condition that depends on global_id, local_id or on "
        "memory the kernel writes may differ between them.",
    ),
    "ATL0704": CodeInfo(
        "a sub-group operation that not every work-item reaches",
        "The work-items of a sub-group exchange values together, so all of them have to be there, and a "
        "broadcast names one lane for all. A condition on subgroup_id, or on what a reduction or a vote "
        "gave, is the same for the whole sub-group; one on local_id or lane_id is not.",
    ),
    "ATL0705": CodeInfo(
        "a pass that spoils a kernel",
        "A pass over KIR left something that means nothing. It is a fault of Atoll: please report the kernel "
        "and what `atoll kernel show FILE --stage kir` prints for it.",
    ),
    "ATL0710": CodeInfo(
        "Python that a kernel cannot hold",
        "The statement or expression has no meaning on a device, or none that is Python's. The sentence "
        "says which, and the reference lists what kernels may hold.",
    ),
    "ATL0711": CodeInfo(
        "a name that means nothing to a kernel",
        "The name is not defined where the kernel was written, or it is a value that cannot enter one. "
        "Kernels read their parameters, their own locals, captured numbers, and device functions.",
    ),
    "ATL0712": CodeInfo(
        "a parameter without a usable type",
        "Every parameter of a kernel or device function needs an annotation: a scalar such as f32, or "
        "view[f32] or view[f32, 2].",
    ),
    "ATL0713": CodeInfo(
        "two types that do not go together",
        "Types join as in NumPy 2 where that is exact (i32 with i64); an integer and a float, or u64 and a "
        "signed integer, do not. Convert one of them: f32(i).",
    ),
    "ATL0714": CodeInfo(
        "a name changes its type",
        "A local has one type, from its first assignment. Convert the value, or use a second name.",
    ),
    "ATL0715": CodeInfo(
        "a name may be read before it is assigned",
        "On some way to this line nothing was assigned to the name; Python would raise UnboundLocalError "
        "there. The variable of a loop is unbound where the loop runs zero times. Assign it before.",
    ),
    "ATL0716": CodeInfo(
        "a condition that is no bool",
        "Python takes any value as a condition, a kernel takes a bool: write `n != 0`. `and`, `or` and "
        "`not` take bools too.",
    ),
    "ATL0717": CodeInfo(
        "`/` on integers",
        "Python's `/` gives a float of 64 bits, which a kernel never makes silently. Use `//`, or convert "
        "first: `f32(a) / f32(b)`.",
    ),
    "ATL0718": CodeInfo(
        "a literal that does not fit",
        "A literal takes the type of what it meets, as in NumPy 2, and must be one of its values.",
    ),
    "ATL0719": CodeInfo(
        "device functions call each other in a circle",
        "Devices have no call stack to rely on. Write a loop.",
    ),
    "ATL0720": CodeInfo(
        "a function that is not marked",
        "A kernel may call functions marked with `@atoll.device`, the functions of `atoll` and those of "
        "`math` that atoll has. Mark the function.",
    ),
    "ATL0721": CodeInfo(
        "a captured value that cannot enter a kernel",
        "Numbers from around a kernel become constants of it. Arrays and other objects do not: pass them "
        "as arguments.",
    ),
    "ATL0722": CodeInfo(
        "a name that a kernel cannot have",
        "Names that start with `atoll_v` and a number belong to Atoll; tools find kernels by them. A "
        "kernel's own name stands in the code of every target, so it is ASCII; parameters and locals may "
        "have any name.",
    ),
    "ATL0723": CodeInfo(
        "the source of a function is not at hand",
        "Kernels are compiled from their source text. A function made by `exec` without an entry in "
        "`linecache` has none.",
    ),
    "ATL0724": CodeInfo(
        "a wrong index",
        "A view of rank r takes r integers: `x[i, j]`. A literal negative index counts from the end; a "
        "slice is taken outside the kernel.",
    ),
    "ATL0725": CodeInfo(
        "a wrong call",
        "The function takes other arguments.",
    ),
    "ATL0726": CodeInfo(
        "nested too deep",
        "Expressions and blocks may be nested a hundred deep. Split the expression over several names.",
    ),
    "ATL0727": CodeInfo(
        "a wrong return",
        "A kernel returns nothing; a device function returns one scalar on every way through it.",
    ),
    "ATL0728": CodeInfo(
        "a wrong launch contract",
        "`block=` takes one to three positive sizes whose product is at most 1024.",
    ),
    "ATL0730": CodeInfo(
        "no such instance of a kernel",
        "A generic kernel has code once its type variables and constant parameters are bound: name them all, "
        "`scale.instance(T=f32, tile=16)`, or launch it with arguments that say them.",
    ),
    "ATL0740": CodeInfo(
        "a kernel file without a kernel",
        "A file listed as a device unit must define a `@kernel` at module level.",
    ),
    "ATL0741": CodeInfo(
        "two kernels of one name",
        "Two kernels of one program would export one symbol. Rename one of them.",
    ),
    "ATL0742": CodeInfo(
        "a kernel file could not be imported",
        "The build imports a kernel file in a process of its own; the end of its traceback is shown. "
        "Imports of packages that are only there at run time belong inside functions.",
    ),
    "ATL0743": CodeInfo(
        "a kernel file took too long to import",
        "The import is stopped after the time that is named. Do no work at module level.",
    ),
    "ATL0744": CodeInfo(
        "a kernel that cannot be shipped",
        "A kernel compiled ahead of time is a function of C: it needs a work-group size where it waits at "
        "a barrier (write `@kernel(block=256)`), a name, and parameters and fields of structs that C can "
        "spell, and a launch contract over what its parameters have.",
    ),
    "ATL0745": CodeInfo(
        "a generic kernel without an instance",
        "What is compiled ahead of time is the instances that a kernel file lists at module level. Write "
        "`scale.instance(T=f32)` below the kernel.",
    ),
    "ATL0750": CodeInfo(
        "an index out of bounds",
        "The oracle or the interpreter ran the kernel and an index left its array. On a device the same "
        "access reads or destroys something else.",
    ),
    "ATL0751": CodeInfo(
        "a race",
        "Two work-items touch one element without a barrier between them and at least one writes. The "
        "result depends on the order.",
    ),
    "ATL0752": CodeInfo(
        "work-items of one group wait at different places",
        "The oracle saw work-items of a group reach different barriers, or end while others wait.",
    ),
    "ATL0753": CodeInfo(
        "shared memory read before it was written",
        "Shared memory has no initial contents.",
    ),
    "ATL0754": CodeInfo(
        "an operation without a result in Python",
        "The oracle met a division by zero or a shift by a negative or too large count. Devices give the "
        "values that docs/reference/kir.md states, Python gives none.",
    ),
    "ATL0755": CodeInfo(
        "work-items of one sub-group do not work together",
        "The oracle saw a work-item of a sub-group wait elsewhere, or end, while others exchange values. All "
        "of a sub-group have to reach each of its operations.",
    ),
    "ATL0756": CodeInfo(
        "an assertion of a kernel does not hold",
        "The oracle checks every `assert`, a launch those of a kernel marked `@kernel(debug=True)`. The note "
        "names the work-item.",
    ),
    "ATL0757": CodeInfo(
        "an integer wraps",
        "A signed sum, difference or product left its type. Kernels wrap, Python does not: a checked kernel "
        "says where the two part. Use a wider type, or an unsigned one where wrapping is meant.",
    ),
    "ATL0758": CodeInfo(
        "a function that Python has no body of",
        "The kernel calls a function marked with `@atoll.extern`, which another source defines. The oracle "
        "runs Python only.",
    ),
    "ATL0760": CodeInfo(
        "an argument that does not fit its parameter",
        "The number, type, shape, layout or range of an argument is not what the kernel's signature says.",
    ),
    "ATL0761": CodeInfo(
        "a launch that a kernel does not allow",
        "A kernel with a barrier runs whole work-groups, so its domain must be a multiple of the block; a "
        "contract `block=` fixes the block; a dimension holds at most 2**31 - 1 work-items.",
    ),
    "ATL0763": CodeInfo(
        "no such kernel or stage",
        "The file has no kernel of that name, or the target has no stage of that name.",
    ),
    "ATL0770": CodeInfo(
        "an intrinsic without an implementation for the target",
        "Look-up takes the implementation for exactly this architecture, else the highest floor that the "
        "target meets, else the platform's general one, else a body that the interface's author declared "
        "portable. The notes list every implementation with why it does not serve.",
    ),
    "ATL0771": CodeInfo(
        "two implementations for one target",
        "An intrinsic has one implementation for a platform and an architecture. The notes name both places.",
    ),
    "ATL0772": CodeInfo(
        "an implementation with another signature",
        "Names, types and the result of an implementation are exactly those of the interface.",
    ),
    "ATL0773": CodeInfo(
        "a mark that cannot stand there",
        "Interfaces and implementations are classes of static functions; an implementation names its "
        "platform, and intrinsics that the interface has. Nobody calls an implementation.",
    ),
    "ATL0774": CodeInfo(
        "inline code that does not fit its operands",
        "`asm`, `snippet` and `operations` stand in implementations of intrinsics. Every operand has a "
        "constraint that holds its type, every `$n` an operand; code without a result says that it "
        "writes memory.",
    ),
}
