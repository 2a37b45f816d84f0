"""Write everything that is said of a whole diff below its headline: sentences, figures, costs.

Each sentence has its ground, `Evidence` or `Missing`. Text, Markdown, JSON and the page print the same
sentences.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assignors.interface import Reason
from assignors.partition_list import PartitionList
from copartition.assignment_diff.changes import Action
from copartition.assignment_diff.compare import AssignmentDiff
from copartition.assignment_diff.needed import CO_PARTITIONED
from copartition.assignment_diff.report.headline import left_out
from copartition.assignment_diff.report.model import named_places, renames
from copartition.deploys.answer import UNIT, answer_sentence
from copartition.groups.offers import offered_lists
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.kit.words import count, list_names, number
from copartition.simulation.growth import CURE, skipped_records

_TOPICS = 4
"""The most topics that a sentence names."""
_SEPARATED = 3
"""The most groups of topics for which it is said that they are no longer read together; JSON has all."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A sentence below the headline, and its ground.

    Attributes:
        text: the sentence; it begins with "Unknown" if something is missing.
        ground: the sources of the sentence and what it assumes, or what is missing to make it.
    """

    text: str
    ground: Ground


def details(diff: AssignmentDiff) -> list[Detail]:
    """Return all sentences below the headline.

    Their order is stops, migration, clauses that did not fit into the headline, partitions without a reader,
    notes on the numbers, and facts that are unknown.
    """
    compared = [*left_out(diff), *separated_sentences(diff)]
    return [
        *_of_stops(diff),
        *_migration(diff),
        *(Detail(text, Evidence(_COMPARED)) for text in compared),
        *_without_reader(diff),
        *_of_numbers(diff),
        *_unknown_details(diff),
    ]


def detail_lines(diff: AssignmentDiff) -> list[str]:
    """Return the details as lines."""
    return [detail.text for detail in details(diff)]


def diff_assumptions(diff: AssignmentDiff) -> list[str]:
    """Return the sentences about everything that the diff or one of its details assumes, each once."""
    grounds = (detail.ground for detail in details(diff))
    own = [text for ground in grounds if isinstance(ground, Evidence) for text in ground.assumed]
    return [*dict.fromkeys([*diff.assumed, *own])]


_COMPARED = ("who owns which partition",)
"""The source of a sentence that follows from the two states alone."""


def _of_stops(diff: AssignmentDiff) -> Iterator[Detail]:
    """Yield details on records that are skipped in new partitions, and on what the way to a plan stops."""
    stops = diff.stops
    # New partitions are read late, and auto.offset.reset=latest skips their first records. No rebalance
    # shows this loss.
    if diff.summary.added:
        # Eager and cooperative groups notice growth in the same way.
        kinds = {"consumer" if protocol == "consumer" else "classic" for protocol in diff.protocols}
        text, ground = skipped_records(kinds.pop() if len(kinds) == 1 else None, diff.pace.settings)
        yield Detail(f"{text}. To lose none, {CURE}.", ground)
    if isinstance(stops, Missing):
        # The user of two captured states did not ask what the change between them stopped.
        if diff.after.status == "planned":
            yield Detail(answer_sentence(stops), stops)
        return
    # The coordinator shows only the strategy that was chosen. If a member also lists an eager one, every
    # rebalance stops the whole group.
    cooperative = any(way.protocol == "cooperative" for way in stops)
    if cooperative and diff.after.status == "planned" and isinstance(offered_lists(diff.before), Missing):
        what = "whether each member lists cooperative strategies only"
        otherwise = (
            "if one also lists an eager one, as amid a migration, every rebalance stops the whole group"
        )
        remedy = "look at partition.assignment.strategy of each member"
        yield Detail(f"Unknown: {what}; {otherwise}. To know, {remedy}.", Missing(what, remedy))
    for way in stops:
        text = answer_sentence(way)
        yield Detail(f"{text[0].upper()}{text[1:]}", way.ground)
    if stops:
        yield Detail(f"{UNIT[0].upper()}{UNIT[1:]}.", stops[0].ground)


def _migration(diff: AssignmentDiff) -> Iterator[Detail]:
    """Yield at most one detail: how the group can change to the plan's strategy, if it has another one."""
    if not diff.new_strategy:
        return
    from copartition.migrate.migration import migration_verdict  # noqa: PLC0415 - few diffs need the simulator

    before, after = diff.before, diff.after
    text = migration_verdict(
        before.strategy or "", after.strategy or "", before.clients, before.group_version
    )
    yield Detail(text, Evidence((f"the group's strategy {before.strategy!r}",)))


