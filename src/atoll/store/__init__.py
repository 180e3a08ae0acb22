"""Payloads: the files of a toolchain, fetched into a store of Atoll's own, verified and locked.

Words: a *payload* is a named list of pinned Python requirements whose files together are a toolchain;
the *store* is a content-addressed folder (``ATOLL_STORE``, else the user's cache folder) shared by
projects. Lanes say which payloads they need (:mod:`atoll.plugin`). Knows no vendor.
"""

from typing import TYPE_CHECKING, Any

from atoll.store.payload import Payload, PayloadRoot

if TYPE_CHECKING:
    from atoll.store.store import Store, Stored

__all__ = ["Payload", "PayloadRoot", "Store", "Stored"]


def __getattr__(name: str) -> Any:
    """Import the store where something is brought into it: every lane names payloads."""
    if name not in ("Store", "Stored"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from atoll.store import store

    return getattr(store, name)
