"""Which joins break when a topic grows, and what must grow with it."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from copartition.topics.join.facts import checked_topics
from partitioning.errors import InvalidConfigError
from partitioning.growth import expected_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True)
class PlannedJoin:
    """A join, before topics grow and after.

    Attributes:
        topics: its topics.
        before: their partition counts now.
        after: their counts once those grow that the plan names, and no others.
        fate: "breaks": counts were equal and are not; "broken": they are not equal now and are not after;
            "moves": counts are equal, but keys change partitions, so that their records to come do not meet
            those there are; "untouched": no topic of it grows.
    """

    topics: tuple[str, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    fate: Literal["breaks", "broken", "moves", "untouched"]


@dataclass(frozen=True)
class MustGrow:
    """A topic that must grow for joins to keep.

    Attributes:
        topic: its name.
        before: its partition count now.
        planned: what the plan gives it.
        needed: what it must have.
        moved: share of its keys that change partitions, of a rule that spreads keys evenly.
    """

    topic: str
    before: int
    planned: int
    needed: int
    moved: float


@dataclass(frozen=True)
class GrowthPlan:
    """What growing topics does to the joins of a set.

    Attributes:
        plan: the new partition counts, by topic.
        joins: every join of the set.
        grow: all topics that have to grow, those of the plan too, with the count that keeps every join.
    """

    plan: Mapping[str, int]
    joins: tuple[PlannedJoin, ...]
    grow: tuple[MustGrow, ...]

    @property
    def answer(self) -> Literal["yes", "no"]:
        """Whether no join of the set is touched."""
        return "yes" if all(join.fate == "untouched" for join in self.joins) else "no"


def plan_growth(
    joins: Sequence[Sequence[str]], counts: Mapping[str, int], plan: Mapping[str, int]
) -> GrowthPlan:
    """Which joins break when topics grow, and what must grow with them.

    Args:
        joins: of each join, its topics.
        counts: partition counts now, by topic.
        plan: partition counts then, of the topics that grow.

    Raises:
        InvalidConfigError: a join of fewer than two topics, a topic of which no count is given, or a plan for
            a topic that no join has.
        InvalidPartitionCountError: a count is out of range, or lower than now.
    """
    listed_joins = [checked_topics(join) for join in joins]
    topics = dict.fromkeys(topic for join in listed_joins for topic in join)
    for topic in topics:
        if topic not in counts:
            raise InvalidConfigError(f"how many partitions has {topic}? no count is given for it")
    for topic, count in plan.items():
        if topic not in topics:
            near = get_close_matches(topic, topics, n=3) or [*topics]
            raise InvalidConfigError(
                f"no join has the topic {topic}, which is to grow; did you mean {', '.join(near)}?"
            )
        expected_share(counts[topic], count)  # refuses what cannot be
    after = {topic: plan.get(topic, counts[topic]) for topic in topics}
    planned = tuple(
        PlannedJoin(
            join,
            tuple(counts[topic] for topic in join),
            tuple(after[topic] for topic in join),
            _fate([counts[topic] for topic in join], [after[topic] for topic in join]),
        )
        for join in listed_joins
    )
    return GrowthPlan(plan, planned, tuple(_must_grow(listed_joins, counts, after, plan)))


def _fate(before: Sequence[int], after: Sequence[int]) -> Literal["breaks", "broken", "moves", "untouched"]:
    equal = len({*after}) == 1
    if equal:
        return "moves" if before != after else "untouched"
    return "breaks" if len({*before}) == 1 else "broken"


def _must_grow(
    joins: Sequence[tuple[str, ...]],
    counts: Mapping[str, int],
    after: Mapping[str, int],
    plan: Mapping[str, int],
) -> Iterable[MustGrow]:
    """Topics that hang together by joins need one count: the greatest that any of them will have."""
    for group in _together(joins):
        if not group & plan.keys():
            continue
        needed = max(after[topic] for topic in group)
        for topic in sorted(group):
            if counts[topic] < needed:
                moved = expected_share(counts[topic], needed)
                yield MustGrow(topic, counts[topic], after[topic], needed, moved)


def _together(joins: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """The topics that joins tie to each other, group by group."""
    groups: list[set[str]] = []
    for join in joins:
        tied = [group for group in groups if not group.isdisjoint(join)]
        groups = [group for group in groups if group.isdisjoint(join)] + [set(join).union(*tied)]
    return groups
