"""Runs files of tests in several processes, as pytest's option `--processes` says.

pytest-xdist lets each worker collect all tests and sends five messages a test. With ten thousand tests, most
of a few milliseconds, that is a third of the quick tier's time and a tenth of `make test`. Here each process
takes a file at a time, collects it, runs it, and sends what happened in one message. The first process holds
the options, prints, counts and remembers what failed; the others are forks of it, so pytest and its plug-ins
start once. Files that need most time start first (`tests/durations.json`); with `--failed-first`, files with
a test that failed in the last run start before them. Only two processes run files that need a Spark session.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
import warnings
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from itertools import chain, compress
from multiprocessing import Pipe
from multiprocessing.connection import wait
from operator import not_
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
from _pytest.runner import runtestprotocol

from tests.support.tiers import tier

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from multiprocessing.connection import Connection

DURATIONS = Path(__file__).parents[1] / "durations.json"
UNKNOWN = 30.0
"""Seconds for a file without a recorded duration, which starts early in case it takes long."""
NUMBER = 2
"""Bytes of the number of a file."""
SPARKS = 2
"""So many processes share the files that take a Spark session: each of them has a session of its own."""
TO_END_S = 20
"""Seconds that processes have to stop their servers where a run ends early."""


def add_options(parser: pytest.Parser) -> None:
    """Add the option that says how many processes."""
    parser.addoption("--processes", default="1", help="how many run files of tests, or auto: one a core")


def pytest_configure(config: pytest.Config) -> None:
    """Take over where there is more than one process, and the arguments are files and folders."""
    count = config.getoption("processes")
    processes = (os.cpu_count() or 1) if count == "auto" else int(count)
    whole = not any("::" in argument for argument in config.args)
    if processes > 1 and whole and not (config.option.collectonly or config.option.usepdb):
        config.pluginmanager.register(Processes(processes), "processes")


def read_durations() -> dict[str, Any]:
    """Seconds of each file in each tier, and which files take a Spark session."""
    return json.loads(DURATIONS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def in_turn(files: Iterable[pytest.File], failed: Collection[str] = ()) -> list[pytest.File]:
    """Files in the order in which they start: failed ones, then the others, the longest first."""
    seconds = read_durations()[tier()]
    return sorted(files, key=lambda file: (file.nodeid not in failed, -seconds.get(file.nodeid, UNKNOWN)))


def last_failed(config: pytest.Config) -> set[str]:
    """The files of tests that failed in the run before, where those are to run first."""
    if not config.getoption("failedfirst", default=False):  # also where no cache is kept
        return set()
    return {test.partition("::")[0] for test in config.cache.get("cache/lastfailed", {})}  # type: ignore[union-attr]


def queues_of(files: Sequence[pytest.File]) -> tuple[int, int]:
    """What the numbers of files that take a Spark session are read from, and those of all others."""
    spark = {*read_durations()["spark"]}
    with_session = [file.nodeid in spark for file in files]
    numbers = range(len(files))
    return _queue(compress(numbers, with_session)), _queue(compress(numbers, map(not_, with_session)))


def numbers_for(process: int, spark: int, others: int) -> Iterator[int]:
    """The numbers that a process takes, as it asks for the next one, from these queues."""
    return chain(_numbers(spark) if process < SPARKS else (), _numbers(others))


def _queue(numbers: Iterable[int]) -> int:
    """What these numbers are read from, each by one process: reading from a pipe needs no lock."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)  # nobody reads yet: a write that a full pipe would block is an error
    os.write(writing, b"".join(number.to_bytes(NUMBER) for number in numbers))
    os.close(writing)
    return reading


def _numbers(queue: int) -> Iterator[int]:
    while number := os.read(queue, NUMBER):
        yield int.from_bytes(number)


