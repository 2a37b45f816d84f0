"""Partitions that get more than others, and consumers that can process more: figures computed by hand."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

from assignors.group import Topic
from copartition.simulate_scenarios import size
from copartition.simulation import (
    Consumer,
    Create,
    Deployment,
    Grow,
    Load,
    Restart,
    Scenario,
    SlowPoll,
    simulate,
    simulate_seeds,
)
from partitioning.errors import ScenarioError

PAIR = (Consumer("a"), Consumer("b"))


def scenario(load, *events, partitions=2, consumers=PAIR, until_ms=100_000, **fields):
    return Scenario((Topic("orders", partitions),), consumers, events, load=load, until_ms=until_ms, **fields)


@pytest.mark.parametrize(
    ("load", "rates"),
    [
        pytest.param(Load(11), [11, 11, 11], id="one number"),
        pytest.param(Load({"pay": 11}), [0, 0, 0], id="another topic's"),
        pytest.param(Load({"orders": (9, 0, 1)}), [9, 0, 1], id="a list"),
        pytest.param(Load({"orders": (9, 0, 1)}, zipf=1), [9, 0, 1], id="a list is what it says"),
        # 33 a second, spread as 1, 1/2 and 1/3, whose sum is 11/6.
        pytest.param(Load(11, zipf=1), [18, 9, 6], id="zipf"),
        # 49 a second, spread as 1, 1/4 and 1/9, whose sum is 49/36.
        pytest.param(Load({"orders": 49 / 3}, zipf=2), [36, 9, 4], id="steeper"),
    ],
)
def test_a_load_says_what_comes_to_each_partition(load, rates):
    topics = (Topic("orders", 3), Topic("pay", 1))
    run = simulate(Scenario(topics, PAIR, load=load, until_ms=10_000))
    assert run.scenario.rates["orders"].tolist() == pytest.approx(rates)
    assert run.records.arrived[:3].tolist() == pytest.approx([10 * rate for rate in rates])


def test_partitions_that_a_topic_gets_later_follow_the_same_law():
    """The first two get 20 and 10; the third, a third of the first one's, the fourth a fourth."""
    later = (Grow(1_000, "orders", 4), Create(1_000, "pay", 2), Grow(2_000, "pay", 3))
    rates = scenario(Load(15, zipf=1), *later).rates
    assert rates["orders"].tolist() == pytest.approx([20, 10, 20 / 3, 5])
    assert rates["pay"].tolist() == pytest.approx([20, 10, 20 / 3])


def test_each_consumer_catches_up_at_its_own_speed():
    """After 10 s both are 1,000 behind; with 50 and 200 a second to spare that takes 20 s and 5 s."""
    people = (Consumer("a", capacity=150), Consumer("b", capacity=300))
    slow = [SlowPoll(10_000, consumer.name, 10_000) for consumer in people]
    run = simulate(scenario(Load(100, 1_000), *slow, consumers=people, assignor="range"))
    assert run.records.recovery_ms.tolist() == pytest.approx([30_000, 15_000])
    assert run.records.peak.tolist() == pytest.approx([1_000, 1_000])
    curves = [run.records.curves.of(partition) for partition in (0, 1)]
    assert [np.interp(25_000, *curve) for curve in curves] == pytest.approx([750, 0])


def test_who_has_no_capacity_of_its_own_has_that_of_the_load():
    group = scenario(Load(100, 80), consumers=(Consumer("a", capacity=100), Consumer("b")), assignor="range")
    run = simulate(group)
    # 20 a second more than it can process, for 100 s.
    assert run.records.waiting.tolist() == pytest.approx([0, 2_000])
    assert run.warnings == ("at the end b reads 100 records a second and can process 80",)


def test_whoever_replaces_a_consumer_is_as_fast():
    people = (Consumer("a", capacity=40), Consumer("b", capacity=200))
    group = scenario(Load(100, 100), Deployment(1_000), consumers=people, assignor="range", until_ms=200_000)
    last = simulate(group).steps[-1].consumers.values()
    assert {consumer.name: consumer.capacity for consumer in last} == {"a-r2": 40, "b-r2": 200}


HOT = Load({"orders": (300, 100, 100, 100)}, 350)


