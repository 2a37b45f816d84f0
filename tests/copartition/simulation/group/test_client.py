"""A client of either protocol that was late, or that hears that it is no member, joins again."""

import pytest

from assignors.group import Topic
from copartition.simulation import Consumer, Costs, Join, Scenario, Settings, SlowPoll, simulate
from tests.support.simulated import entries, when

ORDERS = (Topic("orders", 4),)


@pytest.mark.parametrize(
    ("for_ms", "back_ms"), [(60_000, 390_000), (400_000, 730_000)], ids=["within the interval", "longer"]
)
@pytest.mark.parametrize(
    "consumer",
    [
        Consumer("a", static=True),
        Consumer("a", client="librdkafka"),
        Consumer("a", static=True, assignors=("cooperative-sticky",)),
    ],
    ids=["static", "librdkafka", "classic"],
)
def test_a_late_client_that_the_group_still_counts_joins_again_after_a_second_slow_batch(
    consumer, for_ms, back_ms
):
    events = (SlowPoll(10_000, "a", 400_000), SlowPoll(330_000, "a", for_ms))
    result = simulate(Scenario(ORDERS, (consumer, Consumer("b")), events, "uniform", settled_ms=3_600_000))
    assert entries(result, "left", "session-expired", "commit-refused") == [
        ("left", "a"),
        ("session-expired", "a"),
        ("commit-refused", "a"),
    ]
    assert when(result, "commit-refused") == [back_ms]
    assert result.rebalances[-1].causes == ("a joined",)


@pytest.mark.parametrize(
    "consumer", [Consumer("a"), Consumer("a", static=True, client="librdkafka")], ids=["java", "librdkafka"]
)
def test_a_client_that_hears_in_a_slow_batch_that_it_is_no_member_joins_again_after_the_batch(consumer):
    """Its revoke callback takes longer than the group waits for it, and its batch is not late."""
    scenario = Scenario(
        ORDERS,
        (consumer, Consumer("z")),
        (Join(1_000, Consumer("b")), SlowPoll(20_000, "a", 18_000)),
        "uniform",
        Settings(max_poll_interval_ms=20_000),
        costs=Costs(revoke_ms=25_000),
        settled_ms=3_600_000,
        until_ms=50_000,
    )
    result = simulate(scenario)
    [fenced_ms] = when(result, "fenced")
    assert 30_000 < fenced_ms < 31_000
    assert when(result, "commit-refused") == [38_000]
    assert when(result, "rebalance")[-1] == 38_000
