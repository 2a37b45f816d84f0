"""Judge joins before topics are written or grow: by settings of clients, and by planned partition counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from copartition.check.verdict import (
    JoinReason,
    JoinVerdict,
    Remedy,
    Weight,
    checked_topics,
    reason_of,
    verdict_of,
)
from copartition.check.writers import ClientWriter, Placement, placement, rule_name, seniority, setting_for
from copartition.kit.words import count, list_names
from partitioning.errors import InvalidConfigError
from partitioning.growth import check_growth, expected_share
from partitioning.kit.near import near
from partitioning.profiles import letters_of
from partitioning.topic_partition import checked_partition_count

_ASSUMED = (
    "these clients run with these settings, and nobody else writes these topics",
    "keys are serialized alike in all topics",
    "no topic has grown since its first record, and no record names its partition itself",
)
_NO_EMPTY_KEY = "no key is empty: one of these clients places empty keys by chance"
_MANY_PARTITIONS = "the topics have more than one partition"


def judge_writers(writers: Sequence[ClientWriter], counts: Mapping[str, int] | None = None) -> JoinVerdict:
    """Return whether topics that these clients write can be joined partition by partition.

    Args:
        writers: clients with their settings; a topic may have several.
        counts: topic -> partition count, for topics whose count is known; counts of other topics are ignored.

    Raises:
        InvalidConfigError: there are writers of fewer than two topics.
        InvalidPartitionCountError: a count is out of range.
    """
    # A topic with several writers counts once; topics stay in the order in which they were given.
    topics = tuple(dict.fromkeys(writer.topic for writer in writers))
    checked_topics(topics)
    known_counts = counts or {}
    counts_by_topic = {
        topic: checked_partition_count(known_counts[topic]) for topic in topics if topic in known_counts
    }
    different = {*counts_by_topic.values()}
    # Two rules may differ in the sign alone, which makes no difference for some counts. So whether such rules
    # agree depends on the count. If the topics have different counts, no count is taken into account.
    count = different.pop() if len(different) == 1 else None
    reasons = [*_counts(topics, counts_by_topic), *_rules(topics, writers, count)]
    assumed = [*_ASSUMED]
    # Only an empty key may be placed differently by two clients with the same hash.
    if any(writer.profile and writer.profile.empty == "unkeyed" for writer in writers):
        assumed.append(_NO_EMPTY_KEY)
    unchecked = dict.fromkeys(
        writer.profile.name for writer in writers if writer.profile is not None and not writer.profile.checked
    )
    assumed += [
        f"{name} places keys as its source says; its rule was not compared with the client itself"
        for name in unchecked
    ]
    # A profile was compared with the client that it is named after, but not with tools built on that client.
    assumed += dict.fromkeys(
        f"{writer.client} places keys by the rule of {writer.profile.name}"
        for writer in writers
        if writer.profile is not None
        and not letters_of(writer.client).startswith(writer.profile.name.partition("-")[0])
    )
    # In a topic with a single partition all rules agree. If the count is unknown, this case is ruled out by
    # an assumption.
    if count is None:
        assumed.append(_MANY_PARTITIONS)
    return verdict_of(topics, reasons, (*_settings(writers, count), *_grow(counts_by_topic)), assumed)


def _counts(topics: tuple[str, ...], counts: Mapping[str, int]) -> Iterator[JoinReason]:
    """Yield the one reason that follows from the given partition counts.

    It is "against" if two counts differ, "for" if all topics have the same count, "open" if some are unknown.

    Args:
        topics: the topics of the join.
        counts: topic -> partition count, of those topics whose count is known.
    """
    shown = [f"{topic} has {count(partitions, 'partition')}" for topic, partitions in counts.items()]
    silent = tuple(topic for topic in topics if topic not in counts)
    if len({*counts.values()}) > 1:
        yield reason_of("other-counts", tuple(counts), counts=list_names(shown))
    elif silent:
        yield reason_of("counts-not-given", silent, have="has" if len(silent) == 1 else "have")
    else:
        yield reason_of("counts-given", topics, counts=list_names(shown))


def _rules(
    topics: tuple[str, ...], writers: Sequence[ClientWriter], count: int | None
) -> Iterator[JoinReason]:
    """Yield the reasons that follow from the rules of these clients.

    Args:
        topics: the topics of the join.
        writers: the clients that write them.
        count: the partition count that all topics share; None if they differ or are not known.
    """
    for writer in writers:
        if writer.profile is None:
            weight: Weight = "against" if count != 1 else "for"
            yield reason_of("no-rule", (writer.topic,), weight, writer=writer)
    rules = [(writer, placement(writer.profile, count)) for writer in writers if writer.profile is not None]
    different = dict.fromkeys(rule for _, rule in rules)
    if len(different) == 1 and len(rules) == len(writers):
        yield reason_of("one-rule", topics, rule=rule_name(*different))
    elif len(different) > 1:
        shown = [f"in {writer.topic} by {writer} ({rule.hash}, {rule.sign})" for writer, rule in rules]
        # For some counts, such as powers of two, the sign makes no difference for some of the rules.
        alike = count is None and len({rule.hash for rule in different}) == 1
        names = tuple(dict.fromkeys(writer.topic for writer, _ in rules))
        yield reason_of("other-signs" if alike else "several-rules", names, rules=list_names(shown))


def _settings(writers: Sequence[ClientWriter], count: int | None) -> Iterator[Remedy]:
    """Yield the changes that give all writers one rule: the rule that needs the fewest changes.

    Nothing is yielded if no writer looks at keys, because then there is no rule to change to.

    Args:
        writers: the clients that write the topics.
        count: the partition count that all topics share; None if they differ or are not known.
    """
    wanted = {placement(writer.profile, count) for writer in writers if writer.profile is not None}
    ways = [_changes(writers, rule, count) for rule in sorted(wanted, key=seniority)]
    ways = [way for way in ways if way]
    if ways:
        # A writer without a setting for the rule needs a partitioner of its own, which costs more than any
        # number of settings.
        yield from min(ways, key=lambda way: (sum(remedy.command is None for remedy in way), len(way)))


def _changes(writers: Sequence[ClientWriter], rule: Placement, count: int | None) -> list[Remedy]:
    """Return a remedy for each writer that does not follow this rule yet, in the order of writers.

    Args:
        writers: the clients that write the topics.
        rule: the rule that all of them should follow.
        count: the partition count that all topics share; None if they differ or are not known.
    """
    remedies = []
    for writer in writers:
        # Placements are equal if rule and count are. Only then are equal keys at equal partition numbers.
        if writer.profile is not None and placement(writer.profile, count) == rule:
            continue
        setting = setting_for(writer.client, rule)
        text = f"set {writer.client}, which writes {writer.topic}, to {rule_name(rule)}"
        text += (
            "" if setting else "; no setting of its own that is known does so, a partitioner must be written"
        )
        remedies.append(Remedy(writer.topic, text, setting))
    return remedies


def _grow(counts: Mapping[str, int]) -> Iterator[Remedy]:
    """Yield the remedy of adding partitions for each topic that has fewer partitions than another topic."""
    most = max(counts.values(), default=0)
    for topic, partitions in counts.items():
        if partitions < most:
            text = f"give {topic} {most} partitions; records that it has already stay where they are"
            yield Remedy(topic, text, f"kafka-topics.sh --alter --topic {topic} --partitions {most}")


@dataclass(frozen=True)
class PlannedJoin:
    """A join before and after topics grow.

    Attributes:
        topics: the names of its topics.
        before: the partition counts of these topics now.
        after: the partition counts of these topics after the growth that is planned.
        fate: "breaks": the counts are equal now and differ after; "broken": they differ now and after;
            "moves": they are equal after, but a topic grows, so keys change partitions, and their new records
            do not meet the old ones; "untouched": the counts are equal, and no topic of the join grows.
    """

    topics: tuple[str, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    fate: Literal["breaks", "broken", "moves", "untouched"]


@dataclass(frozen=True)
class MustGrow:
    """A topic that must grow so that joins keep working.

    Attributes:
        topic: the topic's name.
        before: its partition count now.
        planned: its partition count in the plan; the count now if the plan does not name the topic.
        needed: the partition count that it must have, so that all topics that joins connect with it have one
            count.
        moved: the share of its keys that change partitions, from 0 to 1, under a rule that spreads keys
            evenly.
    """

    topic: str
    before: int
    planned: int
    needed: int
    moved: float


@dataclass(frozen=True)
class GrowthPlan:
    """The effect of growing topics on a set of joins.

    Attributes:
        plan: topic -> new partition count.
        joins: every join of the set, in the order in which they were given.
        grow: all topics that have to grow, also those of the plan, with the counts that keep every join
            working that has a topic of the plan.
    """

    plan: Mapping[str, int]
    joins: tuple[PlannedJoin, ...]
    grow: tuple[MustGrow, ...]

    @property
    def answer(self) -> Literal["yes", "no"]:
        """The answer: "yes" if no join has a topic that grows and none is broken already, else "no"."""
        return "yes" if all(join.fate == "untouched" for join in self.joins) else "no"


def plan_growth(
    joins: Sequence[Sequence[str]], counts: Mapping[str, int], plan: Mapping[str, int]
) -> GrowthPlan:
    """Return which joins break if topics grow from `counts` to `plan`, and all topics that then must grow.

    Args:
        joins: the topics of each join, two or more for each.
        counts: topic -> partition count now, for every topic.
        plan: topic -> new count, for the topics that are to grow.

    Raises:
        InvalidConfigError: a join has fewer than two topics, a topic has no count, or the plan names a topic
            that no join has.
        InvalidPartitionCountError: a count is out of range, or lower than now.
    """
    listed_joins = [checked_topics(join) for join in joins]
    topics = dict.fromkeys(topic for join in listed_joins for topic in join)
    for topic in topics:
        if topic not in counts:
            raise InvalidConfigError(f"how many partitions has {topic}? no count is given for it")
    for topic, partitions in plan.items():
        if topic not in topics:
            raise InvalidConfigError(
                f"no join has the topic {topic}, which is to grow; {near(topic, topics)}"
            )
        # Kafka's topics never shrink.
        check_growth(counts[topic], partitions)
    after = {topic: plan.get(topic, counts[topic]) for topic in topics}
    planned = []
    for join in listed_joins:
        now, then = (tuple(of[topic] for topic in join) for of in (counts, after))
        planned.append(PlannedJoin(join, now, then, _effect(now, then)))
    # Topics that no join connects with a topic of the plan keep their counts.
    grow = [
        MustGrow(topic, counts[topic], after[topic], needed, expected_share(counts[topic], needed))
        for group in _connect(listed_joins)
        if group & plan.keys()
        # Topics that are connected by joins need one count: the greatest that any of them will have.
        for needed in [max(after[topic] for topic in group)]
        for topic in sorted(group)
        if counts[topic] < needed
    ]
    return GrowthPlan(plan, tuple(planned), tuple(grow))


def _effect(before: Sequence[int], after: Sequence[int]) -> Literal["breaks", "broken", "moves", "untouched"]:
    """Return what happens to a join, from its topics' counts before and after; see `PlannedJoin`."""
    if len({*after}) == 1:
        return "moves" if before != after else "untouched"
    return "breaks" if len({*before}) == 1 else "broken"


def _connect(joins: Sequence[tuple[str, ...]]) -> list[set[str]]:
    """Return groups of topics that joins connect, directly or through other topics.

    >>> [sorted(group) for group in _connect([("a", "b"), ("c", "d"), ("b", "e")])]
    [['c', 'd'], ['a', 'b', 'e']]
    """
    groups: list[set[str]] = []
    for join in joins:
        tied = [group for group in groups if not group.isdisjoint(join)]
        # A join connects all groups that share a topic with it into one group.
        groups = [group for group in groups if group.isdisjoint(join)] + [set(join).union(*tied)]
    return groups
