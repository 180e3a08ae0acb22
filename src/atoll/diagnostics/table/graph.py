"""06xx: the graph."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0601": CodeInfo(
        "an action failed",
        "A command of the build ended with an exit code other than 0. Its arguments and the end of what "
        "it printed are shown; what it had written was removed. Actions that do not need it went on.",
    ),
    "ATL0602": CodeInfo(
        "an action was ended by a signal",
        "A command of the build did not end by itself. A signal such as SIGSEGV is a fault of that program.",
    ),
    "ATL0603": CodeInfo(
        "an action was killed for memory",
        "The kernel kills a process with SIGKILL where memory runs out. How many actions run at once "
        "follows from the memory that each states and from what is free when the build starts, control "
        "groups included; an action that needs more than it states can still pass that bound. `-j` lowers "
        "the number of actions that run at once.",
    ),
    "ATL0604": CodeInfo(
        "an action took too long",
        "Every action has a time limit: its own, that of its lane (`time-limit` of `[lane.NAME]`), else an "
        "hour. It was stopped with its descendants, and what it had written was removed.",
    ),
    "ATL0605": CodeInfo(
        "an action did not write all it should",
        "The command ended with exit code 0 and yet a declared output is not there. Old outputs are set "
        "aside before a command runs, so that they cannot pass for new ones.",
    ),
    "ATL0606": CodeInfo(
        "a depfile that cannot be read",
        "The command was to list the inputs it found in a depfile. A list that cannot be read would make "
        "later builds miss changes, so the action counts as failed.",
    ),
    "ATL0607": CodeInfo(
        "a program could not be started",
        "The first argument of the action is looked up in the PATH that the action states, not in the "
        "caller's: nothing of the caller's environment reaches an action.",
    ),
    "ATL0611": CodeInfo(
        "two actions write one path",
        "Every output has one action that makes it, and no output lies below another one.",
    ),
    "ATL0612": CodeInfo(
        "two actions have one name",
        "The name of an action is how a person calls it, so it is unique in a graph.",
    ),
    "ATL0613": CodeInfo(
        "an action that cannot be run",
        "The action breaks a rule of the graph: a program and an output are needed, paths are written in "
        "their plain form (`a/b`, not `./a//b`), and outputs lie below the build folder.",
    ),
    "ATL0614": CodeInfo(
        "nothing makes a file",
        "An action needs a file below the build folder, or the caller asks for one, that no action writes.",
    ),
    "ATL0615": CodeInfo(
        "actions that need each other",
        "Each action of the circle needs an output of the next one.",
    ),
    "ATL0620": CodeInfo(
        "the executor could not run the graph",
        "The executor itself refused; what it said is shown. A missing source file is the usual cause.",
    ),
    "ATL0622": CodeInfo(
        "the build folder is a link",
        "`atoll clean` removes the build folder of the project and nothing that a link leads to.",
    ),
    "ATL0623": CodeInfo(
        "a build is running",
        "Another process builds in the folder; its files are not removed under it.",
    ),
    "ATL0624": CodeInfo(
        "nothing is kept under that key",
        "The cache has no entry whose key starts so.",
    ),
    "ATL0621": CodeInfo(
        "nothing of that name was built",
        "`atoll explain` knows the actions of the last build by name, their files, and the codes of "
        "diagnostics.",
    ),
}
