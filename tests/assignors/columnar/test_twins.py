"""The rule and the columns of every strategy agree, on groups that nobody thought of; no JVM is asked."""

from __future__ import annotations

import uuid
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors import Group, Member, Topic
from assignors.columnar.numbering import OddGroup
from assignors.group import StickyUserData
from assignors.partition_list import PartitionList
from assignors.strategies import (
    BrokerRangeAssignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    UniformAssignor,
)
from partitioning.errors import AssignorError
from tests.support.agreement import Difference, assert_agree, differing
from tests.support.invented_groups import PLAIN, TRAPS, Inventor
from tests.support.tiers import examples, sample
from tools.oracle.assignors.hash_orders import equal_hashes

STICKY = [StickyAssignor, CooperativeStickyAssignor]
BROKER = [UniformAssignor, BrokerRangeAssignor]
KEEPING = [*STICKY, UniformAssignor]
STRATEGIES = [RangeAssignor, RoundRobinAssignor, *STICKY, *BROKER]
NO_GENERATION = -1
NAMES = {"plain": PLAIN, "traps": TRAPS}
REBALANCES = 3


def decided(decide, group, highest):
    """What a rule or columns answer, and the highest generation that a sticky leader has seen by then."""
    if decide in [function for strategy in STICKY for function in (strategy.rule, strategy.columns)]:
        return decide(group, highest)
    return decide(group), highest


def everything(answer):
    """All that an answer says, by name; dictionaries are equal in any order, so the order has a name, too."""
    assignment, highest = answer
    return {
        **{member: list(partitions) for member, partitions in assignment.items()},
        **{f"{partition} waits for": member for partition, member in assignment.transferring.items()},
        "members": list(assignment),
        "unassigned": sorted(assignment.unassigned),
        "keeps its record": assignment.keeps_record,
        "highest generation": highest,
    }


def twins_difference(strategy, group, highest, answer):
    """Where the columns' answer to a group differs from the rule's; None if it does not."""
    answers = differing(everything(decided(strategy.rule, group, highest)), everything(answer))
    told = [f"highest generation seen {highest}", *map(str, group.topics), *map(str, group.members)]
    return Difference(f"{strategy.name}, an invented group", 0, told, answers) if answers else None


def life(strategy, inventor, highest, odd):
    """One leader's rebalances: each group, the highest generation before it, and the columns' answer.

    The answer is None where the columns leave it to the rule; where that fails too the life is over.

    Args:
        strategy: the strategy.
        inventor: invents what happens.
        highest: the highest generation that the leader has seen.
        odd: how often a member says what no coordinator lets it say.
    """
    group = inventor.new_group()
    for _ in range(REBALANCES):
        if inventor.rng.random() < odd:
            group = inventor.tampered(group)
        try:
            answer = decided(strategy.columns, group, highest)
        except OddGroup:
            answer = None
        yield group, highest, answer
        try:
            assignment, highest = answer or decided(strategy.rule, group, highest)
        except AssignorError:
            return
        group = inventor.next_group(group, assignment)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
@settings(max_examples=examples(500), deadline=None)
@given(
    rng=st.randoms(use_true_random=True),
    names=st.sampled_from([*NAMES]),
    size=st.integers(1, 8),
    highest=st.integers(NO_GENERATION, 3),
    odd=st.sampled_from([0, 0.5]),
)
def test_the_columns_answer_as_the_rule(strategy, rng, names, size, highest, odd):
    for group, seen, answer in life(strategy, Inventor(rng, NAMES[names], size), highest, odd):
        # How many groups the columns answer, the next test counts.
        assert_agree([answer and twins_difference(strategy, group, seen, answer)], "rule")


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
def test_the_columns_answer_ordinary_groups(strategy):
    """Else the rule would answer, as right and much later, and nobody would notice."""
    answered = [
        answer is not None
        for seed in sample(range(100), 5)
        for *_, answer in life(strategy, Inventor(Random(seed), PLAIN, 8), NO_GENERATION, odd=0)
    ]
    assert answered.count(True) >= 0.95 * len(answered), answered.count(True) / len(answered)


def claiming(name, topics, numbers=(), generation=1):
    """A member that claims partitions of the topic t, however its strategy hears of it."""
    owned = PartitionList.of([("t", number) for number in numbers])
    data = StickyUserData(owned, generation)
    return Member(name, topics, owned=owned, generation=generation, user_data=data)


def two(a, b, *, topics=(["t"], ["t"]), generations=(1, 1)):
    """A group of two that claim partitions of a topic that has four."""
    first, second = map(claiming, ("a", "b"), topics, (a, b), generations)
    return Group([Topic("t", 4), Topic("u", 3)], [first, second])