@pytest.mark.parametrize(
    ("assignor", "behind"),
    [
        # By count each has two: one reads 400 and can process 350, so it loses 50 a second.
        pytest.param("uniform", 5_000, id="uniform"),
        pytest.param("cooperative-sticky", 5_000, id="cooperative-sticky"),
        # By weight one has the hot one, the other has the rest: 300 each.
        pytest.param("weighted", 0, id="weighted"),
        pytest.param("cooperative-weighted", 0, id="cooperative-weighted"),
    ],
)
def test_an_assignor_that_weighs_is_better_by_lag(assignor, behind):
    run = simulate(scenario(HOT, partitions=4, assignor=assignor))
    assert run.records.waiting.sum() == pytest.approx(behind)
    assert (run.summary.peak_lag, run.summary.recovery_ms) == (pytest.approx(behind), 0)
    assert bool(run.warnings) == bool(behind)


@pytest.mark.parametrize("assignor", ["weighted", "cooperative-weighted"])
def test_an_assignor_that_weighs_knows_what_consumers_can_process(assignor):
    people = (Consumer("a", capacity=330), Consumer("b", capacity=110))
    run = simulate(scenario(Load(100, 1), partitions=4, consumers=people, assignor=assignor))
    (step,) = run.steps
    assert {step.consumers[member].name: len(parts) for member, parts in step.assignment.items()} == {
        "a": 3,
        "b": 1,
    }
    assert run.records.waiting.sum() == pytest.approx(0)


@pytest.mark.parametrize("load", [None, Load(0), Load(7)], ids=["no load", "nothing comes", "no limit"])
def test_an_assignor_that_weighs_counts_where_nothing_tells_partitions_apart(load):
    run = simulate(scenario(load, partitions=4, assignor="weighted"))
    assert sorted(map(len, run.steps[0].assignment.values())) == [2, 2]


def test_runs_that_share_decisions_weigh_the_same():
    group = scenario(HOT, Restart(1_000, "a", 5_000), partitions=4, assignor="weighted")
    for shared in simulate_seeds(group, (1, 2)):
        alone = simulate(replace(group, seed=shared.scenario.seed))
        assert (shared.summary, shared.log) == (alone.summary, alone.log)


def test_a_size_counts_with_the_hottest_partition():
    """300 and 100 a second: one consumer of 450 is enough, of 350 two, of 250 none.

    Of twice as many partitions the hottest would get 150, of half as many again 200.
    """
    load = Load({"orders": (300, 100)}, 450)
    group = scenario(load, consumers=(Consumer("a"),), assignor="range", until_ms=None)
    assert size(group, 1_000, 1).fewest == 1
    assert size(replace(group, load=replace(load, capacity=350)), 1_000, 1).fewest == 2
    short = size(replace(group, load=replace(load, capacity=250)), 1_000, 1)
    assert (short.fewest, short.partitions_needed) == (None, {"orders": 3})


def test_a_size_counts_with_consumers_of_different_capacity():
    """300 a second: a takes two of three partitions; with range b gets one, and can take no more."""
    group = scenario(
        Load(100, 1), partitions=3, consumers=(Consumer("a", capacity=250), Consumer("b", capacity=100)),
        assignor="range", until_ms=None,
    )  # fmt: skip
    answer = size(group, 1_000, 1)
    assert [(trial.consumers, trial.lag_ms < inf) for trial in answer.trials] == [(2, True), (3, True)]
    assert (answer.fewest, answer.autoscaler["lagThreshold"]) == (2, 150)


@pytest.mark.parametrize(
    ("load", "consumers", "path", "fault"),
    [
        (Load({"orders": (1, 2, 3)}), PAIR, "$.load.rate.orders", "3 rates; give one for each of its 2"),
        (Load(1), (*PAIR, Consumer("c", capacity=9)), "$.load.capacity", "'c' has a capacity; give load"),
        (None, (*PAIR, Consumer("c", capacity=9)), "$.load.capacity", "'c' has a capacity; give load"),
    ],
)
def test_what_cannot_be_is_refused(load, consumers, path, fault):
    with pytest.raises(ScenarioError) as caught:
        scenario(load, consumers=consumers)
    assert caught.value.path == path
    assert fault in str(caught.value)