class Processes:
    """The plug-in of the first process."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._files: list[pytest.File] = []
        self._seconds: dict[str, float] = defaultdict(float)
        self._spark: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> pytest.CollectReport | None:
        """Look into folders only: whoever runs a file collects it."""
        if not isinstance(collector, pytest.File):
            return None
        self._files.append(collector)
        return pytest.CollectReport(collector.nodeid, "passed", None, [])

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keep pytest from saying that no test is here."""
        if reporter := session.config.pluginmanager.get_plugin("terminalreporter"):
            reporter.report_collect = lambda final=False: None  # noqa: ARG005 - pytest names it

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Start the processes, and tell pytest what they report."""
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        files = in_turn(self._files, last_failed(session.config))
        queues = spark, others = queues_of(files)
        running: dict[Connection, int] = {}
        try:
            with _interrupts_later():
                for number in range(min(self._count, len(files))):
                    reading, writing = Pipe(duplex=False)
                    own = numbers_for(number, spark, others)
                    running[reading] = _fork(partial(Worker(session, number, writing).run, files, own))
                    writing.close()
                for queue in queues:
                    os.close(queue)
            while running:
                for connection in wait(list(running)):
                    assert not isinstance(connection, (int, type(None)))
                    self._receive(session, running, connection)  # type: ignore[arg-type]
        except Exception:
            for process in running.values():  # a Ctrl-C has reached them without us
                os.kill(process, signal.SIGINT)
            raise
        finally:
            _end(running.values())
        return True

    def _receive(self, session: pytest.Session, running: dict[Connection, int], of: Connection) -> None:
        try:
            collected, dropped, reports, error = of.recv()
        except EOFError:
            of.close()
            code = os.waitstatus_to_exitcode(os.waitpid(running.pop(of), 0)[1])
            if code:
                raise RuntimeError(f"a process of the tests ended early, with exit code {code}") from None
            return
        if error:
            raise RuntimeError(f"a process of the tests failed:\n{error}")
        session.testscollected += collected
        if dropped:  # of which pytest takes the number only
            session.config.hook.pytest_deselected(items=[session] * dropped)
        for hook, data in reports:
            report = session.config.hook.pytest_report_from_serializable(config=session.config, data=data)
            getattr(session.config.hook, hook)(report=report)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
        reporter = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter and collected:
            reporter.write(".", flush=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport, config: pytest.Config
    ) -> tuple[str, str, str] | None:
        """Print a letter a file, and one for each test that did not pass."""
        if report.passed and config.option.verbose <= 0:
            return ("passed" if report.when == "call" else "", "", "")
        return None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a file takes, and whether it asks for the shared Spark session."""
        file = report.nodeid.partition("::")[0]
        self._seconds[file] += report.duration
        if "shared_spark" in report.keywords:
            self._spark.add(file)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write down what was noted; files that did not run keep what is recorded of them."""
        if session.config.getoption("record_durations"):
            all_tiers = read_durations()
            taken = {file: round(seconds, 1) for file, seconds in self._seconds.items()}
            all_tiers[tier()] = {
                file: seconds
                for file, seconds in sorted((all_tiers[tier()] | taken).items())
                if (session.config.rootpath / file).exists()
            }
            if tier() != "quick":  # which takes no Spark session
                spark = ({*all_tiers["spark"]} - self._seconds.keys()) | self._spark
                all_tiers["spark"] = sorted(spark & all_tiers[tier()].keys())
            DURATIONS.write_text(json.dumps(all_tiers, indent=1) + "\n", encoding="utf-8")


class Worker:
    """What a process does that runs tests."""

    def __init__(self, session: pytest.Session, number: int, to: Connection) -> None:
        self._number = number
        self._session = session
        self._config = session.config
        self._to = to
        self._file: pytest.File | None = None
        self._dropped = 0
        self._reports: list[tuple[str, Any]] = []
        records = session.config.getoption("record_durations")  # which set-ups and tear-downs count for, too
        self._is_sent = (lambda _: True) if records else worth_sending

    def run(self, files: list[pytest.File], numbers: Iterable[int]) -> None:
        """Run the tests of the files of these numbers."""
        manager = self._config.pluginmanager
        for name in ("processes", "terminalreporter"):
            manager.unregister(name=name)
        manager.register(self, "worker")
        self._config.option.maxfail = 0  # the first process counts
        capture = manager.get_plugin("capturemanager")
        if capture:  # the files that output is caught in would be those of all processes
            capture.stop_global_capturing()
            capture.start_global_capturing()
        folders = self._config._tmp_path_factory  # type: ignore[attr-defined]
        folders._basetemp = folders.mktemp(f"process-{self._number}", numbered=False)
        error = None
        try:
            self._loop(files, numbers)
            self._config._ensure_unconfigure()
        except Exception:  # noqa: BLE001 - the first process raises it
            error = traceback.format_exc()
        self._send(0, error)

    def _loop(self, files: list[pytest.File], numbers: Iterable[int]) -> None:
        try:
            for number in numbers:
                self._file = files[number]
                self._config.hook.pytest_collection(session=self._session)
                items = self._session.items
                # What is to stay after the last test of a file is what belongs to the whole session.
                for item, following in zip(items, [*items[1:], self._session], strict=False):
                    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                self._send(len(items))
        finally:
            self._session._setupstate.teardown_exact(None)

    def _send(self, collected: int, error: str | None = None) -> None:
        self._to.send((collected, self._dropped, self._reports, error))
        self._dropped, self._reports = 0, []

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self, session: pytest.Session) -> bool:
        """Collect the tests of one file."""
        assert self._file
        session.items = list(session.genitems(self._file))
        session.config.hook.pytest_collection_modifyitems(
            session=session, config=session.config, items=session.items
        )
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test as pytest does, but for reports that nobody counts or prints: they take time.

        A test that may be tried once more is left to pytest-rerunfailures.
        """
        if item.get_closest_marker("flaky"):
            return None
        for report in runtestprotocol(item, log=False, nextitem=nextitem):
            if self._is_sent(report):
                item.ihook.pytest_runtest_logreport(report=report)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of a test, if the first process counts or prints it."""
        if self._is_sent(report):
            self._keep("pytest_runtest_logreport", report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep that something could not be collected."""
        if not report.passed:
            self._keep("pytest_collectreport", report)

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Count what this tier, -k or -m leaves out."""
        self._dropped += len(items)

    def _keep(self, hook: str, report: pytest.TestReport | pytest.CollectReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append((hook, data))


def worth_sending(report: pytest.TestReport) -> bool:
    """Whether it is of the call of a test, or of another step that did not pass."""
    return report.when == "call" or not report.passed


@contextmanager
def _interrupts_later() -> Iterator[None]:
    """Hold back Ctrl-C: Python ignores an exception in the hooks that libraries have called around a fork."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _fork(run: Callable[[], None]) -> int:
    """The number of a process that does this and ends."""
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        # Python warns of threads. Those here are of NumPy's OpenBLAS, which can be forked, and the one that
        # listens for tests that ask for a server, which a fork does without.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    return process or _end_with(run)


def _end(processes: Collection[int]) -> None:
    """Wait for processes that stop their servers, but not without end."""
    deadline = time.monotonic() + TO_END_S
    for process in processes:
        while os.waitpid(process, os.WNOHANG)[0] == 0:
            if time.monotonic() > deadline:
                os.kill(process, signal.SIGKILL)
            time.sleep(0.01)


def _end_with(run: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        run()
        code = 0
    except KeyboardInterrupt:
        pass
    finally:
        os._exit(code)