def circling():
    """Two members join three, and balance never comes."""
    topics = [Topic("t0", 3), Topic("t1", 3), Topic("t2", 2), Topic("t3", 8)]
    first = Group(topics, [Member("m0", ["t1", "t2"]), Member("m1", ["t1"]), Member("m2", ["t0", "t3"])])
    joining = [Member("n0", ["t1", "t3"]), Member("n1", ["t0", "t2", "t3"])]
    return first.next(StickyAssignor().assign(first), join=joining)


DIFFERENT = ["t"], ["t", "u"]
FORMER_OWNER = Group(
    [Topic("t", 9), Topic("u", 1)],
    [claiming("former", ["u"], [0]), claiming("full", ["t"], range(1, 9), 2), claiming("empty", ["t"])],
)
CROWDED = [Topic(f"t{number}", 1, id=uuid.UUID(int=number << 64 | number)) for number in range(1, 70)]
CROWDED_IDS = Group(
    CROWDED, [Member(f"m{first}", [topic.name for topic in CROWDED[first:]]) for first in (0, 1)]
)
ODD = {
    "a partition past the end": (KEEPING, two([0, 4], [1])),
    "a partition past the end, other topics": (KEEPING, two([0, 4], [1], topics=DIFFERENT)),
    "a partition below zero": (KEEPING, two([-1], [1])),
    "two claims in one generation": (KEEPING, two([0, 1], [1, 2])),
    "two claims in two generations": (KEEPING, two([0, 1], [1, 2], generations=(1, 2))),
    "two claims, other topics": (KEEPING, two([0, 1], [1, 2], topics=DIFFERENT)),
    "a partition claimed twice by one member": (KEEPING, two([0, 0], [1])),
    "a topic named twice": (STRATEGIES, two([], [], topics=(["t", "t"], ["t", "u"]))),
    "a topic named twice by everybody": (STRATEGIES, two([], [], topics=(["t", "t"], ["t", "t"]))),
    "one member without topics": (STICKY, two([], [], topics=([], ["t"]))),
    "no members": ([RoundRobinAssignor, *STICKY], Group([Topic("t", 4)], [])),
    "a former owner that takes no part": (STICKY, FORMER_OWNER),
    "a balance that never comes": (STICKY, circling()),
    "topic ids with one hash": ([UniformAssignor], CROWDED_IDS),
}
ORDINARY = {
    "topic ids with one hash": ([BrokerRangeAssignor], CROWDED_IDS),
    "a stale generation": (STRATEGIES, two([0], [1], generations=(1, 2))),
    "a stale generation, other topics": (STRATEGIES, two([0], [1], topics=DIFFERENT, generations=(1, 2))),
    "no generation": (STRATEGIES, two([0], [1], generations=(None, None))),
    "a topic that does not exist": (STRATEGIES, two([], [], topics=(["t", "v"], ["v"]))),
    "one member without topics": (
        [RangeAssignor, RoundRobinAssignor, *BROKER],
        two([], [], topics=([], ["t"])),
    ),
    "nobody with topics": (STRATEGIES, two([], [], topics=([], []))),
    "numbers with one place in a HashSet": (
        BROKER,
        Group(
            [Topic("t", 640)],
            [
                claiming("a", ["t"], range(0, 640, 64)),
                claiming("b", ["t"], range(1, 640, 16)),
                claiming("c", ["t"]),
            ],
        ),
    ),
    "member ids with one hash": (
        STRATEGIES,
        Group([Topic("t", 40)], [Member(name, ["t"]) for name in equal_hashes(5)]),
    ),
}


def each_with_its_strategies(groups):
    return pytest.mark.parametrize(
        ("strategy", "group"),
        [
            pytest.param(strategy, group, id=f"{name}, {strategy.name}")
            for name, (strategies, group) in groups.items()
            for strategy in STRATEGIES
            if strategy in strategies
        ],
    )


@each_with_its_strategies(ODD)
def test_the_columns_leave_odd_groups_to_the_rule(strategy, group):
    with pytest.raises(OddGroup):
        decided(strategy.columns, group, NO_GENERATION)


@each_with_its_strategies(ORDINARY)
def test_the_columns_answer_for_a_leader_that_has_seen_more(strategy, group):
    """Its highest generation is above those of its members, which need not be odd for that."""
    highest = 9
    answer = decided(strategy.columns, group, highest)
    assert_agree([twins_difference(strategy, group, highest, answer)], "rule")
