"""The bound on memory is kept by every mix of actions that the pools let run."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from atoll.graph import pools


def worst(weights: list[int], found: pools.Pools) -> int:
    """Return the most that can run at once, by trying every number of heavy actions."""
    heavy = sorted((w for w in weights if found.heavy is not None and w >= found.heavy), reverse=True)
    light = sorted((w for w in weights if found.heavy is None or w < found.heavy), reverse=True)
    return max(
        sum(heavy[:count]) + sum(light[: found.jobs - count])
        for count in range(min(found.depth, len(heavy), found.jobs) + 1)
    )


@settings(max_examples=500)
@given(st.lists(st.integers(0, 64), max_size=12), st.integers(1, 12), st.integers(0, 256))
def test_no_mix_passes_the_bound_and_the_bound_passes_what_is_free_only_for_one(
    weights: list[int], jobs: int, free: int
) -> None:
    found = pools.plan(weights, jobs, free)
    assert 1 <= found.jobs <= jobs
    assert found.depth >= 1
    assert worst(weights, found) <= found.bound
    if max(weights, default=0) <= free:
        assert found.fits
    else:
        assert (found.jobs, found.bound) == (1, max(weights))


def test_plenty_of_memory_limits_nothing() -> None:
    assert pools.plan([1, 2, 3], 8, 1000) == pools.Pools(jobs=8, heavy=None, depth=8, free=1000, bound=24)


def test_heavy_actions_run_beside_light_ones() -> None:
    found = pools.plan([10, 1], 4, 16)
    assert (found.jobs, found.heavy, found.depth, found.bound) == (4, 10, 1, 13)
