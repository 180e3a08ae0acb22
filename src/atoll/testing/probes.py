"""Does a probe keep its door's promises? One suite for every probe, ours or not.

Use it from any test runner::

    @pytest.mark.parametrize("check", PROBE_CHECKS, ids=lambda check: check.__name__)
    def test_my_probe(check): check(MyProbe())

Each check raises AssertionError with what was wrong. A probe that knows nothing of this machine keeps every
promise: it says nothing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from atoll.artifact import Fact
from atoll.plugin import Probe

ProbeCheck = Callable[[Probe], None]

#: Seconds that a probe has.
MOST_SECONDS = 1.0
#: What a probe may find: this process's own environment, none at all, and one whose folders are not there.
ENVIRONMENTS: tuple[Mapping[str, str], ...] = (os.environ, {}, {"PATH": "/no/such/folder:", "HOME": ""})


def facts_start_with_its_name(probe: Probe) -> None:
    """Every fact is ``NAME.WORD``, so that two probes never state one fact."""
    assert probe.name.isidentifier(), f"the name {probe.name!r} is no identifier"
    for fact in probe.facts(os.environ):
        assert isinstance(fact, Fact), f"{fact!r} is no fact"
        assert fact.name.startswith(f"{probe.name}."), f"the fact `{fact.name}` is not of `{probe.name}`"


def facts_are_equalities(probe: Probe) -> None:
    """What is, is equal to a value; a bound is a demand, and a probe demands nothing."""
    found = probe.facts(os.environ)
    for fact in found:
        assert fact.relation == "=", f"`{fact.name}` is stated with `{fact.relation}`"
        assert fact.value, f"`{fact.name}` has no value"
        assert found.count(fact) == 1, f"`{fact.name}` is stated twice"


def it_never_raises(probe: Probe) -> None:
    """A probe that cannot answer says nothing."""
    for environment in ENVIRONMENTS:
        try:
            found = probe.facts(environment)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise AssertionError(f"it raised {said} with {len(environment)} variables") from error
        assert isinstance(found, tuple), f"it answered {found!r}, no tuple"


def it_is_quick(probe: Probe) -> None:
    """Every build that states a floor waits for it."""
    for environment in ENVIRONMENTS:
        begin = time.monotonic()
        probe.facts(environment)
        seconds = time.monotonic() - begin
        assert seconds < MOST_SECONDS, f"it took {seconds:.1f} s"


def asking_twice_gives_equal_facts(probe: Probe) -> None:
    """Facts of a machine do not change while nobody changes it."""
    assert probe.facts(os.environ) == probe.facts(os.environ), "two answers differ"


PROBE_CHECKS: tuple[ProbeCheck, ...] = (
    facts_start_with_its_name,
    facts_are_equalities,
    it_never_raises,
    it_is_quick,
    asking_twice_gives_equal_facts,
)
