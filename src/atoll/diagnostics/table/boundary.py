"""03xx: boundaries."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0301": CodeInfo(
        "a marked declaration could not be read",
        "After a marker stands one function definition. A parenthesis that is never closed, a declarator "
        "that the parser has to guess at, or something that is no function is refused at its place.",
    ),
    "ATL0302": CodeInfo(
        "a clause could not be read",
        "A clause is a list of `x[n]`, `out=x`, `space=…`, `stream=s` and `status`, separated by commas.",
    ),
    "ATL0303": CodeInfo(
        "a clause does not fit its declaration",
        "A clause names a parameter that is not there, gives an extent to something that is no pointer, "
        "measures by something that is no integer, or returns what cannot be allocated.",
    ),
    "ATL0304": CodeInfo(
        "a type has no C ABI",
        "What crosses a boundary is passed as C passes it: numbers, and pointers to them. A reference, a "
        "class, a function pointer or an array by value cannot cross.",
    ),
    "ATL0305": CodeInfo(
        "a declaration cannot be exported",
        "An entry is one symbol with C linkage: no template, no default argument, no member, nothing in a "
        "namespace, nothing `static` or `inline`, and it is marked where it is defined.",
    ),
    "ATL0306": CodeInfo(
        "one name twice in one root",
        "A root holds one implementation of each entry. Two definitions of one name are two symbols of one "
        "name, whatever their parameters.",
    ),
    "ATL0307": CodeInfo(
        "two roots declare an entry differently",
        "Roots are implementations of one interface, and C linkage does not carry types: `unsigned n` "
        "against `size_t n` links clean and reads past the arguments. Declarations and clauses must be "
        "equal after white space is folded.",
    ),
    "ATL0308": CodeInfo(
        "two roots overlap",
        "One root lies inside another, or two are the same, so an entry would belong to both.",
    ),
    "ATL0309": CodeInfo(
        "no marked entry",
        "A boundary was asked for, and no file of any root marks a function.",
    ),
    "ATL0310": CodeInfo(
        "two things of one name",
        "An entry, the second name that `strip-prefix` gives, a namespace or a function of the module "
        "itself have the same name in the same place.",
    ),
    "ATL0311": CodeInfo(
        "a segment cannot be an identifier",
        "Folders, roots and modules become names in C, C++ and Python. A keyword gets a trailing `_`; "
        "another character is refused, never replaced.",
    ),
    "ATL0312": CodeInfo(
        "an entry has no Python form",
        "Python has to know how many elements a pointer reaches and what they are. C and C++ can call the "
        "entry; for Python write its extent in the clause, or leave the entry unmarked.",
    ),
    "ATL0313": CodeInfo(
        "a file is too large to scan",
        "Scanning is bounded in bytes, markers and seconds, so that no file can hang a build.",
    ),
    "ATL0314": CodeInfo(
        "a root is missing",
        "A root or the layout root that was named does not exist. A root of a manifest whose entries a lane "
        "generates (kernels written in Python) needs no folder.",
    ),
    "ATL0315": CodeInfo(
        "two embedded files become one identifier",
        "The accessor of an embedded file is named after the file. Two files of one folder whose names "
        "fold to one identifier cannot be told apart.",
    ),
    "ATL0316": CodeInfo(
        "an embedded file that is too large for its storage",
        "A header takes 1 MiB of a file, an object 1 GiB. `auto` keeps up to 4 KiB in the header, up to "
        "16 MiB in an object, and what is larger in a file beside the program; the accessor is the same.",
    ),
    "ATL0317": CodeInfo(
        "a data table that matches no file",
        "Every glob of `files` matches something, or an accessor that the author expects would be missing.",
    ),
    "ATL0318": CodeInfo(
        "an embedded file outside its base",
        "`base` is the folder below which folders become namespaces; a file beside it has no name.",
    ),
    "ATL0319": CodeInfo(
        "an embedded namespace that hides a module",
        "In Python the folder of a namespace would be imported in place of the boundary's module.",
    ),
    "ATL0320": CodeInfo(
        "an entry declared by hand in a program's registry",
        "In a program's registry the authored name is generated, and each root's own definition stands "
        "behind a suffix. A header that declares by hand states that the authored name is defined "
        "elsewhere: the two are one symbol.",
    ),
}
