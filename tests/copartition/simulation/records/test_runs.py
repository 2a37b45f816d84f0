"""The records of whole runs, against their timelines and against themselves."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Grow,
    Join,
    Leave,
    Load,
    Restart,
    Scenario,
    simulate,
)
from tests.support.tiers import examples, sample

LOADS = (
    Load(50),
    Load({"orders": 30, "pay": 80}, 400),
    Load(100, 150),
    Load(100, 450, auto_offset_reset="latest"),
    Load(100, auto_offset_reset="latest", commit="before"),
    Load(50, commit_on_revoke=False),
    Load(50, 400, commit="before"),
    Load(60, 500, transactions=True),
    Load(10, transactions=True, commit_on_revoke=False),
)


@st.composite
def comings_and_goings(draw):
    """Groups of up to five consumers that come and go, some of them at the same moment."""
    consumers = [Consumer(f"c{number}", draw(st.booleans())) for number in range(5)]
    present = draw(st.integers(0, 5))
    back_at = {member.name: 0.0 if index < present else None for index, member in enumerate(consumers)}
    events = []
    now = 0.0
    for _ in range(draw(st.integers(0, 6))):
        now += draw(st.sampled_from([0.0, 500.0, 2_000.0, 20_000.0, 70_000.0]))
        consumer = draw(st.sampled_from(consumers))
        since = back_at[consumer.name]
        if since is None:
            events.append(Join(now, consumer))
            back_at[consumer.name] = now
        elif since <= now:
            kind = draw(st.sampled_from([Leave, Crash, Restart]))
            if kind is Restart:
                down = draw(st.sampled_from([0.0, 1_000.0, 30_000.0, 60_000.0]))
                events.append(Restart(now, consumer.name, down))
                back_at[consumer.name] = now + down
            else:
                events.append(kind(now, consumer.name))
                back_at[consumer.name] = None
    assignor = draw(st.sampled_from(["range", "roundrobin", "sticky", "cooperative-sticky"]))
    topics = (Topic("orders", draw(st.integers(1, 7))), Topic("pay", 2))
    seed = draw(st.integers(0, 99))
    return Scenario(topics, tuple(consumers[:present]), tuple(events), assignor, seed=seed)


@given(comings_and_goings(), st.sampled_from(LOADS))
@settings(max_examples=examples(150), deadline=None)
def test_every_record_is_read_lost_or_waiting(scenario, load):
    records = simulate(replace(scenario, load=load)).records
    assert records.consumed + records.waiting + records.lost == pytest.approx(records.arrived)
    for column in (records.consumed, records.waiting, records.duplicates, records.aborted, records.lost):
        assert (column > -1e-6).all()
    if load.commit == "after" and load.auto_offset_reset == "earliest":
        assert not records.lost.any()
    if load.commit == "before" or load.transactions:
        assert not records.duplicates.any()


@given(comings_and_goings(), st.sampled_from(LOADS))
@settings(max_examples=examples(100), deadline=None)
def test_the_groups_lag_is_that_of_its_partitions(scenario, load):
    records = simulate(replace(scenario, load=load)).records
    single = [records.curves.of(partition) for partition in range(len(records.peak))]
    # Between two jumps, where every curve is continuous.
    moments = np.unique(np.concatenate([records.lag_ms, *(times for times, _ in single)]))
    moments = (moments[1:] + moments[:-1]) / 2
    sums = sum(np.interp(moments, times, behind, left=0.0) for times, behind in single)
    assert np.interp(moments, records.lag_ms, records.lag) == pytest.approx(sums, rel=1e-6, abs=1e-3)
    assert records.peak == pytest.approx([behind.max(initial=0) for _, behind in single], rel=1e-6, abs=1e-3)


@st.composite
def orderly(draw):
    """Groups in which nobody crashes."""
    consumers = [Consumer(f"c{number}", draw(st.booleans())) for number in range(4)]
    events = [Join(draw(st.integers(0, 40_000)), consumers[3]), Grow(draw(st.integers(0, 40_000)), "pay", 4)]
    for consumer in consumers[:2]:
        down_ms = draw(st.sampled_from([0, 1_000, 20_000, 60_000]))
        events.append(Restart(draw(st.integers(0, 40_000)), consumer.name, down_ms))
    if draw(st.booleans()):
        events.append(Leave(30_000, consumers[2].name))
    return Scenario(
        (Topic("orders", draw(st.integers(1, 7))), Topic("pay", 2)),
        tuple(consumers[:3]),
        tuple(events),
        draw(st.sampled_from(["range", "cooperative-sticky", "uniform"])),
        seed=draw(st.integers(0, 99)),
        costs=Costs(partition_ms=draw(st.sampled_from([0, 40]))),
        load=Load(100),
    )


@given(orderly())
@settings(max_examples=examples(100), deadline=None)
def test_the_lag_of_an_orderly_run_is_what_its_pauses_make_of_it(scenario):
    run = simulate(scenario)
    _, start, end = run.timeline.pauses()
    seconds = (end - start) / 1_000
    records = run.records
    area = (np.diff(records.lag_ms) / 1_000 * (records.lag[1:] + records.lag[:-1]) / 2).sum()
    assert area == pytest.approx((100 * seconds**2 / 2).sum())
    assert records.peak.max() == pytest.approx(100 * seconds.max(initial=0))
    assert not records.duplicates.any()


@pytest.mark.parametrize(
    ("assignor", "settled_ms", "duplicates"),
    sample(
        [("range", 3_600_000, 250), ("range", 0, 0), ("uniform", 3_600_000, 250), ("uniform", 0, 0)], every=3
    ),
)
def test_a_crash_at_once_repeats_half_an_interval_of_a_group_that_has_read_for_long(
    assignor, settled_ms, duplicates
):
    readers = tuple(Consumer(f"c{number}") for number in range(200))
    events = tuple(Crash(0.0, reader.name) for reader in readers[:100])
    scenario = Scenario(
        (Topic("orders", 200),), readers, events, assignor, load=Load(1), settled_ms=settled_ms
    )
    assert simulate(scenario).records.duplicates.sum() == pytest.approx(duplicates, rel=0.15)


@pytest.mark.heavy
@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_a_crash_on_a_round_time_finds_consumers_anywhere_between_two_commits(assignor):
    """The group has been committing since before time 0, each consumer every 5 s at a time of its own."""
    consumers = tuple(Consumer(f"c{number}") for number in range(4))
    crash = Scenario((Topic("orders", 8),), consumers, (Crash(60_000, "c1"),), assignor, load=Load(100))
    twice = [simulate(replace(crash, seed=seed)).summary.duplicates for seed in range(40)]
    assert 0 < min(twice) < max(twice) < 2 * 500  # two partitions, up to 5 s of 100 a second
    assert np.mean(twice) == pytest.approx(500, rel=0.2)
