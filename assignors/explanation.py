"""Explains why a partition has its owner, or has no owner yet, by the steps of the decision itself."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from assignors.assignment import Assignment
from assignors.group import Group
from assignors.interface import Assignor, Reason, RecordingAssignor, Step
from assignors.registry import get_assignor
from partitioning.kit.packages import read_toml
from partitioning.plug_ins import call_plug_in
from partitioning.topic_partition import TopicPartition


def settle(decide: Callable[[Group], Assignment], group: Group, follow_ups: int) -> tuple[Group, Assignment]:
    """Rebalance until no partition is held back; return the group at the last rebalance, and its assignment.

    Args:
        decide: returns the assignment of a group.
        group: the group at the first rebalance.
        follow_ups: the most rebalances that may follow the first one.
    """
    assignment = decide(group)
    # In a cooperative group members rejoin at once for the partitions that are held back.
    for _ in range(follow_ups):
        if not assignment.transferring:
            break
        group = group.next(assignment)
        assignment = decide(group)
    return group, assignment


_TEXTS: dict[str, dict[str, str]] = read_toml(__package__, "explanation.toml")
_LOST, _PLACED = (
    {Reason[name.upper()]: text for name, text in _TEXTS[kind].items()} for kind in ("lost", "placed")
)
"""Texts for the steps that take a partition from a member, and for those that give it to one."""

_FREED = _LOST.keys() - {Reason.OUTDATED}
"""The reasons by which a partition becomes free."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Explains why a partition has its owner; `str` makes a sentence of an explanation.

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> why = explain(group, get_assignor("range").assign(group), ("orders", 3), assignor="range")
    >>> why.owner, why.reason.value, why.share
    ('b', 'range', (2,))

    Attributes:
        partition: the partition that is explained.
        reason: the reason of the last step that gave the partition to its owner.
        owner: the member that has the partition now or, if it is held back, gets it in the next rebalance;
            None for none.
        previous: the member that had the partition before, as the assignor sees it; None if no member had
            the partition, or several members claimed it.
        size: how many partitions the owner has in this assignment.
        share: the one or two numbers of partitions that are a fair share; None if subscriptions differ, so
            that there is no fair share.
        steps: the steps of the decision about this partition, in order. If the reason is `NOT_TOLD`, they are
            those of a fresh leader, which decides differently, or empty if the assignor records no steps or
            steps that do not fit its answer.
    """

    partition: TopicPartition
    reason: Reason
    owner: str | None
    previous: str | None
    size: int
    share: tuple[int, ...] | None
    steps: tuple[Step, ...] = ()

    @property
    def cause(self) -> Reason:
        """The reason why another member lost the partition, if there is one; else `reason`."""
        if self.reason not in {Reason.FILLED, Reason.NEAR, Reason.UNDONE}:
            return self.reason
        # A step by which the owner itself lost the partition is not the cause, because the owner got the
        # partition back.
        freed = (step for step in self._losses() if step.reason in _FREED and step.member != self.owner)
        return next((step.reason for step in freed), self.reason)

    def __str__(self) -> str:
        if self.reason is Reason.NOBODY:
            return f"nobody subscribes to {self.partition}, or it does not exist"
        sentence = self._no_step_sentence() if self.reason is Reason.NOT_TOLD else self._sentence()
        if self.owner is None:
            return sentence
        share = "" if self.share is None else f" of a share of {' or '.join(map(str, self.share))}"
        return f"{sentence} ({self.owner!r} has {self.size}{share})"

    def _no_step_sentence(self) -> str:
        outcome = f"{self.partition} is given to {'nobody' if self.owner is None else repr(self.owner)}"
        if self.steps:
            return f"{outcome}, which is not what a fresh leader decides for this group"
        return f"{outcome}, and the assignor does not tell why"

    def _sentence(self) -> str:
        returns = self.previous == self.owner
        holder = self._holder()
        placed = _PLACED[self.reason].format(
            partition=self.partition,
            owner=repr(self.owner),
            goes="returns" if returns else "goes",
            moves="returns" if returns else "moves",
            few="the fewest" if self.share is None else "too few",
            holder="the member that had it" if holder is None else repr(holder),
            claimants=self._claimants(),
        )
        if self.reason is Reason.HELD_BACK:
            return placed
        lost = [_LOST[step.reason].format(member=repr(step.member)) for step in self._losses()]
        return "; ".join(dict.fromkeys([placed, *lost]))

    def _losses(self) -> list[Step]:
        """Return the steps that took the partition from a member.

        Contests are left out if a claim of a later generation won in the end. Outdated claims of the owner
        are left out, too.
        """
        won = self.previous is not None
        void = {(Reason.OUTDATED, self.owner)}
        return [
            step
            for step in self.steps
            if step.reason in _LOST and step not in void and not (won and step.reason is Reason.CONTESTED)
        ]

    def _holder(self) -> str | None:
        """Return the member that had the partition before its owner got it."""
        before = [step.member for step in self.steps if step.reason in _PLACED and step.member != self.owner]
        return before[-1] if before else None

    def _claimants(self) -> str:
        """Return, as text, the members that must give the partition up before its owner gets it."""
        if any(step.reason is Reason.CONTESTED for step in self.steps):
            return "everybody who claims it"
        claims = {Reason.KEPT, *_FREED}
        members = [step.member for step in self.steps if step.reason in claims and step.member != self.owner]
        return " and ".join(map(repr, dict.fromkeys(members))) or "the member that has it"


def explain(
    group: Group,
    assignment: Assignment,
    partition: TopicPartition | tuple[str, int],
    *,
    assignor: str | Assignor,
) -> Explanation:
    """Explain why a partition has its owner; for many partitions use an `Explainer`.

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> print(explain(group, get_assignor("range").assign(group), ("orders", 3), assignor="range"))
    orders-3 lies in the range of its topic that goes to 'b' ('b' has 2 of a share of 2)

    Args:
        group: the group that the assignment was made for.
        assignment: the assignment.
        partition: the partition to explain.
        assignor: the assignor that decides again: a name, which stands for a fresh leader, or an assignor.

    Raises:
        UnknownStrategyError: there is no assignor of this name.
        AssignorError: the assignor cannot assign this group.
    """
    return Explainer(group, assignment, assignor=assignor).explain(partition)


class Explainer:
    """Explains the partitions of one assignment.

    At the first question the assignor decides the group again and records its steps.

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> explainer = Explainer(group, get_assignor("range").assign(group), assignor="range")
    >>> [explainer.explain(("orders", number)).owner for number in range(4)]
    ['a', 'a', 'b', 'b']

    Args:
        group: the group that the assignment was made for.
        assignment: the assignment.
        assignor: the assignor that decides again: a name, which stands for a fresh leader, or an assignor.
        follow_ups: the greatest number of rebalances that may follow the first. A cooperative group needs
            another rebalance for partitions that the first one held back; the assignment is the last answer.
    """

    def __init__(
        self, group: Group, assignment: Assignment, *, assignor: str | Assignor, follow_ups: int = 0
    ) -> None:
        self._group = group
        self._assignment = assignment
        self._assignor = assignor
        self._follow_ups = follow_ups

    def explain(self, partition: TopicPartition | tuple[str, int]) -> Explanation:
        """Explain why a partition has its owner.

        Raises:
            UnknownStrategyError: there is no assignor of this name.
            AssignorError: the assignor cannot assign this group.
        """
        partition = TopicPartition(*partition)
        owner = self._assignment.owner_of(partition)
        receiver = self._assignment.transferring.get(partition)
        if owner is None and receiver is None and not self._is_subscribed(partition):
            return Explanation(partition, Reason.NOBODY, None, None, 0, None)
        # The assignor records no steps, so only the owner is known.
        if self._decision is None:
            return self._explanation(partition, Reason.NOT_TOLD, receiver or owner, ())
        decided, steps_of = self._decision
        steps = tuple(steps_of.get(partition, ()))
        fresh_receiver = decided.transferring.get(partition)
        # If the answer differs, another leader made the assignment, or a leader with a memory, so the steps
        # are not known. A receiver of None is no difference, because a live group does not show which member
        # waits for a partition.
        if decided.owner_of(partition) != owner or receiver not in {None, fresh_receiver}:
            return self._explanation(partition, Reason.NOT_TOLD, receiver or owner, steps)
        owner = fresh_receiver or owner
        placed = [step.reason for step in steps if step.reason in _PLACED and step.member == owner]
        # An assignor that is not built in may record steps that do not lead to its answer.
        if not placed or (placed[-1] is Reason.HELD_BACK) != (fresh_receiver is not None):
            return self._explanation(partition, Reason.NOT_TOLD, owner, ())
        return self._explanation(partition, placed[-1], owner, steps)

    def _explanation(
        self, partition: TopicPartition, reason: Reason, owner: str | None, steps: tuple[Step, ...]
    ) -> Explanation:
        """Return the explanation of a partition, with the size of its owner's list and a fair share."""
        size = 0 if owner is None else len(self._assignment.get(owner, ()))
        return Explanation(partition, reason, owner, _previous(steps), size, self._share, steps)

    @cached_property
    def _decision(self) -> tuple[Assignment, dict[TopicPartition, list[Step]]] | None:
        """The assignor's answer and the steps that it recorded; None if it does not record."""
        leader = get_assignor(self._assignor) if isinstance(self._assignor, str) else self._assignor
        if not isinstance(leader, RecordingAssignor):
            return None
        steps_of: dict[TopicPartition, list[Step]] = {}

        def decide(group: Group) -> Assignment:
            recorded: defaultdict[TopicPartition, list[Step]] = defaultdict(list)

            def record(partition: TopicPartition, reason: Reason, member: str) -> None:
                recorded[partition].append(Step(reason, member))

            assignment = call_plug_in(f"assignor {leader.name!r}", leader.assign_recorded, group, record)
            for partition, steps in recorded.items():
                before = steps_of.get(partition)
                # Steps of follow-up rebalances continue the steps of the first rebalance, which say why the
                # partition left its old owner.
                steps_of[partition] = steps if before is None else _continue_steps(before, steps)
            return assignment

        _, assignment = settle(decide, self._group, self._follow_ups)
        return assignment, steps_of

    def _is_subscribed(self, partition: TopicPartition) -> bool:
        """Return whether the partition exists and its topic has a subscriber."""
        return 0 <= partition.partition < self._counts.get(partition.topic, 0)

    @cached_property
    def _counts(self) -> dict[str, int]:
        """Topic -> number of partitions, for each topic with a subscriber."""
        subscribed = {topic for member in self._group.members for topic in member.topics}
        return {topic.name: topic.partitions for topic in self._group.topics if topic.name in subscribed}

    @cached_property
    def _share(self) -> tuple[int, ...] | None:
        """The one or two sizes that are a fair share; None without members or if subscriptions differ."""
        members = self._group.members
        if not members:
            return None
        topics = set(members[0].topics)
        if any(set(member.topics) != topics for member in members):
            return None
        least, extras = divmod(sum(self._counts.values()), len(members))
        return (least, least + 1) if extras else (least,)


def _continue_steps(before: list[Step], after: list[Step]) -> list[Step]:
    """Return the steps of two rebalances as one list.

    If the second rebalance leaves a partition with its member, or gives it to the member that waited for it,
    the steps of the second rebalance are left out: those of the first one say why the member has it.
    """
    moved = [step for step in before if step.reason is not Reason.HELD_BACK]
    as_promised = _last_placed(before) == _last_placed(after) and after[-1].reason is not Reason.HELD_BACK
    return moved if as_promised else moved + after


def _last_placed(steps: Sequence[Step]) -> str | None:
    """Return the member that got the partition last; None if no step gave it to a member."""
    return next((step.member for step in reversed(steps) if step.reason in _PLACED), None)


def _previous(steps: Sequence[Step]) -> str | None:
    """Return the member whose claim on the partition counted; None if no claim counted.

    A contest makes earlier claims void, so only a claim after it can have counted.
    """
    previous = None
    for reason, member in steps:
        if reason is Reason.CONTESTED:
            previous = None
        elif previous is None and (reason is Reason.KEPT or reason in _FREED):
            previous = member
    return previous
