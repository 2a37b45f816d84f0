"""Define the verdict on a join of topics partition by partition, and sum up the audits that it needs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from copartition.audit.topic_audit import Span, TopicAudit
from copartition.check.writers import Placement, placement_of
from copartition.kit.words import list_names
from partitioning.errors import InvalidConfigError
from partitioning.kit.packages import read_toml

Weight: TypeAlias = Literal["against", "open", "for"]


class KeyApart(NamedTuple):
    """A key that is at different partition numbers in at least two topics.

    Attributes:
        key: its bytes.
        places: its partition in each topic; None if a topic does not have the key.
    """

    key: bytes
    places: tuple[int | None, ...]


def differing_places(low: Sequence[int | None], high: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return a partition of a key for each topic; at least two of the partitions differ.

    Args:
        low: the lowest partition that has the key, in each topic; None if a topic lacks it.
        high: the highest partition that has the key, in each topic.
    """
    for places in (low, high):
        if len({*places} - {None}) > 1:
            return tuple(places)
    # All lowest partitions are equal, and all highest ones. So a mixture of both lists has two that differ.
    first = next(topic for topic, partition in enumerate(low) if partition is not None)
    return (*low[: first + 1], *high[first + 1 :])


@dataclass(frozen=True)
class KeyProof:
    """The evidence of the keys themselves.

    Attributes:
        keys: distinct keys of each topic.
        common: distinct keys that are in more than one topic.
        apart: how many of the common keys are at different partition numbers.
        examples: a few of the keys that are apart.
        scattered: distinct keys of each topic that are in more than one of its own partitions.
        complete: whether every record of every topic was read, so that no key was missed.
        hashed: whether keys were compared by 64-bit hashes only, so that `apart` may count a collision.
        everywhere: distinct keys that are in every topic; None if they were not counted.
        share: the share of all keys that was compared; they are chosen by hash, so alike in every topic.
    """

    keys: tuple[int, ...]
    common: int
    apart: int
    examples: tuple[KeyApart, ...]
    scattered: tuple[int, ...]
    complete: bool
    hashed: bool
    everywhere: int | None = None
    share: float = 1.0


@dataclass(frozen=True)
class JoinReason:
    """One fact for or against a join.

    Attributes:
        code: "counts", "rules", "changed-rule", "epochs", "strays", "mixed", "unexplained", "too-few-keys",
            "no-records", "keyless", "forms", "respelled", "keys", "keys-apart", "scattered", "no-common-key",
            "sample" or "unproved".
        topics: the names of the topics that the fact is about.
        text: the fact in a sentence.
        weight: "against": the fact proves that the join breaks; "open": it leaves the question open; "for":
            it speaks for the join.
    """

    code: str
    topics: tuple[str, ...]
    text: str
    weight: Weight = "for"


_REASONS = read_toml(__package__, "reasons.toml")


def reason_of(
    case: str, topics: tuple[str, ...], weight: Weight | None = None, **facts: object
) -> JoinReason:
    """Return the reason that `reasons.toml` has for a case.

    Args:
        case: the name of the row.
        topics: the topics that the reason concerns; "{topics}" in the row's text stands for them.
        weight: the weight of the reason; None for the weight in the row.
        facts: a value for each other name in braces in the row's text.
    """
    about = _REASONS[case]
    text = about["text"].format(topics=list_names(topics), **facts)
    return JoinReason(about.get("code", case), topics, text, weight or about["weight"])


@dataclass(frozen=True)
class Remedy:
    """A change that makes a join possible, or that settles whether it is.

    Attributes:
        topic: the topic that must be rewritten or read, or whose writer must be changed.
        text: what to do, in words.
        command: the command or setting for it; None if there is none.
    """

    topic: str
    text: str
    command: str | None


_ANSWERS: dict[Weight, Literal["yes", "no", "unknown"]] = {
    "against": "no",
    "open": "unknown",
    "for": "yes",
}
"""Weight of a reason -> the answer that it gives, the heaviest first: one reason against a join decides."""


@dataclass(frozen=True)
class JoinVerdict:
    """The verdict on whether topics can be joined partition by partition.

    Attributes:
        topics: names of the topics, in the order of the join.
        answer: "no" if a reason proves that the join breaks, else "unknown" if a reason leaves the question
            open, else "yes".
        reasons: all reasons, the deciding ones first.
        remedies: ways out, the cheapest first; empty for "yes".
        assumed: what the answer assumes, in sentences.
        proof: what the keys say; None if no keys were read.
    """

    topics: tuple[str, ...]
    answer: Literal["yes", "no", "unknown"]
    reasons: tuple[JoinReason, ...]
    remedies: tuple[Remedy, ...]
    assumed: tuple[str, ...]
    proof: KeyProof | None


