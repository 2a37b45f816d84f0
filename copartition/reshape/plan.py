"""Plan a reshape: decide whether a topic can get another count or rule, and describe the two ways to it.

`plan_reshape` decides from an `ObservedTopic`; nothing here asks a cluster. `ways` has the steps and prices.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assignors.state import GroupState
from copartition.check.verdict import AuditSummary
from copartition.check.writers import Placement, clients_of, placement, rule_name, setting_for
from copartition.deploys.answer import Stops
from copartition.deploys.pace import Pace
from copartition.deploys.scenario import scenario_of
from copartition.deploys.stops import stops_of
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.kit.words import count, duration, list_names
from copartition.reshape.observed import OFFSETS_TOPIC, Moves, ObservedTopic
from copartition.reshape.refusals import why_not_reshaped
from copartition.reshape.ways import (
    ASSUMED_RATE,
    Copy,
    ReshapeTarget,
    ReshapeWay,
    in_place_way,
    new_topic_way,
)
from copartition.simulation import Join, Leave
from partitioning.errors import AssignorError, ScenarioError, SourceError, UnknownStrategyError
from partitioning.kit.packages import read_toml
from partitioning.placement import coordinator_partition
from partitioning.profiles import PROFILES

Weight = Literal["lost", "open", "told"]
WEIGHTS: tuple[Weight, ...] = ("lost", "open", "told")
"""Weights of reasons, the heaviest first; the heaviest among a plan's reasons decides the answer.

