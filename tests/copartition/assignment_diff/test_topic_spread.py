"""How the partitions of one topic lie, and which topics stop being read together by number."""

import json
from itertools import pairwise

import numpy as np
import pytest

from assignors import Group, Member, Topic, get_assignor, quality
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import diff
from copartition.assignment_diff.report.json import diff_json
from copartition.assignment_diff.report.verdict import detail_lines, movement
from tests.support.tiers import examples


def states(topics, members, *strategies, subscriptions=None):
    """The group under one strategy after the other, and the answers."""
    names = [f"m{number}" for number in range(members)]
    read = subscriptions or [[topic.name for topic in topics]] * members
    group = Group(topics, [Member(name, some) for name, some in zip(names, read, strict=True)])
    answers = [get_assignor(strategy).assign(group) for strategy in strategies]
    identities = {
        name: MemberIdentity(name, topics=tuple(some)) for name, some in zip(names, read, strict=True)
    }
    found = []
    for answered in answers:
        state = GroupState.of(answered)
        found.append(
            GroupState(
                tuple(identities[member.id] for member in state.members),
                state.topics,
                state.member,
                state.topic,
                state.partition,
                complete=True,
            )
        )
    return group, answers, found


ORDERS, PAYMENTS = Topic("orders", 12), Topic("payments", 12)


def test_uniform_gives_a_topic_to_each_of_two_members_and_that_is_said():
    _, _, (before, after) = states([ORDERS, PAYMENTS], 2, "range", "uniform")
    change = diff(before, after, match="member-id")
    assert (change.summary.topic_fullest, change.summary.needed_topic_fullest) == (12, 6)
    assert change.separated == (("orders", "payments"),)
    assert "Co-partitioned reading of orders and payments ends; range keeps it." in detail_lines(change)
    assert "of one topic 12 (6 needed)" in movement(change)
    assert json.loads(diff_json(change))["separated"] == [["orders", "payments"]]


def test_what_range_gives_is_spread_best_and_stays_together():
    _, _, (before, after) = states([ORDERS, PAYMENTS], 2, "range", "broker-range")
    change = diff(before, after, match="member-id")
    assert (change.summary.topic_fullest, change.summary.needed_topic_fullest) == (6, 6)
    assert change.separated == ()
    assert not any(part.startswith("of one topic") for part in movement(change))


def test_a_member_alone_reads_nothing_together():
    alone = {"a": [(topic, number) for topic in ("orders", "payments") for number in range(4)]}
    apart = {
        "a": [("orders", number) for number in range(4)],
        "b": [("payments", number) for number in range(4)],
    }
    assert diff(alone, apart, match="member-id").separated == ()


def test_topics_part_when_one_of_them_grows():
    three = [Topic("a", 4), Topic("b", 4), Topic("c", 6)]
    _, _, (before,) = states(three, 2, "range")
    _, _, (after,) = states([Topic("a", 4), Topic("b", 8), Topic("c", 6)], 2, "range")
    assert diff(before, after, match="member-id").separated == (("a", "b"),)


def test_topics_are_compared_by_their_owners_alone():
    _, _, (before, after) = states([Topic("a", 5), Topic("b", 5), Topic("c", 5)], 3, "range", "range")
    assert diff(before, after, match="member-id").separated == ()


@pytest.mark.parametrize("seed", range(examples(20)))
def test_the_figure_is_that_of_quality(seed):
    rng = np.random.default_rng(seed)
    topics = [Topic(f"t{number}", int(rng.integers(1, 9))) for number in range(4)]
    read = [sorted({"t0", *(f"t{number}" for number in rng.integers(0, 4, 2))}) for _ in range(4)]
    group, answers, found = states(topics, 4, "roundrobin", "uniform", "range", subscriptions=read)
    for (before, after), answered in zip(pairwise(found), answers[1:], strict=True):
        numbers = diff(before, after, match="member-id").summary
        said = quality(group, answered)
        worst = numbers.topic_fullest, numbers.needed_topic_fullest
        assert max(0, worst[0] - worst[1]) == said.topic_excess
        assert worst == (said.topic_fullest, said.best_topic_fullest)
        assert numbers.needed_topic_fullest_exact
