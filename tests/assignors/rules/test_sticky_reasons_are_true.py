"""What the rules of the sticky strategies record is true, in every group that the JVM was asked about."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest

from assignors.interface import Reason, Step
from assignors.rules.sticky import DEFAULT_GENERATION, max_generation_of
from assignors.strategies import CooperativeStickyAssignor, StickyAssignor
from partitioning.errors import AssignorError
from tests.support.golden import golden_files, golden_lines, group_of

pytestmark = pytest.mark.sampled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignors import Assignment, Group
    from assignors.group import Member
    from assignors.interface import Recorder
    from assignors.rules.sticky import MemberData
    from partitioning.topic_partition import TopicPartition

# Nothing of this size is ever undone: see test_sticky_reasons_undone.
PLACES = {
    Reason.KEPT,
    Reason.FILLED,
    Reason.NEAR,
    Reason.BALANCED,
    Reason.SWAPPED,
    Reason.STOLEN_BACK,
    Reason.HELD_BACK,
}
CLAIMED = {
    Reason.KEPT,
    Reason.OVER_QUOTA,
    Reason.UNSUBSCRIBED,
    Reason.FAR,
    Reason.CONTESTED,
    Reason.OUTDATED,
    Reason.STOLEN_BACK,
}


class Decision(NamedTuple):
    """An answer of a rule, how it came to it, and what it knew."""

    members: dict[str, Member]
    remembered: dict[str, MemberData]
    racks: dict[TopicPartition, set[str]]
    answer: Assignment
    steps: dict[TopicPartition, list[Step]]
    highest: int

    def recorded(self, reason: Reason) -> Iterator[tuple[TopicPartition, str]]:
        """Where a step has this reason: partition and member."""
        return (
            (partition, step.member)
            for partition, steps in self.steps.items()
            for step in steps
            if step.reason is reason
        )

    def last_place(self, partition: TopicPartition) -> Step:
        return [step for step in self.steps[partition] if step.reason in PLACES][-1]


@cache
def decisions() -> list[Decision]:
    """All that the rules answered without an error."""
    return [
        decision
        for strategy in (StickyAssignor, CooperativeStickyAssignor)
        for name in golden_files(strategy.name)
        for scenario in golden_lines(name, every=160)
        for decision in _of_leader(strategy, [group_of(step) for step in scenario["steps"]])
    ]


def _of_leader(
    strategy: type[StickyAssignor | CooperativeStickyAssignor], groups: list[Group]
) -> Iterator[Decision]:
    leader, highest = strategy(), DEFAULT_GENERATION
    for group in groups:
        steps: dict[TopicPartition, list[Step]] = defaultdict(list)
        remembered = {member.id: strategy.member_data(member) for member in group.members}
        highest = max_generation_of(remembered.values(), highest)
        try:
            answer = leader.assign_recorded(group, _recorder(steps))
        except AssignorError:
            continue
        members = {member.id: member for member in group.members}
        yield Decision(members, remembered, _racks(group), answer, steps, highest)


def _recorder(steps: dict[TopicPartition, list[Step]]) -> Recorder:
    return lambda partition, reason, member: steps[partition].append(Step(reason, member))


def _racks(group: Group) -> dict[TopicPartition, set[str]]:
    return {
        (topic.name, partition): set(racks)
        for topic in group.topics
        for partition, racks in enumerate(topic.racks or ())
    }


@pytest.mark.slow
def test_every_reason_is_recorded_somewhere_but_undone() -> None:
    seen = {step.reason for decision in decisions() for steps in decision.steps.values() for step in steps}
    assert seen == PLACES | CLAIMED


def test_the_last_place_of_an_assigned_partition_is_its_owner() -> None:
    for decision in decisions():
        for member, partitions in decision.answer.items():
            for partition in partitions:
                place = decision.last_place(partition).member
                # Java assigns it twice where members claim partitions that do not exist.
                twice = partition in decision.answer[place] or partition in decision.answer.transferring
                assert place == member or twice


def test_the_last_step_of_a_partition_held_back_names_its_receiver() -> None:
    for decision in decisions():
        assert dict(decision.recorded(Reason.HELD_BACK)) == decision.answer.transferring
        for partition, receiver in decision.answer.transferring.items():
            assert decision.steps[partition][-1] == Step(Reason.HELD_BACK, receiver)


def test_what_members_keep_or_lose_they_claimed() -> None:
    for decision in decisions():
        for reason in CLAIMED:
            for partition, member in decision.recorded(reason):
                assert partition in decision.remembered[member].partitions


def test_near_is_near() -> None:
    for decision in decisions():
        for partition, member in decision.recorded(Reason.NEAR):
            assert decision.members[member].rack in decision.racks[partition]


def test_far_is_far() -> None:
    for decision in decisions():
        for partition, member in decision.recorded(Reason.FAR):
            assert decision.members[member].rack
            assert decision.members[member].rack not in decision.racks.get(partition, ())


def test_a_member_does_not_get_what_is_over_its_quota() -> None:
    for decision in decisions():
        for partition, member in decision.recorded(Reason.OVER_QUOTA):
            assert partition not in decision.answer[member]
            assert decision.answer.transferring.get(partition) != member


def test_who_is_no_longer_subscribed_is_not_subscribed() -> None:
    for decision in decisions():
        for partition, member in decision.recorded(Reason.UNSUBSCRIBED):
            assert partition.topic not in decision.members[member].topics


def test_what_is_contested_or_outdated_is_claimed_more_than_once() -> None:
    for decision in decisions():
        for reason in (Reason.CONTESTED, Reason.OUTDATED):
            for partition, _ in decision.recorded(reason):
                claims = [data.partitions for data in decision.remembered.values()]
                assert sum(list(claim).count(partition) for claim in claims) > 1


def test_what_is_stolen_back_was_claimed_in_an_earlier_generation() -> None:
    for decision in decisions():
        for _, member in decision.recorded(Reason.STOLEN_BACK):
            generation = decision.remembered[member].generation
            assert (-1 if generation is None else generation) < decision.highest