`ReshapeReason` says what they mean.
"""

_NAMED = 5
"""The most names that a sentence lists."""
_KEEPS_TOGETHER = {"range", "uniform", "broker-range", "stream"}
"""Strategies that give partitions of equal numbers to one member if all members read the same topics."""


@dataclass(frozen=True, slots=True)
class ReshapeReason:
    """One fact that the reshape depends on.

    Attributes:
        code: a short name that stays the same: "internal-topic", "transactions", "scattered-keys", "writers",
            "joined", "streams-group", "share-group", "transactional-reader", "no-commit", "target",
            "compaction", "retention", "timestamps", "copy-too-slow", "new-topic-read", "unseen".
        weight: "lost": something cannot be kept; "open": it is not known whether it can; "told": it can, and
            somebody has to know or do this.
        text: a sentence without a full stop.
        ground: the evidence, or what is missing for an answer.
    """

    code: str
    weight: Weight
    text: str
    ground: Ground


_REASONS = read_toml(__package__, "reasons.toml")


def _reason(case: str, ground: Ground, **facts: object) -> ReshapeReason:
    """Return the reason that `reasons.toml` has for a case.

    Args:
        case: the name of the row. If the row has a remedy, the ground of the reason is a `Missing`.
        ground: what was read; this is the ground of the reason if the row has no remedy.
        facts: a value for each name in braces in the row's texts.
    """
    about = _REASONS[case]
    text = about["text"].format(**facts)
    if "remedy" in about:
        ground = Missing(text, about["remedy"].format(**facts))
    return ReshapeReason(about.get("code", case), about["weight"], text, ground)


@dataclass(frozen=True, slots=True, eq=False)
class ReshapePlan:
    """The plan to reshape a topic.

    Attributes:
        topic: the topic as it was seen; None if it is refused by its name and was not looked at.
        name: the topic's name.
        target: what the topic is to become; None if the topic is refused or the rule is not known.
        reasons: the facts that decide, the heaviest first.
        moves: what the target's rule does to sampled records; None if `target` is None.
        copy: size and time of the copy; None if `target` is None.
        switches: group with members -> its pauses while it leaves the old topic and starts on the new one;
            `Missing` if they are not known.
        ways: the two ways; empty if the topic is refused or the rule is not known.
        ground: what was read, and what is taken for granted.
    """

    topic: ObservedTopic | None
    name: str
    target: ReshapeTarget | None
    reasons: tuple[ReshapeReason, ...]
    moves: Moves | None
    copy: Copy | None
    switches: dict[str, Stops | Missing]
    ways: tuple[ReshapeWay, ...]
    ground: Ground

    @property
    def answer(self) -> Literal["yes", "no", "unknown"]:
        """The answer: "no" if something is lost, else "unknown" if something is open, else "yes"."""
        weights = {reason.weight for reason in self.reasons}
        return "no" if "lost" in weights else "unknown" if "open" in weights else "yes"

    @property
    def exit_code(self) -> int:
        """The exit code: 0 yes, 1 no, 2 unknown."""
        return {"yes": 0, "no": 1, "unknown": 2}[self.answer]


def refused_plan(topic: str, why: str, observed: ObservedTopic | None = None) -> ReshapePlan:
    """Return the plan for a topic that is not reshaped.

    Args:
        topic: the topic's name.
        why: the reason, a clause.
        observed: the topic, if its records had to be read to see the reason; None if its name was enough.
    """
    source = "its name" if observed is None else f"its name and {_read_words(observed)}"
    ground = Evidence((source,))
    reason = ReshapeReason("internal-topic", "lost", f"{topic} is not reshaped: {why}", ground)
    return ReshapePlan(observed, topic, None, (reason,), None, None, {}, (), ground)


def plan_reshape(
    topic: ObservedTopic,
    target: str,
    partitions: int,
    *,
    profile: str | None = None,
    copy_rate: float | None = None,
    pace: Pace | None = None,
    servers: str = "HOST:PORT",
) -> ReshapePlan:
    """Return the plan to give a topic another partition count, another rule, or both.

    Args:
        topic: the topic as its cluster showed it.
        target: name of the new topic.
        partitions: partition count of the new topic.
        profile: the profile whose rule places keyed records in the new topic; None for the profile that
            placed most records of the old one.
        copy_rate: the measured rate of the copy, in records a second; None for `ASSUMED_RATE`.
        pace: how fast members are restarted, and their settings; None for a `Pace` with its defaults.
        servers: the cluster as the steps' commands name it, host:port.
    """
    pace = pace or Pace()
    # Some internal topics may have any name, so only their keys show what they are.
    if (why := why_not_reshaped(topic.name, topic.sample.examples)) is not None:
        return refused_plan(topic.name, why, topic)
    summary = AuditSummary(topic.audit)
    unread = max((group.lag or 0 for group in topic.groups if group.state is not None), default=None)
    copy = Copy(topic.records, copy_rate or ASSUMED_RATE, copy_rate is None, topic.written_per_s, unread)
    assumed = tuple(_assumptions(topic, profile, copy, pace))
    ground = Evidence((_read_words(topic), *_seen_words(topic)), assumed)
    # These reasons come from the topic and its groups. They do not depend on the rule, so they are given even
    # if the rule is unknown.
    chosen = profile or _usual_profile(summary)
    reasons = [*_about_topic(topic, target, partitions, ground), *_about_groups(topic, target, ground)]
    reasons += [ReshapeReason("unseen", "open", missing.what, missing) for missing in topic.missing]
    if chosen is None:
        reasons.append(_reason("unknown-rule", ground, topic=topic.name, why=_why_no_rule(topic)))
        return ReshapePlan(topic, topic.name, None, _by_weight(reasons), None, None, {}, (), ground)
    moves = topic.sample.moves(topic.partitions, partitions, chosen)
    reasons += _about_writers(summary, chosen, partitions, ground)
    reasons += _about_copy(topic, copy, ground)
    switches = {
        group.name: _switch_stops(group.state, pace)
        for group in topic.groups
        if group.state is not None and group.members
    }
    goal = ReshapeTarget(target, partitions, chosen, servers)
    ways = (
        new_topic_way(topic, goal, copy, moves, switches, pace),
        in_place_way(topic, goal, moves, pace),
    )
    return ReshapePlan(topic, topic.name, goal, _by_weight(reasons), moves, copy, switches, ways, ground)


def _by_weight(reasons: Sequence[ReshapeReason]) -> tuple[ReshapeReason, ...]:
    """Return the reasons sorted by weight; the first ones decide the answer."""
    return tuple(sorted(reasons, key=lambda reason: WEIGHTS.index(reason.weight)))


def _usual_profile(summary: AuditSummary) -> str | None:
    """Return the profile that explains most keyed records over today's count; None if none is certain."""
    # With one partition every rule explains every record, so the rule that was found says nothing.
    if summary.count == 1 or summary.audit.certainty not in {"sure", "likely", "mixed"}:
        return None
    # Shares are sorted by their records, the largest first. Writers over older counts are left out, because
    # they do not show how today's writers place keys.
    today = [share.writer for share in summary.audit.shares if share.writer.num_partitions == summary.count]
    return today[0].profile if today else None


