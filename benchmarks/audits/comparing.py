"""Whether an audit named who wrote a topic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from benchmarks.audits.keys import KEYS
from benchmarks.audits.truth import Rule, rule
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column
from partitioning.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.audits.truth import Written
    from copartition.audit.topic_audit import TopicAudit, Writer

RISK = 1e-6
"""Records say who wrote them where they are there by chance no likelier than this, under any of the rules."""

_PROBES = key_column([b"probe-%d" % number for number in range(4096)])


@cache
def placing(one: Rule) -> bytes:
    """The same for rules that place all keys alike over their count."""
    hashes = HASHES[one.hash].column(_PROBES.offsets, _PROBES.data)
    return partitions_of(hashes, one.num_partitions, one.sign).tobytes()


@cache
def alike(one: Rule) -> frozenset[str]:
    """Every profile that places keys as this rule does: no record can tell them apart."""
    return frozenset(name for name in PROFILES if placing(rule(name, one.num_partitions)) == placing(one))


@dataclass(frozen=True)
class AuditBesideTruth:
    """An audit beside the truth.

    Attributes:
        topic: what was written.
        audit: what was said of it.
    """

    topic: Written
    audit: TopicAudit

    @cached_property
    def written(self) -> list[set[bytes | None]]:
        """How each phase placed its records; several ways where it was mixed, None for no rule."""
        return [
            {None if writer is None else placing(writer) for writer in self.topic.writers(phase)}
            for phase in range(len(self.topic.cell.phases))
        ]

    @cached_property
    def expected(self) -> str:
        """What the records can tell: "named", "mixed", "none" (of the rules) or "cannot tell"."""
        if any(len(ways) > 1 for ways in self.written):
            return "mixed"
        if any(None in ways for ways in self.written):
            return "none"
        return "named" if all(map(self._is_explained, range(len(self.written)))) else "cannot tell"

    @property
    def faults(self) -> list[str]:
        """What was said that is wrong, or not said that the records can tell; empty where all is right."""
        return list(self._faults())

    def _is_explained(self, phase: int) -> bool:
        """Whether the keyed records of a phase are where one rule alone puts them, and hardly by chance."""
        keys = {
            key for key, when in zip(self.topic.records.keys, self.topic.phase, strict=True) if when == phase
        }
        rules = {placing(candidate) for candidate in self.topic.possible(phase)}
        count = self.topic.cell.phases[phase].partitions
        chance = (1 / (count if count > 1 else self.topic.num_partitions)) ** len(keys - {None, b""})
        return rules == self.written[phase] and (self.audit.tried - 1) * chance < RISK

    def _faults(self) -> Iterator[str]:
        keys = KEYS[self.topic.cell.keys]
        if [(form.name, form.schema_ids) for form in self.audit.forms] != [
            (keys.form, keys.schema_ids)
        ] * bool(keys.form):
            yield "has keys of another form"
        said, expected = self.audit.certainty, self.expected
        certainties = {
            "named": {"sure", "likely"},
            "mixed": {"mixed"},
            "none": {"none"},
            "cannot tell": {"unknown"},
        }
        if said not in certainties[expected]:
            yield f"is called {said}"
        if expected == "cannot tell":
            return
        true = {way for ways in self.written for way in ways} - {None}
        spans = {placing(_rule(span.writer)) for span in self.audit.spans if span.writer}
        named = spans | {placing(_rule(share.writer)) for share in self.audit.shares}
        if named - true:
            yield "names a writer that is none"
        if true - named:
            yield "does not name a writer"
        if expected != "named":
            return
        if strays := sum(span.rows - span.keyless - span.explained for span in self.audit.spans):
            yield f"has {strays} strays that are none"
        if any(span.rivals for span in self.audit.spans):
            yield "has rivals that the records rule out"
        if not all(map(self._in_order, range(self.topic.num_partitions))):
            yield "has writers in another order"

    def _in_order(self, partition: int) -> bool:
        """Whether the writers of a partition are some of the true ones, in their order."""
        spans = [span for span in self.audit.spans if span.partition == partition and span.writer]
        said = [way for way, _ in groupby(placing(_rule(span.writer)) for span in spans if span.writer)]
        true = iter([next(iter(ways)) for ways in self.written])
        return all(way in true for way in said)

    @property
    def writers(self) -> tuple[Writer, ...]:
        """The writers named, those of the oldest records first."""
        spans = [span for span in self.audit.spans if span.writer]
        spans.sort(key=lambda span: (span.first_ms or 0, span.first))
        return tuple(dict.fromkeys(span.writer for span in spans if span.writer))


def _rule(writer: Writer) -> Rule:
    return rule(writer.profile, writer.num_partitions)
