"""The fewest moves that a change needed: held to brute force and to another solver."""

from dataclasses import replace

import numpy as np
import pytest

from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import DiffError, diff, parse_check
from tests.assignors.optimal.solver import brute_most_kept, random_group, solved_most_kept
from tests.support.tiers import examples


def state(owner, topic, members, *, subscriptions=None, members_complete=True):
    """Partitions with their topics and owners; unowned ones are nobody's."""
    count = int(topic.max(initial=0)) + 1
    partition = np.zeros(len(topic), np.int32)
    for topic_number in range(count):
        partition[topic == topic_number] = np.arange(np.count_nonzero(topic == topic_number))
    topics = [None] * members if subscriptions is None else subscriptions
    return GroupState(
        tuple(
            MemberIdentity(
                f"m{number}",
                topics=None if some is None else tuple(f"t{topic_number}" for topic_number in some),
            )
            for number, some in enumerate(topics)
        ),
        tuple(f"t{topic_number}" for topic_number in range(count)),
        owner.astype(np.int32),
        topic.astype(np.int32),
        partition,
        complete=True,
        members_complete=members_complete,
    )


def random_change(rng, **size):
    """A group, and a valid assignment of it: what was, what is, what everybody subscribes to."""
    topic, holder, subscriptions = random_group(rng, **size)
    readers = [
        [member for member, some in enumerate(subscriptions) if topic_number in some]
        for topic_number in topic.tolist()
    ]
    after = [rng.choice(some) if some else -1 for some in readers]
    return topic, holder, np.array(after, np.int64), subscriptions


def summary(topic, before, after, subscriptions):
    count = len(subscriptions)
    states = state(before, topic, count), state(after, topic, count, subscriptions=subscriptions)
    return diff(*states, match="member-id").summary


def fewest(topic, holder, after, subscriptions, most_kept):
    """By the definition: every load between the fewest and the most of after."""
    loads = np.bincount(after[after >= 0], minlength=len(subscriptions))
    kept = most_kept(topic, holder, subscriptions, loads.min(), loads.max())
    read = np.isin(topic, sorted(set().union(*subscriptions)))
    return int(np.count_nonzero(read & (holder >= 0))) - kept


@pytest.mark.parametrize("equal", [True, False])
def test_as_brute_force_on_tiny_groups(equal):
    rng = np.random.default_rng(13)
    avoidable = 0
    for _ in range(examples(1_000)):
        change = random_change(rng, members=4, topics=3, partitions=8, equal=equal)
        numbers = summary(*change)
        assert numbers.needed_moves == fewest(*change, brute_most_kept), change
        assert numbers.needed_moves_exact
        assert numbers.needed_moves <= numbers.moved
        avoidable += numbers.avoidable_moves > 0
    assert avoidable > examples(1_000) // 8


@pytest.mark.slow
def test_as_a_linear_program_on_medium_groups():
    rng = np.random.default_rng(14)
    for number in range(examples(200)):
        change = random_change(rng, members=20, topics=8, partitions=200, equal=number % 2 == 0, fewest=1)
        assert summary(*change).needed_moves == fewest(*change, solved_most_kept), change


def test_without_subscriptions_the_number_is_a_lower_bound():
    rng = np.random.default_rng(15)
    lower = 0
    for _ in range(examples(500)):
        topic, before, after, subscriptions = random_change(
            rng, members=4, topics=3, partitions=8, equal=False
        )
        known = summary(topic, before, after, subscriptions)
        unknown = summary(topic, before, after, [None] * len(subscriptions))
        read = np.isin(topic, sorted(set().union(*subscriptions)))
        if read.all():
            assert unknown.needed_moves <= known.needed_moves
            assert unknown.needed_moves_exact == (unknown.needed_moves == unknown.moved)
            lower += unknown.needed_moves < known.needed_moves
    assert lower > examples(500) // 10


TWO = np.zeros(4, np.int64)


def test_a_worse_balance_needs_no_moves():
    numbers = summary(TWO, np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), [[0], [0]])
    assert (numbers.moved, numbers.needed_moves, numbers.avoidable_moves) == (1, 0, 1)


