"""How many consumers a scenario takes."""

from dataclasses import replace
from itertools import pairwise
from math import inf
from random import Random

import pytest

from assignors.group import Topic
from copartition.simulate_scenarios import size
from copartition.simulate_scenarios.size_search import size_trial, size_trials, with_consumers
from copartition.simulation import (
    Autoscaler,
    Consumer,
    Crash,
    Join,
    Load,
    Restart,
    ScaleTo,
    Scenario,
    Settings,
    SlowPoll,
    StatefulSetRoll,
    simulate,
)
from partitioning.errors import ScenarioError
from tests.support.tiers import examples, sample

WORKER = (Consumer("worker-0"),)
TWO = (*WORKER, Consumer("worker-1"))
CRASH = Crash(60_000, "worker-0")
RUNS = len(sample(range(20), 4))


def scenario(*events, partitions=4, rate=10.0, capacity=45.0, session_ms=45_000, consumers=WORKER, **fields):
    """By default four partitions of 10 records a second, and consumers that can process 45."""
    return Scenario(
        (Topic("orders", partitions),),
        consumers,
        events,
        fields.pop("assignor", "range"),
        Settings(session_timeout_ms=session_ms),
        load=Load(rate, capacity),
        **fields,
    )


def outcomes(answer):
    return [(trial.consumers, trial.fits) for trial in answer.trials]


@pytest.mark.parametrize(
    ("capacity", "fewest"),
    # A consumer of two of four partitions gets 20 records a second, one of three partitions 30.
    [(45.0, 1), (40.0, 1), (39.0, 2), (20.0, 2), (19.0, 4), (10.0, 4)],
)
def test_where_nothing_happens_everybody_can_process_what_comes(capacity, fewest):
    assert size(scenario(capacity=capacity), 1_000, runs=1).fewest == fewest


def test_the_number_after_it_has_to_fit_too():
    assert outcomes(size(scenario(capacity=19.0), 1_000, runs=1)) == [(3, False), (4, True)]
    assert outcomes(size(scenario(capacity=39.0), 1_000, runs=1)) == [(2, True), (3, True)]


def test_a_number_whose_neighbour_does_not_fit_is_not_tried():
    # Of 4 to 7 consumers for seven partitions none but one each can process what comes.
    tried = [trial.consumers for trial in size_trials(scenario(partitions=7, capacity=19.0), 1_000, 1)]
    assert tried == [5, 7, 6]


def test_the_seed_that_broke_the_bound_is_the_first_for_the_next_number():
    seeds = [0, 1, 2, 3]
    waits = [
        size_trial(scenario(CRASH, session_ms=15_000, consumers=TWO), 1e9, [seed]).lag_ms for seed in seeds
    ]
    trial = size_trial(scenario(CRASH, session_ms=15_000, consumers=TWO), max(waits) - 1, seeds)
    assert (trial.lag_ms, seeds[0]) == (max(waits), waits.index(max(waits)))


def test_who_is_overloaded_is_named():
    (trial, _) = size(scenario(capacity=19.0), 1_000, runs=1).trials
    assert trial.why == "worker-0 reads 20 records a second and can process 19"
    assert trial.lag_ms == inf


@pytest.mark.parametrize(("bound_ms", "fewest"), [(12_000, None), (23_000, 2)])
def test_a_crash_is_waited_for_as_long_as_the_session_lasts(bound_ms, fewest):
    """The session of 15 s ends 12 to 15 s after the crash, and the other member hears of it within 3 s.

    It reads again what came since the last commit of the lost one, up to 5 s before the crash.
    """
    assert size(scenario(CRASH, session_ms=15_000, capacity=1e9), bound_ms, RUNS).fewest == fewest


def test_a_record_waits_for_what_was_fetched_of_other_partitions():
    """After 10 s two partitions are 100 behind each; the second one is read when the first is, 2 s later."""
    busy = scenario(SlowPoll(60_000, "worker-0", 10_000), partitions=2, capacity=50.0)
    (trial, *_) = size(busy, 12_000, runs=1).trials
    assert (trial.lag_ms, trial.lag, trial.fits) == (pytest.approx(12_000), pytest.approx(200), True)


def test_whoever_is_left_has_to_catch_up():
    """After the crash one of two is left with 40 records a second, one of three with 20."""
    crash = scenario(CRASH, capacity=30.0, session_ms=10_000)
    answer = size(crash, 30_000, runs=3)
    assert outcomes(answer) == [(2, False), (3, True), (4, True)]
    assert answer.trials[0].why.startswith("worker-1 reads 40 records a second")


def test_the_bound_holds_with_every_seed():
    crash = scenario(CRASH, session_ms=15_000)

    def wait_ms(trials):
        return next(trial.lag_ms for trial in trials if trial.consumers == 2)

    waits = [wait_ms(size_trials(replace(crash, seed=seed), 60_000, 1)) for seed in range(3)]
    assert wait_ms(size(crash, 60_000, runs=3).trials) == max(waits) > min(waits)


def test_partitions_that_one_consumer_cannot_process_are_counted():
    answer = size(scenario(capacity=8.0), 1_000, runs=1)
    assert answer.fewest is None
    assert answer.autoscaler is None
    assert answer.trials == ()
    assert answer.partitions_needed == {"orders": 5}


