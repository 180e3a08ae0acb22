"""What every test may use: the table of skips at the end of a run, and the whole-proof switch."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

from atoll.store import PayloadRoot
from emitter_kit import toolkit

# How fast this machine is decides no property: the first draw of a fresh clone builds tables for seconds, and
# a loaded machine misses any deadline.
settings.register_profile("atoll", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("atoll")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the heavy proofs whole, not a seeded sample")


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether heavy proofs run whole (``./dev test --all``)."""
    return bool(request.config.getoption("--all")) or os.environ.get("ATOLL_TEST_ALL") == "1"


@pytest.fixture(scope="session")
def cuda_payload() -> PayloadRoot:
    """The pinned CUDA toolkit in the user's store; fetched once."""
    return toolkit()


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Return a function whose text is printed at the end of the run: what it picked, sample and total."""
    return lambda text: record_property("told", text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what checks told, then what was skipped, why, and how often: one row a reason."""
    told = [
        f"{report.nodeid}: {text}"
        for report in terminalreporter.stats.get("passed", [])
        for name, text in report.user_properties
        if name == "told"
    ]
    if told:
        terminalreporter.section("what the checks picked and counted")
        for line in sorted(told):
            terminalreporter.write_line(line)
    reasons = Counter(
        str(report.longrepr[2]).removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    terminalreporter.section("skipped: the one missing thing each")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count:5}  {reason}")
    if not reasons:
        terminalreporter.write_line("nothing was skipped")
