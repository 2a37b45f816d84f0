"""Shares the files of tests out among the workers of pytest-xdist, and says how far a run is.

A worker runs a file at a time, so a fixture of a module is made once. The files with tests that wait for a
server or for Spark begin first: a long file that began last would be waited for by all workers.

What librdkafka's threads print while a test runs is in the captured output of that test. What they print
between two tests is about no test, and would look like a failure among the lines of a green run.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.support.tiers import SPARK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xdist.workermanage import WorkerController

SESSIONS = 2
"""The most workers that start a Spark session: each session is a JVM of a gigabyte."""
OWN_SPARK = (f"{SPARK}cluster/", f"{SPARK}faults/")
"""Folders of tests that start a Spark of their own."""
EVERY_S = 10
"""Seconds between two lines that say how far a run is."""
SHOWN = 4
"""The most running files that such a line names."""


@pytest.hookimpl(trylast=True)  # `tiers` has marked live tests before
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put tests of Spark first, then other live ones: the scheduler keeps this order of files."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not item.nodeid.startswith(SPARK), "live" not in item.keywords))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Have the process that prints say how far the run is; with -v, pytest-xdist names each test itself."""
    config = session.config
    # Not while plug-ins are configured: that of faulthandler keeps the terminal then, to report a worker that
    # hangs or crashes.
    if hasattr(config, "workerinput"):
        _silence_threads_between_tests(config)
    shared_out = bool(config.getoption("tx", default=None))
    if shared_out and not hasattr(config, "workerinput") and config.option.verbose <= 0:
        config.pluginmanager.register(Progress(session), "progress")


def _silence_threads_between_tests(config: pytest.Config) -> None:
    """Drop what a worker's threads print between two tests, while pytest captures nothing."""
    if capture := config.pluginmanager.get_plugin("capturemanager"):
        capture.stop_global_capturing()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        capture.start_global_capturing()
        capture.suspend_global_capture()


@pytest.hookimpl(optionalhook=True)  # with `-p no:xdist` nobody calls it
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduler | None:
    """Take our scheduler for `--dist loadfile`."""
    return Scheduler(config, log) if config.getoption("dist") == "loadfile" else None


def shares_spark(file: str) -> bool:
    """Say whether the tests of a file use the Spark session that a worker starts once."""
    return file.startswith(SPARK) and not file.startswith(OWN_SPARK)


class Scheduler(LoadFileScheduling):
    """Gives a worker a file at a time; files of the shared Spark session go to the same few workers."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        config.option.loadscopereorder = False  # pytest-xdist would begin with the file of the most tests
        super().__init__(config, log)
        self._places: dict[str, int] = {}
        self._with_spark: set[WorkerController] = set()

    def schedule(self) -> None:
        """Give files to the workers, at the beginning and when a worker replaces one that has crashed.

        A worker begins a test when it knows the next test, or that there is none. At the beginning the base
        class offers each worker a second file. It does not do so for a worker that replaces another, which
        would wait for ever with a file of one test.
        """
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Send a worker its next file; end the worker after what it has if no file is left for it.

        The base class looks each test up in the list of all tests, and counts what is left in every file
        that a worker ever had: with 10,000 tests that takes seconds of CPU time.
        """
        name = self._next_file(node)
        if name is None:  # what is left are files of Spark, and enough workers have a session
            node.shutdown()
            return
        self._places = self._places or {nodeid: place for place, nodeid in enumerate(self.collection)}
        files = self.assigned_work.setdefault(node, {})
        for done in [file for file, tests in files.items() if all(tests.values())]:
            del files[done]
        files[name] = self.workqueue.pop(name)
        if shares_spark(name):
            self._with_spark.add(node)
        node.send_runtest_some([self._places[nodeid] for nodeid, done in files[name].items() if not done])

    def _next_file(self, node: WorkerController) -> str | None:
        """Return the first file in the queue that a worker may run; None if there is no such file.

        A worker with a Spark session takes files of Spark while there are any; a worker without a session
        takes such a file only while fewer than `SESSIONS` workers have a session. Workers that have ended
        do not count.
        """
        with_spark = self._with_spark.intersection(self.nodes)
        may_use_spark = node in with_spark or len(with_spark) < SESSIONS
        of_spark = [file for file in self.workqueue if shares_spark(file)] if may_use_spark else []
        return next(iter(of_spark or [file for file in self.workqueue if not shares_spark(file)]), None)


class Progress:
    """Says every ten seconds how many tests are done, and which files run.

    Args:
        session: that of the process that prints.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        self._begun: dict[str, float] = {}
        self._running: dict[str, str] = {}
        self._done = 0
        self._ended = threading.Event()
        self._speaker = threading.Thread(target=self._speak, daemon=True)
        self._speaker.start()

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Count a test that passed without a letter of its own: 10,000 dots say nothing."""
        return ("passed" if report.when == "call" else "", "", "") if report.passed else None

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test runs."""
        file = nodeid.partition("::")[0]
        self._begun.setdefault(file, time.monotonic())
        self._running[nodeid] = file

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Note that a test is done."""
        self._running.pop(nodeid, None)
        self._done += 1

    def pytest_sessionfinish(self) -> None:
        """Stop before pytest prints its summary."""
        self._ended.set()
        self._speaker.join()

    def _speak(self) -> None:
        while not self._ended.wait(EVERY_S):
            now = time.monotonic()
            seconds = {file: now - self._begun[file] for file in list(self._running.values())}
            line = progress_line(self._done, self._session.testscollected, seconds)
            self._reporter.ensure_newline()
            self._reporter.write_line(line)


def progress_line(done: int, of: int, running: Mapping[str, float]) -> str:
    """Return the line that says how far a run is.

    Args:
        done: tests that ended.
        of: all tests; 0 while the workers still collect them.
        running: seconds that each file with a running test has taken so far.
    """
    if not of:
        return "collecting tests"
    longest = sorted(running.items(), key=lambda item: -item[1])[:SHOWN]
    files = ", ".join(f"{file} ({seconds:.0f} s)" for file, seconds in longest)
    return f"[{100 * done // of:3}%] {done} of {of} tests are done; running: {files or 'none'}"
