"""Files of Spark run in two workers, live tests begin before the rest, and a line says how far a run is."""

from types import SimpleNamespace

import pytest

from tests.support.schedule import (
    progress_line,
    pytest_collection_modifyitems,
    pytest_xdist_make_scheduler,
    shares_spark,
)

SPARK = "tests/spark_integration"


@pytest.mark.parametrize(
    ("file", "shares"),
    [
        ("tests/assignors/test_twins.py", False),
        (f"{SPARK}/sinks/exactly_once/test_spark.py", True),
        (f"{SPARK}/test_keys.py", True),
        (f"{SPARK}/cluster/test_cluster.py", False),
        (f"{SPARK}/faults/test_kills.py", False),
    ],
)
def test_files_that_start_a_spark_of_their_own_do_not_share_the_session(file, shares):
    assert shares_spark(file) is shares


def item(nodeid, *keywords):
    return SimpleNamespace(nodeid=nodeid, keywords=keywords)


def test_tests_of_spark_begin_then_other_live_ones_and_each_kind_keeps_its_order():
    items = [item("a"), item("b", "live"), item(f"{SPARK}/c"), item(f"{SPARK}/d", "live"), item("e", "live")]
    pytest_collection_modifyitems(SimpleNamespace(workerinput={}), items)
    assert [test.nodeid for test in items] == [f"{SPARK}/d", f"{SPARK}/c", "b", "e", "a"]


def test_without_workers_the_order_is_pytests_own():
    items = [item("a"), item("b", "live")]
    pytest_collection_modifyitems(SimpleNamespace(), items)
    assert [test.nodeid for test in items] == ["a", "b"]


class Node:
    """A worker of pytest-xdist, as its scheduler sees the worker."""

    shutting_down = False

    def __init__(self):
        self.gateway = SimpleNamespace(id="gw0")
        self.sent = []

    def send_runtest_some(self, places):
        self.sent.append(places)

    def shutdown(self):
        self.shutting_down = True


@pytest.fixture
def scheduler(pytestconfig):
    """Make the scheduler of a run with two workers."""
    settings = {"dist": "loadfile", "tx": ["2*popen"]}
    config = SimpleNamespace(option=SimpleNamespace(), getoption=settings.get, getvalue=settings.get)
    return pytest_xdist_make_scheduler(config, pytestconfig.pluginmanager.get_plugin("dsession"))


TESTS = ["tests/a.py::one", "tests/b.py::one", "tests/a.py::two", "tests/c.py::one", "tests/c.py::two"]


def begin(scheduler, workers, tests):
    """Give workers that collected the tests their first files, and return the workers."""
    scheduler.numnodes = workers
    nodes = [Node() for _ in range(workers)]
    for node in nodes:
        scheduler.add_node(node)
        scheduler.add_node_collection(node, tests)
    scheduler.schedule()
    return nodes


@pytest.fixture
def nodes(scheduler):
    """Give two workers that collected `TESTS` their first files."""
    return begin(scheduler, 2, TESTS)


def test_each_file_is_sent_once_and_in_order(nodes):
    assert [node.sent for node in nodes] == [[[0, 2], [3, 4]], [[1]]]


def test_a_worker_ends_that_is_done_when_no_file_is_left(scheduler, nodes):
    scheduler.mark_test_complete(nodes[1], 1)
    assert nodes[1].shutting_down


OF_SPARK = [f"{SPARK}/test_{name}.py::test_{place}" for name in "abc" for place in range(3)]


def test_two_workers_share_the_files_of_spark_and_the_others_begin_with_the_rest(scheduler):
    nodes = begin(scheduler, 4, [*OF_SPARK, *TESTS])
    assert [node.sent for node in nodes] == [[[0, 1, 2]], [[3, 4, 5]], [[9, 11], [12, 13]], [[10]]]
    scheduler.mark_test_complete(nodes[0], 0)
    assert nodes[0].sent[1:] == [[6, 7, 8]]


def test_a_worker_without_a_session_ends_when_only_files_of_spark_are_left(scheduler):
    nodes = begin(scheduler, 3, OF_SPARK)
    assert [node.shutting_down for node in nodes] == [False, False, True]


def test_the_worker_that_replaces_one_that_crashed_takes_the_files_of_spark(scheduler):
    nodes = begin(scheduler, 4, [*OF_SPARK, *TESTS])
    scheduler.remove_node(nodes[0])
    replacement = Node()
    scheduler.add_node(replacement)
    scheduler.add_node_collection(replacement, [*OF_SPARK, *TESTS])
    scheduler.schedule()
    assert replacement.sent == [[6, 7, 8]]


def test_a_replacement_gets_a_second_file_because_it_does_not_begin_the_last_test_that_it_knows(scheduler):
    (node,) = begin(scheduler, 1, ["tests/a.py::one", "tests/b.py::one", "tests/c.py::one"])
    scheduler.remove_node(node)
    replacement = Node()
    scheduler.add_node(replacement)
    scheduler.add_node_collection(replacement, scheduler.collection)
    scheduler.schedule()
    assert len(replacement.sent) >= 2


@pytest.mark.parametrize(
    ("done", "of", "running", "line"),
    [
        (0, 0, {}, "collecting tests"),
        (5, 20, {"a.py": 61.4}, "[ 25%] 5 of 20 tests are done; running: a.py (61 s)"),
        (
            19,
            20,
            {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5},
            "[ 95%] 19 of 20 tests are done; running: e (5 s), d (4 s), c (3 s), b (2 s)",
        ),
    ],
)
def test_a_line_says_how_far_a_run_is(done, of, running, line):
    assert progress_line(done, of, running) == line