def verdict_of(
    topics: tuple[str, ...],
    reasons: Iterable[JoinReason],
    remedies: Iterable[Remedy],
    assumed: Iterable[str],
    proof: KeyProof | None = None,
) -> JoinVerdict:
    """Return the verdict that follows from the heaviest of these reasons.

    Args:
        topics: the topics of the join, in its order.
        reasons: at least one, in the order in which they were found.
        remedies: ways out, the cheapest first; a "yes" needs none, so it gets none.
        assumed: what the answer assumes, in sentences.
        proof: what the keys say; None if no keys were read.
    """
    # The sort is stable, so reasons of one weight stay in the order in which they were found.
    ranked = sorted(reasons, key=lambda reason: [*_ANSWERS].index(reason.weight))
    answer = _ANSWERS[ranked[0].weight]
    return JoinVerdict(
        topics, answer, tuple(ranked), () if answer == "yes" else tuple(remedies), tuple(assumed), proof
    )


class AuditSummary:
    """An audit summed up over a whole topic.

    Attributes:
        audit: the audit, which tells who wrote the topic, partition by partition.
        name: the topic's name.
        count: the topic's partition count today.
        full: whether every record was read.
        rows: how many records were read.
        keyless: how many of the read records have no key or an empty one.
        keyed: how many of the read records have another key.
        missed: how many keyed records are not where the rule of their range puts them.
        records: the most records that the topic can have.
        trusted: whether the rules that were found are sure or likely.
    """

    def __init__(self, audit: TopicAudit) -> None:
        self.audit = audit
        self.name = audit.topic
        self.count = audit.num_partitions
        self.full = audit.coverage.kind == "full"
        self.rows = sum(span.rows for span in audit.spans)
        self.keyless = sum(span.keyless for span in audit.spans)
        self.keyed = self.rows - self.keyless
        self.missed = self.keyed - sum(span.explained for span in audit.spans)
        self.records = audit.coverage.present
        self.trusted = audit.certainty in {"sure", "likely"}

    @cached_property
    def _placements(self) -> list[tuple[Span, Placement]]:
        """The ranges of offsets that have a rule and at least one key, each with its rule."""
        return [
            (span, placement_of(span.writer))
            for span in self.audit.spans
            if span.writer is not None and span.rows > span.keyless
        ]

    @cached_property
    def rules(self) -> frozenset[Placement]:
        """The rules that explain the topic's keyed records best, with today's partition count or another."""
        return frozenset(rule for _, rule in self._placements)

    @cached_property
    def today(self) -> frozenset[Placement]:
        """Those of `rules` that have today's partition count."""
        return frozenset(rule for rule in self.rules if rule.num_partitions == self.count)

    @cached_property
    def possible(self) -> frozenset[Placement]:
        """The rules of `today`, and those rivals of `rules` that have today's partition count."""
        rivals = (placement_of(rival) for span, _ in self._placements for rival in span.rivals)
        return self.today | {rule for rule in rivals if rule.num_partitions == self.count}

    @cached_property
    def profiles(self) -> frozenset[str]:
        """The names of the profiles that place keys by one of `rules`."""
        return frozenset(
            name for span in self.audit.spans if span.writer is not None for name in span.writer.same_rule
        )

    @cached_property
    def old_counts(self) -> list[int]:
        """The partition counts other than today's with which records were placed, ascending."""
        return sorted(
            {count for _, rule in self._placements if (count := rule.num_partitions or 0) != self.count}
        )

    @cached_property
    def old_rows(self) -> int:
        """The number of keyed records that were placed with one of `old_counts`."""
        return sum(
            span.rows - span.keyless for span, rule in self._placements if rule.num_partitions != self.count
        )


def checked_topics(names: Iterable[str]) -> tuple[str, ...]:
    """Return the topics of a join as a tuple.

    Raises:
        InvalidConfigError: there are fewer than two topics, or a topic is named twice.
    """
    topics = tuple(names)
    if len(topics) < 2 or len({*topics}) < len(topics):
        raise InvalidConfigError(
            f"a join has two topics or more, each once, not {', '.join(topics) or 'none'}"
        )
    return topics
