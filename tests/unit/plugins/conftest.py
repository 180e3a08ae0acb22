"""Fixtures of the plugins' tests."""

from __future__ import annotations

import pytest

from atoll.errors import StoreError
from atoll.store import PayloadRoot, Store
from atoll_plugins.cuda.toolkit import PAYLOADS, PINNED


@pytest.fixture(scope="session")
def cuda_payload() -> PayloadRoot:
    """The pinned CUDA toolkit in the user's store; fetched once."""
    try:
        return Store.default().ensure(PAYLOADS[PINNED])
    except StoreError as error:
        pytest.skip(f"the payload cuda-{PINNED} cannot be had: {error.diagnostics[0].message}")
