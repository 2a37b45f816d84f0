"""What a marked test needs from the machine: without it the test is skipped, and with CI=true it fails."""

import os
from collections.abc import Generator

import pytest

from tests.support import jars

NEVER_SKIPPED_IN_CI = ("broker", "jvm", "spark")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes the broker fixture, lest a test forgets to."""
    for item in items:
        if "broker" in getattr(item, "fixturenames", ()):
            item.add_marker("broker")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what this machine cannot run, saying what to install."""
    own_broker = item.get_closest_marker("broker") and "KAFKA_BOOTSTRAP_SERVERS" not in os.environ
    if (own_broker or item.get_closest_marker("jvm")) and (missing := jars.missing_tools()):
        alternative = ", or set KAFKA_BOOTSTRAP_SERVERS" if own_broker else ""
        pytest.skip(f"{missing}{alternative}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure where nothing may be missing."""
    report = yield
    kind = next(filter(item.get_closest_marker, NEVER_SKIPPED_IN_CI), None)
    skipped = report.skipped and not hasattr(report, "wasxfail")
    if skipped and kind and os.environ.get("CI") == "true":
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"a test marked '{kind}' may not be skipped with CI=true: {reason}"
    return report
