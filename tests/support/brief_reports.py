"""A worker of the quick tier reports each test once.

pytest-xdist sends five messages a test to the controller (start, set-up, call, tear-down, end). With seven
thousand tests of a few milliseconds the messages cost a third of the run, and both cores are busy already.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test as pytest does, and pass on what the controller counts and prints."""
    for report in worth_sending(runtestprotocol(item, log=False, nextitem=nextitem)):
        item.ihook.pytest_runtest_logreport(report=report)
    return True


def worth_sending(reports: list[pytest.TestReport]) -> Iterator[pytest.TestReport]:
    """The call of a test, and whatever else did not pass."""
    return (report for report in reports if report.when == "call" or not report.passed)
