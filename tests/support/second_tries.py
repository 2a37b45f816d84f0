"""A live test that fails is tried once more, and never silently; any other test is never tried again.

`-p no:rerunfailures` does without second tries, as `make shake` does, which looks for tests that need one.

Each second try is listed at the end of the run with the traceback of the first. Runs that name the same file
in COPARTITION_SECOND_TRIES count theirs together, an x in the file for each. With more than three the run
that adds to them fails; a run without second tries does not fail for those of others.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

MOST = 3


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let pytest-rerunfailures try live tests once more; `tiers` has marked them before."""
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if item.get_closest_marker("live"):
                item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail where tests were tried again too often."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    tried = reporter.stats.get("rerun", [])
    if tried and _count(len(tried)) > MOST and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List the second tries, each with its first traceback."""
    tried = terminalreporter.stats.get("rerun", [])
    for report in tried:
        terminalreporter.section(f"second try: {report.nodeid}", red=True)
        terminalreporter.write_line(report.longreprtext)
    if tried:
        terminalreporter.write_line(f"second tries: {len(tried)}; more than {MOST} are a failure", red=True)


def _count(here: int) -> int:
    """Second tries of this run, and of the runs before that share a file."""
    if not (path := os.environ.get("COPARTITION_SECOND_TRIES")):
        return here
    file = Path(path)
    with file.open("a", encoding="ascii") as tries:  # appended in one piece, for runs at the same time
        tries.write("x" * here)
    return len(file.read_text(encoding="ascii"))
