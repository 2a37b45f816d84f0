"""How many partitions members have while they move."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assignors import Member, Topic
from assignors.columnar.numbering import Numbering, Subscriptions
from assignors.columnar.sticky_general import LoadHeaps, Subscribers


def load(*sizes, idle=()):
    members = [Member(f"m{number}", ["t"]) for number in range(len(sizes))]
    takes_part = np.array([number not in idle for number in range(len(sizes))])
    readers = Subscribers.of(Numbering.of(members, Subscriptions.of(members), [Topic("t", 1)]))
    return LoadHeaps(np.array(sizes), takes_part, readers)


@given(sizes=st.lists(st.integers(0, 10**6), min_size=1, max_size=8), idle=st.sets(st.integers(0, 7)))
def test_imbalance_is_the_sum_of_all_differences_in_32_bits(sizes, idle):
    active = [size for number, size in enumerate(sizes) if number not in idle]
    total = sum(abs(a - b) for a in active for b in active) // 2
    assert load(*sizes, idle=idle).imbalance() == int(np.int64(total).astype(np.int32))


def test_imbalance_overflows_as_in_java():
    assert load(*[0] * 300, *[10**6] * 300).imbalance() == int(np.int64(300 * 300 * 10**6).astype(np.int32))


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
