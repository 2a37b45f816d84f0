"""Both ways of asking whether an assignment is balanced agree on everything that general assignment asks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from assignors import AssignorError, Group, Member, Topic
from assignors.strategies import StickyAssignor
from assignors.columnar.sticky.audiences import Audiences
from assignors.columnar.sticky.balance import IndexedBalance, LiteralBalance
from assignors.columnar.sticky.catalogue import Catalogue
from assignors.columnar.sticky.load import Load


class BothBalances(IndexedBalance):
    """Asks the index and the lists."""

    def __init__(self, catalogue, audiences, load, owner, full):
        super().__init__(catalogue, audiences, load, owner, full)
        self._literal = LiteralBalance(catalogue, None, audiences, load, owner, {}, full)

    def is_balanced(self):
        answer = super().is_balanced()
        assert answer == self._literal.is_balanced()
        return answer

    def has_lighter(self, partition, topic, owner):
        answer = super().has_lighter(partition, topic, owner)
        assert answer == self._literal.has_lighter(partition, topic, owner)
        return answer


topics = [Topic(f"t{number}", 1 + 3 * number) for number in range(4)]
subscription = st.sets(st.sampled_from([topic.name for topic in topics]), min_size=1).map(sorted)
member = st.tuples(st.integers(0, 50), subscription)


@settings(max_examples=60, deadline=None)
@given(
    members=st.lists(member, min_size=2, max_size=8, unique_by=lambda each: each[0]),
    joining=st.lists(subscription, max_size=3),
    leaving=st.integers(0, 3),
)
def test_the_index_and_the_lists_agree(members, joining, leaving):
    group = Group(topics, [Member(f"m{number}", names) for number, names in members])
    assume(len({tuple(each.topics) for each in group.members}) > 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reassignment, "IndexedBalance", BothBalances)
        assignor = StickyAssignor()
        for step in range(3):
            try:
                assignment = assignor.assign(group)
            except AssignorError as error:
                assume("never ends" not in str(error))
                raise
            leave = [each.id for each in group.members[:leaving]]
            join = [Member(f"step{step}-{number}", names) for number, names in enumerate(joining)]
            assume(len(leave) < len(group.members) + len(join))
            group = group.next(assignment, leave=leave, join=join)


def load(*sizes, idle=()):
    group = Group([Topic("t", 1)], [Member(f"m{number}", ["t"]) for number in range(len(sizes))])
    takes_part = np.array([number not in idle for number in range(len(sizes))])
    return Load(np.array(sizes), takes_part, Audiences.of(Catalogue.of(group)))


@given(sizes=st.lists(st.integers(0, 10**6), min_size=1, max_size=8), idle=st.sets(st.integers(0, 7)))
def test_imbalance_is_the_sum_of_all_differences_in_32_bits(sizes, idle):
    active = [size for number, size in enumerate(sizes) if number not in idle]
    total = sum(abs(a - b) for a in active for b in active) // 2
    assert load(*sizes, idle=idle).imbalance() == int(np.int64(total).astype(np.int32))


def test_imbalance_overflows_as_in_java():
    assert load(*[0] * 30_000, *[10_000] * 30_000).imbalance() == int(
        np.int64(30_000 * 30_000 * 10_000).astype(np.int32)
    )


@given(sizes=st.lists(st.integers(1, 4), min_size=2, max_size=6), data=st.data())
def test_the_lightest_member_is_known_while_partitions_move(sizes, data):
    load_ = load(*sizes)
    for _ in range(10):
        source = data.draw(st.sampled_from([i for i, size in enumerate(load_.size) if size]))
        destination = data.draw(st.sampled_from([i for i in range(len(sizes)) if i != source]))
        load_.move(source, destination)
        assert load_.lightest(0) == min(range(len(sizes)), key=lambda i: (load_.size[i], i))
        assert (load_.least, load_.most) == (min(load_.size), max(load_.size))


def test_nobody_is_lightest_where_nobody_takes_part():
    assert load(1, 2, idle={0, 1}).lightest(0) is None
