"""Three tiers of tests, by what a test needs: `--tier quick`, `--tier test` (the default) and `--tier ci`.

quick: nothing but this Python process. No broker, mock cluster, JVM, Spark, network, other process, or sleep.
test: what a user's machine should confirm, live servers included.
ci: everything, also what is marked `slow`, and `nightly` where -m does not leave it out.

What needs only Python but a second of it, and repeats on a larger scale what quicker tests find, is `heavy`:
it runs from `test` on. So are all tests of pages, benchmarks and examples: nobody breaks a page while editing
a function, and a page that shows what a command prints repeats what the tests of that command find.

What may run with fewer cases or examples before CI is `wider`: every test of a module that imports
this one, itself or through other modules of tests/. `make slow` runs it again with all cases, and so does
`.ci/run`, which repeats no other test of the quick tier.

What only tests use (tests/support, tools) is no concern of a user's machine: its live tests are `tooling`,
which `make test` leaves to CI. Of the tests that need a Spark session, `make test` runs those marked
`every_spark`, because they find what may differ between two machines; all others are `slow`.

A test that needs more than this process is `live`. Fixtures and markers of servers say so by themselves; a
test that starts a server or a process in its body is marked `live` by hand. The quick tier guards itself: a
test without the marker fails there as soon as it leaves this process.
"""

from __future__ import annotations

import gc
import re
import sys
import time
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

from partitioning.testing.mock_cluster import MockCluster

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

Case = TypeVar("Case")

TIERS = ("quick", "test", "ci")
LIVE_FIXTURES = {"broker", "secured", "encrypted", "mock_cluster", "spark"}
LIVE_MARKERS = {"broker", "jvm", "spark"}
FORBIDDEN = {"socket.connect", "socket.bind", "subprocess.Popen", "os.fork", "os.posix_spawn"}
"""Audit events of Python that a test of the quick tier may not raise."""
SPARK = "tests/spark_integration/"
"""The folder of the tests with a Spark session."""
WIDER = "may run with fewer cases or examples before CI; set by itself"
ROOT = Path(__file__).parents[2]
TOOLING = ("tests/support/", "tests/tools/")
PAGES = ("tests/docs/", "tests/benchmarks/", "tests/examples/")
"""Folders whose tests are heavy, all of them."""
PAGE_FOLDERS = {ROOT / folder for folder in PAGES}
IMPORTS = re.compile(r"^[ \t]*(?:from|import) +(tests\b[\w.]*)(?: +import +(\([^)]*\)|.*))?", re.MULTILINE)
_tier = "test"
_guarded = False


def tier() -> str:
    """The tier of this run."""
    return _tier