def separated_sentences(diff: AssignmentDiff) -> list[str]:
    """Return a sentence for each group of topics that is no longer read together by partition number.

    Each sentence also names the strategy that would keep them together. There are at most `_SEPARATED`
    sentences.
    """
    planned = diff.after.strategy
    # The group's protocol must have the strategy that the sentence names.
    best = CO_PARTITIONED["consumer" if diff.protocols == ("consumer",) else "classic"]
    keeps = "" if planned == best else f"; {best} keeps it"
    ends = [(topics, "ends") for topics in diff.separated]
    ends += [(topics, f"is nothing that {planned} looks after") for topics in diff.not_kept]
    return [
        f"Co-partitioned reading of {list_names(topics, _TOPICS)} {what}{keeps}."
        for topics, what in ends[:_SEPARATED]
    ]


def _without_reader(diff: AssignmentDiff) -> Iterator[Detail]:
    """Yield at most one detail: the partitions that have no owner after.

    There is no detail for a single state without members, because its headline says that nobody reads.
    """
    rows = np.flatnonzero((diff.target < 0) & (diff.action != Action.REMOVED))
    # If there are no members, the headline says that nobody reads. A list of all partitions would hide the
    # rest of the report.
    if not len(rows) or (diff.alone and diff.balance and not diff.balance.loads):
        return
    places, more = named_places(PartitionList(diff.topics, diff.topic[rows], diff.partition[rows]))
    which = f"{places} and {more:,} more" if more else places
    yield Detail(f"Without a reader: {which}.", Evidence(_COMPARED))


def _of_numbers(diff: AssignmentDiff) -> Iterator[Detail]:
    """Yield details that the numbers of the whole group do not show.

    One says that a single state has a topic of which a member has more partitions than necessary. The other
    says that a group that is as a plan wants it may have been so before the plan.
    """
    if diff.alone and (even := diff.balance) and even.topic_excess and len(diff.topics) > 1:
        fullest, best = even.topic_fullest, even.best_topic_fullest
        text = f"Of one topic a member has {fullest:,} partitions, where {best:,} would do."
        yield Detail(text, Evidence(_COMPARED))
    if diff.same and diff.before.status == "planned" != diff.after.status:
        text = (
            "This does not show whether the plan was carried out: the group may have been like this before."
        )
        yield Detail(text, Evidence(_COMPARED))


def _unknown_details(diff: AssignmentDiff) -> Iterator[Detail]:
    """Yield a detail for each fact that the sources do not show, except lag, which many sources lack.

    If lag is unknown, the line of figures says so; see `movement`.
    """
    numbers = diff.summary
    sides = {"before": numbers.members_before, "after": numbers.members_after}
    hidden = [side for side, members in sides.items() if members is None]
    if hidden:
        what = f"members without partitions {' and '.join(hidden)}"
        table = "kafka-consumer-groups.sh --describe --members --verbose --group GROUP >> FILE"
        remedy = f"add a table: {table}, or ask live:GROUP"
        yield Detail(f"Unknown: {what}; {remedy}.", Missing(what, remedy))
    if numbers.needed_moves is None and not diff.alone:
        what = "how many moves were needed"
        remedy = "capture the group when it is stable, with the subscriptions of all members"
        yield Detail(f"Unknown: {what}; {remedy}.", Missing(what, remedy))


def movement(diff: AssignmentDiff) -> list[str]:
    """Return the figures of the change as parts of one line.

    They are the avoidable moves, the loads of the fullest member, the peak if there are weights, the spread,
    the number of idle members, and the lag of moved partitions.
    """
    numbers = diff.summary
    fullest = _at_least(numbers.needed_fullest, numbers.needed_fullest_exact)
    of_topic = []
    if len(diff.topics) > 1 and numbers.topic_fullest != numbers.needed_topic_fullest:
        needed = _at_least(numbers.needed_topic_fullest, numbers.needed_topic_fullest_exact)
        of_topic.append(f"of one topic {number(numbers.topic_fullest)} ({needed} needed)")
    peak = []  # the greatest load by weights, in multiples of the mean; empty without weights
    if numbers.peak is not None:
        peak.append(f"peak {numbers.peak:.2f} (at least {numbers.needed_peak:.2f} needed)")
    return [
        f"avoidable moves {_avoidable(diff)}",
        f"fullest {number(numbers.fullest)} ({fullest} needed)",
        *of_topic,
        *peak,
        f"spread {number(numbers.spread_before)} -> {number(numbers.spread_after)}",
        f"idle {number(numbers.idle_before)} -> {number(numbers.idle_after)}",
        f"lag moved {_at_least(numbers.lag_moved, numbers.lag_moved_exact)}",
    ]


def _at_least(value: int | None, exact: bool) -> str:
    """Return a number, with "at least" if it is only a lower bound."""
    return f"{'' if exact or value is None else 'at least '}{number(value)}"