def _why_no_rule(topic: ObservedTopic) -> str:
    """Return a clause that says why the writers' rule is not known."""
    if topic.partitions == 1:
        return "with one partition every rule gives the same place"
    return {
        "none": "no rule that is known explains where its records are",
        "unknown": "it has too few records with a key to tell rules apart",
    }.get(topic.audit.certainty, "no rule explains records over today's count")


def _read_words(topic: ObservedTopic) -> str:
    """Return in words how many records were read, as evidence."""
    coverage = topic.audit.coverage
    return f"{coverage.read:,} of {coverage.present:,} records: {coverage.text}"


def _seen_words(topic: ObservedTopic) -> Iterator[str]:
    """Yield in words what was asked of the cluster besides the records, as evidence."""
    yield (
        f"settings, and two looks at the ends of {count(topic.partitions, 'partition')} "
        f"{topic.looked_s:.1f} s apart"
    )
    yield (
        f"members and commits of {count(len(topic.groups), 'group')} that read it; transactions at two looks"
    )


def _assumptions(topic: ObservedTopic, profile: str | None, copy: Copy, pace: Pace) -> Iterator[str]:
    """Yield the assumptions of the plan, each as one sentence."""
    if profile is not None:
        yield f"writers place keys by the rule of {profile} on the new topic, as --profile says"
    else:
        yield "writers go on to place keys by the rule that most records were placed by"
    yield from copy.assumed
    yield f"writers and members start {duration(pace.longest_down_ms)} after they were stopped"
    yield (
        f"writers go on at {topic.written_per_s:,.0f} records a second, as in the {topic.looked_s:.1f} s "
        "of two looks"
    )
    yield (
        "no group without a commit reads the topic by hand-picked partitions (assign), which no broker shows"
    )
    # A look at the ends of partitions shows records, not writers. So a writer that sends nothing between two
    # looks goes unnoticed.
    yield (
        "every writer is stopped at the switch: --switch sees who writes between its looks, and nobody who "
        "comes later"
    )


def _about_topic(
    topic: ObservedTopic, target: str, partitions: int, ground: Evidence
) -> Iterator[ReshapeReason]:
    """Yield the reasons that follow from the new topic, and from the topic's transactions, keys and settings.

    Args:
        topic: the topic.
        target: name of the new topic.
        partitions: the wanted partition count of the new topic.
        ground: what was read.
    """
    if topic.target_partitions not in {None, partitions}:
        found = count(topic.target_partitions or 0, "partition")
        yield _reason("target", ground, target=target, found=found, wanted=partitions)
    yield from _about_transactions(topic, ground)
    yield from _about_keys(topic, ground)
    settings = topic.settings
    # The copy reads a tombstone like any record, provided that the cleaner has not removed it before.
    if topic.compacted:
        keep = settings.get("delete.retention.ms", "86400000")
        yield _reason("compaction", ground, keep=duration(float(keep)))
    if settings.get("message.timestamp.type") == "LogAppendTime":
        yield _reason("timestamps", ground, target=target)


