"""What a rule says of its steps is so, in every group the JVM was asked about."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import pytest

from assignors.group import Group, Member, Topic
from assignors.interface import Reason
from assignors.rules.uniform import assign_uniform
from assignors.strategies import BrokerRangeAssignor, RangeAssignor, RoundRobinAssignor, UniformAssignor
from tests.support.golden import golden_files, golden_lines, group_of

pytestmark = pytest.mark.sampled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignors.assignment import Assignment
    from partitioning.topic_partition import TopicPartition

    Step = tuple[TopicPartition, Reason, str]

GIVEN_UP = {Reason.OVER_QUOTA, Reason.UNSUBSCRIBED}
RULES = {
    strategy.name: strategy.rule
    for strategy in (RangeAssignor, RoundRobinAssignor, UniformAssignor, BrokerRangeAssignor)
}
every_rule = pytest.mark.parametrize("assignor", RULES)


@dataclass
class Decision:
    group: Group
    answer: Assignment
    steps: list[Step]

    @cached_property
    def members(self) -> dict[str, Member]:
        return {member.id: member for member in self.group.members}

    @cached_property
    def topics(self) -> dict[str, Topic]:
        return {topic.name: topic for topic in self.group.topics if topic.partitions}

    @cached_property
    def subscriptions_are_equal(self) -> bool:
        return len({frozenset(member.topics) for member in self.group.members}) == 1

    @cached_property
    def largest_share(self) -> int:
        return -(-sum(map(len, self.answer.values())) // len(self.answer))

    def subscribers(self, topic: str) -> list[str]:
        return [member.id for member in self.group.members if topic in member.topics]


def decide(rule: Callable[..., Assignment], group: Group) -> Decision:
    steps: list[Step] = []
    return Decision(group, rule(group, lambda *step: steps.append(step)), steps)


@cache
def decisions(assignor: str) -> list[Decision]:
    """What a rule decided and said of every group the JVM answered for."""
    return [
        decide(RULES[assignor], group_of(step))
        for name in golden_files(assignor)
        for scenario in golden_lines(name, every=160)
        for step in scenario["steps"]
        if "error" not in step
    ]


def steps_with(assignor: str, reason: Reason) -> Iterator[tuple[Decision, Member, TopicPartition]]:
    """The steps with one reason; there are some."""
    found = False
    for decision in decisions(assignor):
        members = decision.members
        for partition, step_reason, member in decision.steps:
            if step_reason is reason:
                found = True
                yield decision, members[member], partition
    assert found


@every_rule
def test_the_last_step_about_a_partition_names_the_member_that_has_it(assignor: str) -> None:
    for decision in decisions(assignor):
        last = {partition: (reason, member) for partition, reason, member in decision.steps}
        owners = {partition: member for partition, (reason, member) in last.items() if reason not in GIVEN_UP}
        assert owners == {
            partition: member for member, partitions in decision.answer.items() for partition in partitions
        }


def test_what_was_kept_its_member_had_and_subscribes_to() -> None:
    for _, member, partition in steps_with("uniform", Reason.KEPT):
        assert partition in member.owned
        assert partition.topic in member.topics


def test_what_is_over_quota_its_member_had_and_loses() -> None:
    for decision, member, partition in steps_with("uniform", Reason.OVER_QUOTA):
        assert partition in member.owned
        assert partition not in decision.answer[member.id]


def test_who_gives_up_over_quota_has_its_share() -> None:
    for decision, member, _ in steps_with("uniform", Reason.OVER_QUOTA):
        share = sum(decision.topics[name].partitions for name in set(member.topics) & set(decision.topics))
        assert len(decision.answer[member.id]) >= share // len(decision.group.members)


def test_what_is_given_up_unsubscribed_is_of_a_topic_its_member_does_not_read() -> None:
    for decision, member, partition in steps_with("uniform", Reason.UNSUBSCRIBED):
        assert partition in member.owned
        assert partition.topic not in set(member.topics) & set(decision.topics)


def test_near_is_near() -> None:
    for decision, member, partition in steps_with("range", Reason.NEAR):
        racks = decision.topics[partition.topic].racks
        assert racks is not None
        assert member.rack in racks[partition.partition]


@every_rule
def test_what_a_rule_gives_for_being_next_its_member_subscribes_to(assignor: str) -> None:
    for decision in decisions(assignor):
        members = decision.members
        for partition, reason, member in decision.steps:
            assert reason in GIVEN_UP or partition.topic in members[member].topics


@pytest.mark.parametrize("assignor", ["range", "broker-range"])
def test_ranges_are_ranges_where_nothing_is_near(assignor: str) -> None:
    for decision in decisions(assignor):
        reasons = {reason for _, reason, _ in decision.steps}
        for partitions in decision.answer.values() if reasons == {Reason.RANGE} else ():
            for topic in {partition.topic for partition in partitions}:
                numbers = sorted(partition.partition for partition in partitions if partition.topic == topic)
                assert numbers == list(range(numbers[0], numbers[-1] + 1))


def test_turns_go_round_the_whole_group_where_subscriptions_are_equal() -> None:
    equal = [decision for decision in decisions("roundrobin") if decision.subscriptions_are_equal]
    assert equal
    for decision in equal:
        turns = [member for _, _, member in decision.steps]
        circle = len(decision.group.members)
        assert len(set(turns[:circle])) == len(turns[:circle])
        assert turns[circle:] == turns[:-circle]


def test_what_fills_a_member_was_free_and_the_member_had_fewest_or_too_few() -> None:
    for decision, sizes, owner, member, topic in replayed(Reason.FILLED):
        assert owner is None
        if decision.subscriptions_are_equal:
            assert sizes[member] < decision.largest_share
        else:
            assert sizes[member] == min(sizes[subscriber] for subscriber in decision.subscribers(topic))


def test_what_is_balanced_comes_from_a_member_with_two_more() -> None:
    for _, sizes, owner, member, _ in replayed(Reason.BALANCED):
        assert owner is not None
        assert sizes[owner] - sizes[member] >= 2


def replayed(wanted: Reason) -> Iterator[tuple[Decision, Counter[str], str | None, str, str]]:
    """The steps of uniform with this reason; there are some.

    With each come the sizes before it, who had the partition, who gets it, and its topic.
    """
    found = False
    for decision in decisions("uniform"):
        sizes: Counter[str] = Counter()
        owners: dict[TopicPartition, str] = {}
        for partition, reason, member in decision.steps:
            owner = owners.get(partition)
            if reason is wanted:
                found = True
                yield decision, sizes, owner, member, partition.topic
            if reason in GIVEN_UP:
                continue
            if owner is not None:
                sizes[owner] -= 1
            owners[partition] = member
            sizes[member] += 1
    assert found


def test_members_that_keep_all_six_partitions_keep_them() -> None:
    owned = {"a": [0, 1, 2], "b": [3, 4, 5]}
    members = [Member(who, ["t"], owned=[("t", number) for number in owned[who]]) for who in owned]
    decision = decide(assign_uniform, Group([Topic("t", 6)], members))
    assert [reason for _, reason, _ in decision.steps] == [Reason.KEPT] * 6


def test_two_members_that_have_the_same_partition_both_keep_it_where_subscriptions_differ() -> None:
    members = [Member("a", ["t"], owned=[("t", 0)]), Member("b", ["t", "u"], owned=[("t", 0)])]
    decision = decide(assign_uniform, Group([Topic("t", 1)], members))
    assert sorted(decision.steps) == [(("t", 0), Reason.KEPT, "a"), (("t", 0), Reason.KEPT, "b")]
    assert decision.answer == {"a": [("t", 0)], "b": [("t", 0)]}
