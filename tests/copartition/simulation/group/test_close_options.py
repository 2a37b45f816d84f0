"""What a consumer says about its membership when it closes (KIP-1092)."""

import pytest

from assignors import Topic
from copartition.simulation import Consumer, Restart, Scenario, simulate
from partitioning.errors import ScenarioError

SESSION_MS = 45_000


def restarted(assignor, *, static, close, down_ms=10_000):
    """A run in which the second of two consumers closes after a minute, and comes back."""
    consumers = tuple(Consumer(name, static=static, close=close) for name in ("a", "b"))
    return simulate(Scenario((Topic("t", 4),), consumers, (Restart(60_000, "b", down_ms),), assignor))


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky", "uniform"])
def test_a_static_member_that_leaves_moves_its_partitions(assignor):
    stays, leaves = (
        restarted(assignor, static=True, close=how).summary for how in ("remain-in-group", "leave-group")
    )
    assert stays == restarted(assignor, static=True, close="default").summary
    assert (stays.rebalances, stays.moved_partitions) == (0, 0)
    assert leaves == restarted(assignor, static=False, close="default").summary
    assert leaves.rebalances >= 2


def test_a_dynamic_member_of_the_consumer_protocol_leaves_in_any_case():
    remains, leaves = (
        restarted("uniform", static=False, close=how).summary for how in ("remain-in-group", "default")
    )
    assert remains == leaves


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_dynamic_member_that_remains_is_missed_when_its_session_ends(assignor):
    run = restarted(assignor, static=False, close="remain-in-group", down_ms=600_000)
    [expired] = [entry for entry in run.log if entry.what == "session-expired"]
    assert expired.subject == "b"
    assert 60_000 + SESSION_MS - 5_000 <= expired.at_ms <= 60_000 + SESSION_MS


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_a_dynamic_member_that_remains_holds_the_barrier_of_its_own_return(assignor):
    remains = restarted(assignor, static=False, close="remain-in-group")
    first = remains.rebalances[0]
    assert first.causes[0] == "b joined"
    assert first.completed_ms - first.started_ms > SESSION_MS - 15_000
    assert 1_000 * remains.summary.partition_seconds > 2 * 30_000


def test_only_the_java_client_can_choose():
    consumer = Consumer("a", client="librdkafka", close="leave-group")
    with pytest.raises(ScenarioError, match="only the Java client can choose") as caught:
        Scenario((Topic("t", 4),), (consumer,))
    assert caught.value.path == "$.consumers[0].close"