def _about_transactions(topic: ObservedTopic, ground: Evidence) -> Iterator[ReshapeReason]:
    """Yield a reason if transactions write the topic, alone or together with other topics.

    After a transaction has ended, only gaps in the offsets show it. They show that there was a transaction,
    but not which topics it wrote. In a compacted topic they show nothing, because compaction makes gaps, too.
    """
    inside = [transaction for transaction in topic.transactions if topic.name in transaction.topics]
    # The offsets topic does not count as another topic: a loop that reads, processes and writes commits its
    # position in the input by the same transaction.
    across = [transaction for transaction in inside if {*transaction.topics} - {topic.name, OFFSETS_TOPIC}]
    for transaction in across[:1]:
        others = list_names([name for name in transaction.topics if name != topic.name], _NAMED)
        yield _reason("transactions-across", ground, id=transaction.id, topic=topic.name, others=others)
    if across or topic.compacted or not (topic.sample.gaps or inside):
        return
    if inside:
        names = list_names(sorted({transaction.id for transaction in inside}), _NAMED)
        yield _reason("transactions", ground, names=names)
    else:
        gaps = count(topic.sample.gaps, "offset")
        yield _reason("transactions-unseen", ground, topic=topic.name, gaps=gaps)


def _about_keys(topic: ObservedTopic, ground: Evidence) -> Iterator[ReshapeReason]:
    """Yield a reason if keys lie in several partitions: the records of such a key have no order to keep."""
    proof = topic.scattered
    # Only this one topic was compared, so each list has one element.
    (scattered,), (number,) = proof.scattered, proof.keys
    keys = count(number, "key")
    if scattered:
        least = "" if proof.complete else "at least "
        yield _reason("scattered-keys", ground, least=least, scattered=scattered, keys=keys, topic=topic.name)
    elif not proof.complete:
        yield _reason("keys-unread", ground, topic=topic.name, keys=keys)


def _about_groups(topic: ObservedTopic, target: str, ground: Evidence) -> Iterator[ReshapeReason]:
    """Yield a reason for each thing that a group needs or loses when it moves to the new topic.

    Args:
        topic: the topic with its groups.
        target: name of the new topic.
        ground: what was read.
    """
    for group in topic.groups:
        state = group.state
        if group.kind == "streams" or (state is not None and state.strategy == "stream"):
            yield _reason("streams-group", ground, group=group.name)
        elif group.kind == "share":
            quoted = shlex.quote(group.name)
            left = "" if group.lag is None else f" ({group.lag:,} records are not done)"
            yield _reason("share-group", ground, group=group.name, left=left, quoted=quoted, target=target)
        elif group.lag is None:
            yield _reason("no-commit", ground, group=group.name)
        if state is None:
            continue
        # Before the switch no group has a reason to read the new topic, unless its pattern matches the new
        # name.
        if target in state.topics:
            yield _reason("new-topic-read", ground, group=group.name, target=target)
        # A join by partition needs topics of equal counts; if no other topic has this count, no join can
        # break.
        joined = [
            other for other in state.topics if topic.others.get(other) == topic.partitions and other != target
        ]
        if joined and state.strategy in _KEEPS_TOGETHER:
            yield _reason(
                "joined",
                ground,
                group=group.name,
                topic=topic.name,
                others=list_names(joined, _NAMED),
                other=joined[0],
                partitions=topic.partitions,
                strategy=state.strategy,
            )
        # Many groups commit to one partition of the offsets topic, so this may be another group's
        # transaction.
        commits_in = [
            transaction.id
            for transaction in topic.transactions
            if coordinator_partition(group.name, topic.others.get(OFFSETS_TOPIC, 50))
            in transaction.offsets_partitions
        ]
        if commits_in:
            ids = list_names(commits_in, _NAMED)
            yield _reason("transactional-reader", ground, ids=ids, group=group.name)


