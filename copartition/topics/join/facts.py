"""A topic's audit, summed up for a verdict, and words that all reasons share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from copartition.topics.join.writers import placement_of
from partitioning.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from copartition.topics.audit.topic_audit import Span, TopicAudit
    from copartition.topics.join.writers import Placement


class Topic:
    """What an audit says of a whole topic.

    Args:
        audit: the audit.
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
    def _placed(self) -> list[tuple[Span, Placement]]:
        return [
            (span, placement_of(span.writer))
            for span in self.audit.spans
            if span.writer is not None and span.rows > span.keyless
        ]

    @cached_property
    def rules(self) -> frozenset[Placement]:
        """The rules that explain its keyed records best, over today's count or an older one."""
        return frozenset(rule for _, rule in self._placed)

    @cached_property
    def today(self) -> frozenset[Placement]:
        """Of the rules, those over today's count."""
        return frozenset(rule for rule in self.rules if rule.num_partitions == self.count)

    @cached_property
    def possible(self) -> frozenset[Placement]:
        """Those and their rivals over the same count."""
        rivals = (placement_of(rival) for span, _ in self._placed for rival in span.rivals)
        return self.today | {rule for rule in rivals if rule.num_partitions == self.count}

    @cached_property
    def profiles(self) -> frozenset[str]:
        """Profiles with one of the rules."""
        return frozenset(
            name for span in self.audit.spans if span.writer is not None for name in span.writer.same_rule
        )

    @cached_property
    def old_counts(self) -> list[int]:
        """Partition counts other than today's over which records were placed."""
        return sorted(
            {count for _, rule in self._placed if (count := rule.num_partitions or 0) != self.count}
        )

    @cached_property
    def old_rows(self) -> int:
        """Keyed records that were placed over those."""
        return sum(
            span.rows - span.keyless for span, rule in self._placed if rule.num_partitions != self.count
        )


def checked_topics(names: Iterable[str]) -> tuple[str, ...]:
    """The topics of a join.

    Raises:
        InvalidConfigError: fewer than two, or one of them twice.
    """
    topics = tuple(names)
    if len(topics) < 2 or len({*topics}) < len(topics):
        raise InvalidConfigError(
            f"a join has two topics or more, each once, not {', '.join(topics) or 'none'}"
        )
    return topics


def key_text(key: bytes, most: int = 60) -> str:
    """A key as people can read it: its text in quotes, else its bytes; of a long one, its beginning."""
    shown = key[:most]
    try:
        text = repr(shown.decode())
    except UnicodeDecodeError:
        text = f"0x{shown.hex()}"
    return text if len(key) <= most else f"{text} and {len(key) - most:,} bytes more"