def reason_counts(diff: AssignmentDiff) -> list[str]:
    """Return the number of changes for each reason of a plan, as one part of a line; empty without a plan.

    To find the reasons, the assignor decides the group once more, which takes long. So only reports that show
    reasons call this.
    """
    # Only changed partitions count, because the reason of another partition says why it stays.
    reasons = Counter(change.reason for change in diff.changes())
    parts = [
        f"{times:,} {reason.value}"
        for reason, times in reasons.most_common()
        if reason is not None and reason is not Reason.NOT_TOLD
    ]
    return [f"because {', '.join(parts)}"] if parts else []


def _avoidable(diff: AssignmentDiff) -> str:
    """Return the number of avoidable moves as text, such as "2 of 6 (4 needed)".

    The text is "unknown, of 6" if it is unknown how many moves were needed. "at most" and "at least" mark
    bounds.
    """
    numbers = diff.summary
    if numbers.needed_moves is None:
        return f"unknown, of {number(numbers.moved)}"
    most = "" if numbers.needed_moves_exact else "at most "
    needed = _at_least(numbers.needed_moves, numbers.needed_moves_exact)
    return f"{most}{number(numbers.avoidable_moves)} of {number(numbers.moved)} ({needed} needed)"


def heading(diff: AssignmentDiff) -> list[str]:
    """Return the group, its states, its members and how they were matched, as parts of one line."""
    numbers = diff.summary
    parts = [diff.after.name or diff.before.name or "group"]
    statuses = [status for status in (diff.before.status, diff.after.status) if status]
    if statuses:
        parts.append(" -> ".join(dict.fromkeys(statuses)))
    before = sum(member.before_id is not None for member in diff.members)
    after = sum(member.after_id is not None for member in diff.members)
    # Members that a source counts but does not list belong to a single state. A plan leaves them out.
    after += diff.after.unlisted if diff.alone else 0
    least = [
        "at least " if exact is None else "" for exact in (numbers.members_before, numbers.members_after)
    ]
    members = f"{least[1]}{count(after, 'member')}"
    parts.append(members if diff.alone else f"{least[0]}{before:,} -> {members}")
    parts.append(count(numbers.partitions, "partition"))
    parts += [] if diff.alone else [f"matched by {diff.matching.rule}"]
    return parts


_NOTES = 12
"""The most notes of one kind."""


class Fate(NamedTuple):
    """The fate of some partitions, such as "moved", and how many partitions have it.

    Attributes:
        style: the fate's class in the style sheet.
        number: how many partitions have this fate.
        label: the fate in words.
        percent: `number` in percent of all partitions, from 0 to 100.
    """

    style: str
    number: int
    label: str
    percent: float

    @property
    def share(self) -> str:
        """The share in words; 0 % and 100 % only if they are exact."""
        if 0 < self.percent < 0.05:
            return "< 0.1 %"
        return "> 99.9 %" if 99.95 <= self.percent < 100 else f"{self.percent:.1f} %"


def fates(diff: AssignmentDiff) -> list[Fate]:
    """Return each fate that some partitions have; every partition has exactly one fate."""
    numbers = diff.summary
    kinds = [
        ("kept", numbers.kept, "kept"),
        ("between", numbers.moved, "moved"),
        ("joined", numbers.assigned, "gained an owner"),
        ("left", numbers.unassigned, "lost their owner"),
        ("added", numbers.added, "added"),
        ("removed", numbers.removed, "removed"),
        ("conflict", numbers.conflicts, "with two owners"),
    ]
    kinds.append(("free", numbers.partitions - sum(number for _, number, _ in kinds), "owned by nobody"))
    return [
        Fate(style, number, label, 100 * number / numbers.partitions)
        for style, number, label in kinds
        if number
    ]


def notes(diff: AssignmentDiff) -> list[tuple[str, str]]:
    """Return (kind, sentence) for each note, at most `_NOTES` of each kind and one that counts the others.

    Kinds are "Conflict", "Assumed", "Warning" and "Matched", in this order.
    """
    conflicts = [
        f"{conflict.topic}-{conflict.partition} has two owners: "
        f"before {', '.join(conflict.before) or 'nobody'}, after {', '.join(conflict.after) or 'nobody'}."
        for conflict in diff.conflicts[:_NOTES]
    ]
    return [
        *_first_notes("Conflict", conflicts, len(diff.conflicts)),
        *_first_notes("Assumed", (assumed := diff_assumptions(diff)), len(assumed)),
        *_first_notes("Warning", diff.warnings, len(diff.warnings)),
        *_first_notes("Matched", renames(diff), len(diff.matching.renames)),
    ]


def _first_notes(kind: str, texts: Sequence[str], number: int) -> list[tuple[str, str]]:
    """Return the first `_NOTES` notes of one kind, and one on how many more there are.

    Args:
        kind: the kind of these notes.
        texts: the sentences, or at least the first `_NOTES` of them.
        number: how many notes of this kind there are altogether.
    """
    more = [f"and {number - _NOTES:,} more."] if number > _NOTES else []
    return [(kind, text) for text in (*texts[:_NOTES], *more)]