def _about_writers(
    summary: AuditSummary, profile: str, partitions: int, ground: Evidence
) -> Iterator[ReshapeReason]:
    """Yield a reason for each rule whose writers must change, so that all place keys alike in the new topic.

    Args:
        summary: the audit of the old topic.
        profile: the profile whose rule places keys in the new topic.
        partitions: partition count of the new topic.
        ground: what was read.
    """
    wanted = _placement(profile, partitions)
    for share in summary.audit.shares:
        writer = share.writer
        # A rule over an older count placed records before the topic grew. The clients that wrote them use
        # today's count now, so this share does not show that a client must change.
        if writer.num_partitions != summary.count or wanted is None or profile in writer.same_rule:
            continue
        rule, settings = rule_name(wanted), _settings_of(writer.same_rule, wanted)
        yield _reason(
            "writers", ground, records=share.rows, profile=writer.profile, rule=rule, settings=settings
        )
    if summary.keyless:
        yield _reason("keyless", ground, records=summary.keyless)


def _placement(profile: str, partitions: int) -> Placement | None:
    """Return the rule of a profile over a count; None for a plug-in, whose rule has no name."""
    return placement(PROFILES[profile], partitions) if profile in PROFILES else None


def _settings_of(profiles: Sequence[str], wanted: Placement) -> str:
    """Return how each client that has one of these profiles is set to a rule, in words."""
    ways = [
        f"{client} {setting_for(client, wanted) or 'needs a partitioner of its own'}"
        for client in clients_of(profiles)
    ]
    return "; ".join(ways) or "no client with this rule has a setting that is known"


def _about_copy(topic: ObservedTopic, copy: Copy, ground: Evidence) -> Iterator[ReshapeReason]:
    """Yield a reason if the copy never ends, or if retention may delete records before they are copied."""
    if copy.seconds is None:  # a copy that never ends is reason enough, so retention is not looked at
        yield _reason("copy-too-slow", ground, written=copy.written_per_s, rate=copy.rate)
        return
    # In Kafka, -1 means that records are kept without a limit of time.
    limit_ms = float(topic.settings.get("retention.ms", "-1"))
    if "delete" in topic.settings.get("cleanup.policy", "delete") and 0 <= limit_ms < 1_000 * copy.seconds:
        takes = duration(1_000 * copy.seconds)
        yield _reason("retention", ground, limit=duration(limit_ms), copy=takes)


def _switch_stops(state: GroupState, pace: Pace) -> Stops | Missing:
    """Return the pauses of a group whose members all leave the old topic and start again on the new one.

    The members start with new member ids, `pace.longest_down_ms` after all of them have left. The simulator
    tells when the group has noticed that and its members have partitions again.
    """
    try:
        captured = scenario_of(state, pace=pace)
    except (AssignorError, ScenarioError, SourceError, UnknownStrategyError) as error:
        return Missing(f"what the switch stops: {error}", "start its members, and run it again")
    # Nothing happens in the group for a minute before the members leave, so that it is stable by then and
    # sends heartbeats at its usual times.
    scenario, at_ms = captured.scenario, 60_000.0
    leaves = [Leave(at_ms, consumer.name) for consumer in scenario.consumers]
    # A consumer that starts again has a new member id even in the same process, so it joins under a new name.
    joins = [
        Join(at_ms + pace.longest_down_ms, replace(consumer, name=f"{consumer.name}, anew"))
        for consumer in scenario.consumers
    ]
    stopped = replace(scenario, events=(*leaves, *joins))
    try:
        return stops_of(captured._replace(scenario=stopped), "all members stop, then start")
    except (AssignorError, ScenarioError, UnknownStrategyError) as error:
        return Missing(f"what the switch stops: {error}", "copartition simulate runs a scenario of your own")