def test_what_those_who_are_gone_had_must_move():
    before = state(np.array([0, 0, 1, 1]), TWO, 2)
    after = state(np.array([0, 0, 0, 0]), TWO, 1, subscriptions=[[0]])
    numbers = diff(before, after, match="member-id").summary
    assert (numbers.needed_moves, numbers.needed_moves_exact) == (2, True)


def test_a_member_that_was_not_seen_after_may_have_kept_what_it_had():
    before = state(np.array([0, 0, 1, 1]), TWO, 2)
    after = state(np.array([0, 0, 0, 0]), TWO, 1, members_complete=False)
    numbers = diff(before, after, match="member-id").summary
    assert (numbers.needed_moves, numbers.needed_moves_exact) == (0, False)


def test_nothing_is_known_where_a_partition_has_two_owners_after():
    before = state(np.array([0, 1]), np.zeros(2, np.int64), 2)
    after = GroupState(
        before.members,
        before.topics,
        np.array([0, 1, 1], np.int32),
        np.zeros(3, np.int32),
        np.array([0, 0, 1], np.int32),
    )
    numbers = diff(before, after, match="member-id").summary
    assert (numbers.needed_moves, numbers.avoidable_moves) == (None, None)
    with pytest.raises(DiffError, match="needed_moves is unknown"):
        parse_check("needed_moves<=1").passes(numbers)


def test_nothing_is_known_where_no_valid_assignment_is_as_balanced():
    """Both topics are nobody's but one's, who has too many."""
    topic = np.array([0, 0, 1, 1])
    numbers = summary(topic, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), [[0, 1], []])
    assert (numbers.moved, numbers.needed_moves) == (2, None)


@pytest.mark.parametrize(
    ("after", "complete"),
    [([0, 0], True), ([0, 0], False), ([0, 0, -1], True)],
    ids=["removed", "no row", "nobody's"],
)
def test_a_partition_that_nobody_has_after_is_no_move(after, complete):
    before = state(np.array([0, 0, 0]), np.zeros(3, np.int64), 1)
    sides = before, replace(state(np.array(after), np.zeros(len(after), np.int64), 1), complete=complete)
    numbers = diff(*sides, match="member-id").summary
    assert (numbers.moved, numbers.needed_moves, numbers.needed_moves_exact) == (0, 0, True)


def test_the_fullest_member_is_held_to_the_best_loads():
    rng = np.random.default_rng(17)
    fuller = 0
    for number in range(examples(200)):
        change = random_change(rng, members=5, topics=4, partitions=9, equal=number % 4 == 0)
        topic, _, after, subscriptions = change
        numbers = summary(*change)
        nobody = np.full(len(topic), -1)
        room = range(len(topic) + 1)
        least = next(
            most for most in room if brute_most_kept(topic, nobody, subscriptions, 0, most) is not None
        )
        loads = np.bincount(after[after >= 0], minlength=len(subscriptions))
        assert (numbers.fullest, numbers.needed_fullest) == (loads.max(), least), change
        assert numbers.needed_fullest_exact
        fuller += numbers.fullest > least
    assert fuller > examples(200) // 20


def test_without_subscriptions_the_fullest_member_needs_at_least_so_many():
    topic, owner = np.zeros(4, np.int64), np.array([0, 0, 0, 1])
    numbers = diff(*[state(owner, topic, 2)] * 2, match="member-id").summary
    assert (numbers.fullest, numbers.needed_fullest, numbers.needed_fullest_exact) == (3, 2, False)
    with pytest.raises(DiffError, match="needed_fullest is at least 2, the inputs do not show it exactly"):
        parse_check("needed_fullest<=2").passes(numbers)


def test_members_that_may_be_there_unseen_leave_the_fullest_unknown():
    topic, owner = np.zeros(4, np.int64), np.array([0, 0, 0, 1])
    hidden = state(owner, topic, 2, subscriptions=[[0], [0]], members_complete=False)
    assert diff(hidden, hidden, match="member-id").summary.needed_fullest is None