def test_an_autoscaler_adds_consumers_only_beyond_the_bound():
    """At the bound of 30 s, 40 records a second have left 1,200 behind, 600 for each of two."""
    answer = size(scenario(capacity=30.0), 30_000, runs=1)
    assert answer.autoscaler == {"minReplicaCount": 2, "maxReplicaCount": 4, "lagThreshold": 600}
    fixed = scenario(
        Restart(60_000, "worker-0", 5_000), capacity=30.0, consumers=(*WORKER, Consumer("worker-1"))
    )
    scaled = replace(
        fixed,
        events=(*fixed.events, Autoscaler(0, 600, fewest=2, most=4, polling_ms=1_000)),
        until_ms=600_000,
    )
    summary = simulate(scaled).summary
    assert summary.rebalances == simulate(fixed).summary.rebalances > 0


def test_more_consumers_are_like_the_last_and_fewer_keep_whom_events_name():
    people = (Consumer("a", static=True), Consumer("b"), Consumer("pod-7", rack="r1"))
    joining = Join(1_000, Consumer("pod-0"))
    group = scenario(Restart(60_000, "b", 1_000), joining, consumers=people)
    assert [consumer.name for consumer in with_consumers(group, 1).consumers] == ["b"]
    assert [consumer.name for consumer in with_consumers(group, 2).consumers] == ["a", "b"]
    more = with_consumers(group, 5).consumers[3:]
    assert more == (Consumer("pod-1", rack="r1"), Consumer("pod-2", rack="r1"))


def test_no_fewer_than_events_name_are_tried():
    people = tuple(Consumer(f"worker-{number}") for number in range(3))
    events = [Restart(60_000 * (1 + number), f"worker-{number}", 1_000) for number in range(3)]
    assert size(scenario(*events, consumers=people), 60_000, runs=1).fewest == 3


@pytest.mark.parametrize(
    ("fits", "fewest"),
    [([False], None), ([True], 1), ([True, True], 1), ([True, False], None), ([True, False, True, True], 3)],
)
def test_one_number_that_fits_alone_does_so_by_chance(fits, fewest):
    """The last one has no number after it that could fit."""
    answer = size(scenario(capacity=41.0), 1_000, runs=1)
    trials = [replace(answer.trials[0], consumers=1 + turn, fits=fit) for turn, fit in enumerate(fits)]
    assert replace(answer, trials=tuple(trials)).fewest == fewest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"load": None}, "without a load there is no lag"),
        ({"load": Load(10)}, "one consumer can process everything; give load.capacity"),
        ({"consumers": ()}, "the group is empty at the start"),
        ({"events": (ScaleTo(1_000, 3),)}, "scale-to at 1000 ms sets the number of consumers"),
        ({"events": (Autoscaler(0, 5),), "until_ms": 9_000}, "autoscaler at 0 ms sets the number"),
    ],
)
def test_what_has_no_answer_is_refused(change, message):
    with pytest.raises(ScenarioError, match=message):
        size(replace(scenario(), **change), 1_000)


@pytest.mark.parametrize(("bound_ms", "runs"), [(-1, 1), (float("nan"), 1), (inf, 1), (1_000, 0)])
def test_a_bound_and_runs_that_cannot_be_are_refused(bound_ms, runs):
    with pytest.raises(ScenarioError, match="give milliseconds and at least one run"):
        size(scenario(), bound_ms, runs)


def small(random):
    """A small scenario; no consumer's share is exactly its capacity."""
    people = tuple(Consumer(f"worker-{number}", static=random.random() < 0.3) for number in range(2))
    events = random.sample(
        [
            Crash(60_000, "worker-0"),
            Restart(200_000, "worker-1", random.choice([2_000, 20_000])),
            StatefulSetRoll(400_000, 5_000, 10_000),
        ],
        random.randint(0, 3),
    )
    rate = random.choice([5.0, 10.0, 40.0])
    return scenario(
        *events,
        partitions=random.randint(2, 7),
        rate=rate,
        capacity=rate * random.choice([1.13, 1.71, 2.57, 4.3]),
        session_ms=random.choice([10_000, 45_000]),
        consumers=people,
        assignor=random.choice(["range", "cooperative-sticky", "uniform"]),
        seed=random.randrange(1_000),
    )


def keeps(group, bound_ms):
    """Whether no record waits longer in ten hours, in which what grows would be far beyond any bound."""
    return simulate(replace(group, until_ms=36_000_000)).records.curves.longest_wait_ms() <= bound_ms


@pytest.mark.heavy
@pytest.mark.parametrize("number", range(examples(200)))
def test_it_is_what_trying_every_number_shows(number):
    random = Random(number)
    group, bound_ms = small(random), random.choice([8_000, 20_000, 60_000])
    named = len({event.consumer for event in group.events if hasattr(event, "consumer")})
    numbers = range(max(1, named), group.topics[0].partitions + 1)
    keep = [keeps(with_consumers(group, count), bound_ms) for count in numbers]
    expected = next(
        (count for count, both in zip(numbers, map(all, pairwise([*keep, True])), strict=True) if both), None
    )
    assert size(group, bound_ms, runs=1).fewest == expected