def examples(most: int) -> int:
    """How many examples Hypothesis tries: `most` in CI, an eighth in `test`, few in `quick`."""
    return {"quick": max(3, most // 40), "test": max(5, most // 8), "ci": most}[_tier]


def sample(cases: Sequence[Case], every: int = 1, before_ci: int = 1) -> Sequence[Case]:
    """All cases; in the quick tier the first of each `every`, in `test` of each `before_ci`.

    Live tests need no `every`, since none of them is in the quick tier. Tests with another `before_ci` are
    marked `sampled`, for CI to run them with all cases.
    """
    return cases[:: {"quick": every, "test": before_ci, "ci": 1}[_tier]]


def add_options(parser: pytest.Parser) -> None:
    """Add the option that chooses a tier."""
    parser.addoption("--tier", choices=TIERS, default="test", help="see tests/support/tiers.py")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how widely Hypothesis searches; it tries the same examples in every run of a tier."""
    global _tier  # noqa: PLW0603 - one tier a process, which modules of tests ask as they are imported
    _tier = config.getoption("--tier")
    config.addinivalue_line("markers", f"wider: {WIDER}")
    # No clock decides: on a busy machine it takes any time to make an example or to run a test with it.
    without_clock = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    for name in TIERS:
        most = {"quick": 6, "test": 12, "ci": 100}[name]
        settings.register_profile(name, without_clock, max_examples=most, derandomize=True)
    # What a nightly run uses: other examples every night.
    settings.register_profile("search", without_clock, max_examples=300)
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile(_tier)
    # Thousands of tests stay in memory: by default Python's collector would look at them thousands of times.
    gc.set_threshold(20_000, 20, 100)
    if _tier == "quick":
        import_module("numpy.testing")  # NumPy before 2.0 runs a program when this is first imported
        sys.addaudithook(_audit)
        time.sleep = _guard("time.sleep", time.sleep)
        MockCluster.__init__ = _guard("MockCluster", MockCluster.__init__)  # type: ignore[method-assign]
        if find_spec("confluent_kafka"):
            _guard_clients()


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave folders of pages out of the quick tier, where importing their tests would be all that they do.

    pytest does not ask about a folder that its command line names.
    """
    return True if _tier == "quick" and collection_path in PAGE_FOLDERS else None


@pytest.hookimpl(tryfirst=True)  # before pytest looks for the markers of -m
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is live, and leave out what this tier does not run."""
    left_out = {"quick": {"live", "heavy", "slow", "nightly"}, "test": {"slow", "nightly"}, "ci": set[str]()}[
        _tier
    ]
    kept, dropped = [], []
    for item in items:
        fixtures = LIVE_FIXTURES.intersection(getattr(item, "fixturenames", ()))
        markers = {marker.name for marker in item.iter_markers()}
        if item.nodeid.startswith(PAGES):
            item.add_marker("heavy")
            markers.add("heavy")
        if fixtures or not LIVE_MARKERS.isdisjoint(markers):
            item.add_marker("live")
            markers.add("live")
        if "spark" in fixtures and item.nodeid.startswith(SPARK) and "every_spark" not in markers:
            item.add_marker("slow")
            markers.add("slow")
        if "live" in markers and item.nodeid.startswith(TOOLING):
            item.add_marker("tooling")
        if _tier != "quick" and _is_wider(item.path):
            item.add_marker("wider")
        (kept if left_out.isdisjoint(markers) else dropped).append(item)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Collect without Python's garbage collector, which would look at ten thousand tests again and again.

    Tests stay to the end, so the collector need not look at them later, either.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Guard a test of the quick tier while it runs, its fixtures included."""
    global _guarded  # noqa: PLW0603 - an audit hook has no other place to look
    _guarded = _tier == "quick"
    try:
        return (yield)
    finally:
        _guarded = False


@cache
def _is_wider(path: Path) -> bool:
    """Whether tests of a file may run with fewer cases before CI."""
    return any(map(depends_on_tier, _files_of(path)))


def _files_of(path: Path) -> Iterator[Path]:
    """The file of a test and those of its fixtures, but for tests/conftest.py, which chooses the tier."""
    yield path
    for folder in path.parents:
        if ROOT / "tests" in folder.parents:
            yield folder / "conftest.py"


@cache
def depends_on_tier(path: Path) -> bool:
    """Whether a file imports this one, itself or through other files of tests/."""
    met, left = set[Path](), [path]
    while left:
        if (file := left.pop()) not in met and file.is_file():
            met.add(file)
            left.extend(_imports(file))
    return Path(__file__) in met


@cache
def _imports(path: Path) -> list[Path]:
    """The files that a file may import: `from tests.a import b` may mean tests/a.py and tests/a/b.py."""
    may = []
    for module, names in IMPORTS.findall(path.read_text(encoding="utf-8")):
        file = ROOT.joinpath(*module.split("."))
        may += [file, *(file / name for name in re.findall(r"\w+", names))]
    return [file.with_suffix(".py") for file in may]


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event in FORBIDDEN:
        _refuse(event, arguments)


def _guard(name: str, function: Callable[..., Any], *, after: bool = False) -> Callable[..., Any]:
    """A function of which Python tells no audit hook, and which no test of the quick tier may call.

    Args:
        after: it may raise by itself, as the constructors of clients do for settings that they do not know.
    """

    @wraps(function)
    def guarded(*arguments: Any, **settings: Any) -> Any:
        if not after:
            _refuse(name, arguments)
        returned = function(*arguments, **settings)
        if after:
            _refuse(name, arguments)
        return returned

    return guarded


def _guard_clients() -> None:
    """Guard confluent-kafka's clients: no audit hook tells of the sockets and threads of librdkafka."""
    package, admin = import_module("confluent_kafka"), import_module("confluent_kafka.admin").AdminClient
    admin.__init__ = _guard("AdminClient", admin.__init__, after=True)
    for name in ("Producer", "Consumer"):  # written in C, so their own constructors stay as they are
        own = getattr(package, name)
        members = {"__init__": _guard(name, own.__init__, after=True), "__slots__": ()}
        setattr(package, name, type(name, (own,), members))


def _refuse(what: str, arguments: tuple[object, ...]) -> None:
    if _guarded:
        raise AssertionError(f"a test that is not marked live did this: {what} {arguments}")
