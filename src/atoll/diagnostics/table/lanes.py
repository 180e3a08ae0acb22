"""0500-0549: lanes."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0500": CodeInfo(
        "no host compiler",
        "The host lane needs a C++ compiler on PATH, or the one that `[lane.host] compiler` names. "
        "Compilers are looked up in the environment of the build and nowhere else.",
    ),
    "ATL0501": CodeInfo(
        "a general flag that would offload code",
        "The flag moves parts of ordinary translation units to a device. No unit of the project can be "
        "named, matched or measured for it, so no island exists; docs/explanation/no-island.md says more.",
    ),
    "ATL0502": CodeInfo(
        "an extension that its lane refuses",
        "The lane knows the extension and cannot compile it as it stands: a shader whose name states no "
        "stage.",
    ),
    "ATL0503": CodeInfo(
        "an entry with neither an architecture nor a floor",
        "The lane compiles ahead of time and must be told for what. Which devices a product serves is a "
        "decision of its author, never an accident of the machine it was built on.",
    ),
    "ATL0504": CodeInfo(
        "the toolkit does not meet the version asked for",
        "The version of an entry is a request: a toolkit of that major version and at least that minor "
        "version. What is at hand does not meet it.",
    ),
    "ATL0505": CodeInfo(
        "a pin that the lane cannot serve",
        "`[lane.NAME] version` pins a payload that the lane does not know, or one below the oldest that it "
        "can drive.",
    ),
    "ATL0506": CodeInfo(
        "no host compiler within the toolkit's bound",
        "The toolkit states in its own headers which host compilers it accepts, and none at hand is one.",
    ),
    "ATL0507": CodeInfo(
        "a stage of the device compiler is missing",
        "The device compiler drives further programs, and one of them does not exist. The note names it "
        "and the package that brings it.",
    ),
    "ATL0508": CodeInfo(
        "an architecture that cannot be compiled for",
        "The lane's rules or the device compiler itself refuse the architecture.",
    ),
    "ATL0509": CodeInfo(
        "a compiler that is named is not there",
        "`[lane.NAME] compiler` names a program that does not exist, cannot be started, or is not a "
        "compiler that the lane drives.",
    ),
    "ATL0511": CodeInfo(
        "a version that the shader compiler does not know",
        "The compiler lists the environments it can target, and the one asked for is not among them.",
    ),
    "ATL0512": CodeInfo(
        "an option that the lane does not have",
        "`[lane.NAME]` holds a key that the lane does not know, or a value of the wrong kind.",
    ),
    "ATL0513": CodeInfo(
        "a platform that a lane does not serve",
        "The vendor publishes no toolchain for the host, or the lane has no plan for it.",
    ),
    "ATL0514": CodeInfo(
        "a backend that the lane does not compile for",
        "A source entry's constraint sends a unit to a lane for a backend that is not its own.",
    ),
    "ATL0515": CodeInfo(
        "sources that were not checked offline",
        "The device brings the compiler of this language. A checker would have shown errors at build time, "
        "and none is installed; nothing else changes.",
    ),
    "ATL0516": CodeInfo(
        "a module that nothing provides",
        "A unit imports a C++ module that no `.cppm` of its target declares, and no target that it links.",
    ),
    "ATL0517": CodeInfo(
        "a module that is provided twice",
        "Two units that one link would hold declare the same C++ module or partition.",
    ),
    "ATL0518": CodeInfo(
        "modules that import each other",
        "Each module of the circle needs the next one compiled first. The notes name every import with its "
        "place.",
    ),
    "ATL0519": CodeInfo(
        "a header unit",
        "`import <header>;` compiles a header as a module of its own, with macros that leak into "
        "the importing "
        "unit; the compilers that Atoll drives cannot find such imports without compiling. Named modules are "
        "built; a header is included.",
    ),
    "ATL0520": CodeInfo(
        "an extension that says something else than the unit",
        "Interfaces and partitions of C++ modules are named `.cppm`, and nothing else is: the name "
        "tells before "
        "anything is read which units write a module file.",
    ),
    "ATL0521": CodeInfo(
        "no scanner for modules",
        "Which modules a unit imports is asked of the compiler's own scanner, which belongs to the same "
        "version of the compiler and is a package of its own in some systems.",
    ),
    "ATL0522": CodeInfo(
        "the modules of the C++ library",
        "`import std;` needs a module that the C++ library brings as source. Where it is not built, the "
        "reason stands in the notes.",
    ),
    "ATL0523": CodeInfo(
        "a compiler without modules",
        "The host compiler is one whose C++ modules Atoll does not drive.",
    ),
    "ATL0524": CodeInfo(
        "an argument that a compiler's shell would expand",
        "The device compiler starts its stages through a shell, with its arguments between double quotes. A "
        "folder, define or "
        "flag with `$` or a backtick would be expanded there, or run a command. Sources of such names are "
        "compiled through a file of another name.",
    ),
    "ATL0525": CodeInfo(
        "more on the line of a module directive",
        "`module`, `export module` and `import` are directives of the preprocessor in C++20: each ends its "
        "line. g++ holds to that, other compilers take more.",
    ),
    "ATL0530": CodeInfo(
        "a compiler that does not pass the probe of the whole pipe",
        "Whether a compiler can use a toolkit that is not its own is asked of the whole pipe: a small unit "
        "is compiled for what the build asks for, with the toolkit's own stages, and linked with the "
        "runtime. What went wrong first stands in the notes. Where the project names no compiler, the "
        "toolkit's own is taken instead and the reason is said.",
    ),
    "ATL0531": CodeInfo(
        "an extension that the shader compiler does not have",
        "A shader requires an extension of its language before any condition. Which ones a compiler has is a "
        "property of how it was built, so it was asked, once for each compiler. Others on PATH that have it "
        "are named.",
    ),
    "ATL0533": CodeInfo(
        "two C++ libraries in one program",
        "An island was compiled with another C++ library than the program. Both are loaded; exceptions, "
        "strings and containers of one mean nothing to the other, so that nothing of them may cross the "
        "seam. The unwinder is taken once, and symbols of static archives stay inside the image.",
    ),
    "ATL0534": CodeInfo(
        "a kernel that only a compiler driver can compile",
        "A lambda is a kernel only to a compiler that compiles host and device from one parse. The toolchain "
        "that packages bring compiles free functions.",
    ),
    "ATL0535": CodeInfo(
        "device code that nothing links",
        "A flag makes device code whose functions are joined across units by a device linker, before the "
        "host links. Without that step the host's linker misses a symbol that no source names.",
    ),
    "ATL0536": CodeInfo(
        "an island that needs the C++ standard library",
        "The object of an island leaves symbols of the C++ library undefined, which ties it to the library "
        "that it was compiled with. Where the program has another one, both are loaded, and nothing of one "
        "may reach the other: no exception, no string, no container.",
    ),
    "ATL0532": CodeInfo(
        "a compiler that makes no valid module of a language",
        "A small shader was compiled for the environment that the build asks for, and what came out breaks "
        "the rules of that environment, although the compiler ended well.",
    ),
}
