"""What many members went through, told to the end and then looked at, or looked at after every step."""

import re
from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Topic
from copartition.simulation import Consumer, Costs, Load, Scenario
from copartition.simulation.group.memberships import Memberships
from copartition.simulation.ledger import Ledger, Partitions, rows_of
from copartition.simulation.outcome.timeline import Phase
from copartition.simulation.partition_states import TransitionKind
from tests.support.tiers import examples, sample

PARTITIONS = 6
NAMES = ("a", "b", "c")
LOADS = (None, Load(100, capacity=250), Load(100, commit_on_revoke=False), Load(7, transactions=True))

changes = st.tuples(
    st.integers(0, len(NAMES) - 1),
    st.sets(st.integers(0, PARTITIONS - 1)),
    st.sampled_from([True, False, None]),
    st.sampled_from([None, 0.0, 250.0, 4_000.0]),
)
"""A member, the partitions it is to have, whether it can commit, and how long it takes to begin."""


class Group:
    """Members that take partitions from one another."""

    def __init__(self, load, costs, *, looks):
        memberships = Memberships()
        consumers = tuple(map(Consumer, NAMES))
        for number, consumer in enumerate(consumers):
            memberships.add(number, consumer)
        scenario = Scenario((Topic("orders", PARTITIONS),), consumers, load=load, costs=costs)
        self.ledger = Ledger(scenario, Partitions(scenario), memberships)
        self.cause = self.ledger.cause("a rebalance")
        self.owned = [set() for _ in NAMES]
        self.looks = looks

    def change(self, at_ms, change):
        """A member has these from now on, and whoever had them has not."""
        member, wanted, committed, takes_ms = change
        for owned in self.owned:
            lost = owned - wanted if owned is self.owned[member] else owned & wanted
            phase = Phase.UNNOTICED if committed is None else Phase.PAUSED
            self.tell("halt", lost, at_ms, phase, self.cause, committed=committed)
            owned.difference_update(lost)
        won, kept = wanted - self.owned[member], wanted & self.owned[member]
        self.tell("settle", won, at_ms, Phase.HANDOVER, None)
        if won:
            self.tell("open", won, member, at_ms, None if takes_ms is None else at_ms + takes_ms)
        if kept and takes_ms is not None:
            self.tell("suspend", rows_of(kept), at_ms, at_ms + takes_ms, self.cause)
        self.owned[member] |= won

    def tell(self, what, *arguments, **more):
        getattr(self.ledger, what)(*arguments, **more)
        if self.looks:
            assert self.ledger.now

    def outcome(self, at_ms):
        self.ledger.catch_up(at_ms)
        self.ledger.finish(at_ms)
        now, flow = self.ledger.now, self.ledger.flow
        timeline = self.ledger.timeline(NAMES, at_ms)
        records = () if flow is None else astuple(flow.result(at_ms))[:11]
        return [
            *(now.phase, now.owner, now.position, now.unread, now.longest_ms, now.touched, now.spent),
            *(timeline.partition, timeline.start, timeline.end, timeline.phase, timeline.consumer),
            *records,
        ]


@pytest.mark.parametrize("costs", [Costs(), Costs(partition_ms=300)], ids=["at once", "one by one"])
@pytest.mark.parametrize("load", sample(LOADS, 2))
@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.sampled_from([0.0, 400.0, 3_000.5, 9_000.0]), changes), max_size=12))
def test_it_makes_no_difference_when_somebody_looks(load, costs, course):
    together, apart = (Group(load, costs, looks=looks) for looks in (False, True))
    at_ms = 0.0
    for later_ms, change in course:
        at_ms += later_ms
        for group in (together, apart):
            group.change(at_ms, change)
    for one, other in zip(together.outcome(at_ms + 60_000), apart.outcome(at_ms + 60_000), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-9)


def test_a_member_that_dies_as_it_opens_the_last_partition_has_committed_the_others_with_that():
    course = [
        (0, (0, {3}, True, None)),
        (0, (1, {0, 1, 2, 3}, True, None)),
        (1_200, (0, {0, 1, 2, 3}, None, None)),  # as member 1 opens its fourth
    ]
    for looks in (False, True):
        group, at_ms = Group(Load(7, transactions=True), Costs(partition_ms=300), looks=looks), 0
        for later_ms, change in course:
            at_ms += later_ms
            group.change(at_ms, change)
        group.ledger.finish(60_000)
        # 1.2 s of seven records a second are all of the fourth partition, processed at once.
        assert group.ledger.flow.result(60_000).aborted.tolist() == pytest.approx([0, 0, 0, 8.4, 0, 0])


@pytest.mark.parametrize("looks", [False, True])
def test_a_suspended_reader_goes_on_where_it_was_by_itself(looks):
    group = Group(Load(10), Costs(), looks=looks)
    group.change(0, (0, {0, 1}, True, None))
    group.ledger.open({2}, 0, 0, 5_000)
    group.tell("suspend", rows_of({0, 2}), 4_500, 6_500, group.cause)
    group.ledger.catch_up(60_000)
    timeline = group.ledger.timeline(NAMES, 60_000)
    read = timeline.phase == Phase.CONSUMING
    starts = zip(timeline.partition[read].tolist(), timeline.start[read].tolist(), strict=True)
    # Partition 2, which was being opened, waits for the end of the callback, too.
    assert sorted(starts) == [(0, 0), (0, 6_500), (1, 0), (2, 6_500)]
    records = group.ledger.flow.result(60_000)
    assert records.peak[:2].tolist() == pytest.approx([20, 0])
    assert records.duplicates.sum() == 0


def test_a_member_opens_partitions_one_after_the_other_by_their_numbers():
    group = Group(None, Costs(partition_ms=300), looks=False)
    group.ledger.open([5, 2], 0, 1_000.0, None)
    group.ledger.open([4], 1, 1_000.0, None)
    group.ledger.open([3], 0, 1_500.0, None)
    assert group.ledger.now.position.tolist() == [0, 0, 0, 0, 0, 1]
    group.ledger.finish(9_000)
    timeline = group.ledger.timeline(NAMES, 9_000)
    read = timeline.phase == Phase.CONSUMING
    begins = zip(timeline.partition[read].tolist(), timeline.start[read].tolist(), strict=True)
    assert dict(begins) == {2: 1_300, 3: 1_800, 4: 1_300, 5: 1_600}


def test_the_glossary_has_every_kind_of_transition():
    glossary = (Path(__file__).parents[3] / "docs/glossary.md").read_text(encoding="utf-8")
    table = glossary.partition("## What happens to a partition in a simulation")[2]
    assert re.findall(r"^\| ([a-z]+) \|", table, re.MULTILINE)[1:] == [
        kind.name.lower() for kind in TransitionKind
    ]


def test_records_that_a_stalled_member_has_not_committed_wait_again_as_soon_as_it_has_lost_them():
    group = Group(Load(100), Costs(), looks=False)
    group.ledger.open([0], 0, 0.0, None)
    group.ledger.halt([0], 12_000, Phase.UNNOTICED, group.cause, committed=None)
    group.ledger.catch_up(20_000)
    waiting = 800 + 100 * (PARTITIONS - 1) * 20
    assert group.ledger.flow.lag() == waiting
    group.ledger.halt([0], 20_000, Phase.PAUSED, group.cause, committed=False)
    group.ledger.catch_up(20_000)
    assert group.ledger.flow.lag() == waiting + 200  # of the two seconds since its last commit
