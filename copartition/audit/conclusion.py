"""Draw the conclusion on who wrote a topic from counts of its records.

Writers were found while records were counted (`tally`). Here their records are cut into ranges of offsets
(`ranges`), and one word says how certain the result is.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from copartition.audit.ranges import NEVER, explained_ranges, widen_blocks
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import Coverage, KeyForm, Share, Span, TopicAudit, Writer

Certainty: TypeAlias = Literal["sure", "likely", "mixed", "none", "unknown"]

LIKELY = 0.9
"""If writers explain at least this share of the keyed records, they count as likely; the rest are strays."""

MIXED = 0.01
"""Writers other than those of the ranges matter only if they explain this share of the keyed records."""


def conclude(
    topic: str,
    tally: Tally,
    coverage: Coverage,
    forms: Sequence[KeyForm] = (),
    *,
    compacted: bool | None = None,
) -> TopicAudit:
    """Return who wrote a topic, as far as the counted records show.

    If several tasks counted parts of a topic, merge their tallies first.

    Args:
        topic: the topic's name.
        tally: the counts of all records that were read.
        coverage: the part of the topic that was read.
        forms: forms of the keys, most frequent first.
        compacted: whether `cleanup.policy` has "compact"; None if that is unknown.
    """
    tally.settle()
    rivals = _rivals(tally)
    spans = tuple(_spans(tally, rivals))
    used = {span.writer for span in spans}
    shares = tuple(
        Share(tally.writers[tally.best(group)], group.rows)
        for group in sorted(tally.groups, key=lambda group: -group.rows)
        # A writer that was counted only because it may have written is shown only if it explains a range.
        if group.rows and (group.from_records or tally.writers[tally.best(group)] in used)
    )
    return TopicAudit(
        topic=topic,
        num_partitions=tally.num_partitions,
        spans=spans,
        forms=tuple(forms),
        coverage=coverage,
        certainty=_certainty(tally, spans, shares),
        tried=tally.trials.tried,
        compacted=compacted,
        shares=shares,
    )


def _rivals(tally: Tally) -> dict[Writer, tuple[Writer, ...]]:
    """Return, for each writer, the others that were found with it and explain as many records.

    Nothing in the records shows which of them wrote, so to name only one of them would be a guess.
    """
    total = tally.explained
    return {
        tally.writers[one]: tuple(
            tally.writers[other] for other in group.writers if other != one and total[other] == total[one]
        )
        for group in tally.groups
        for one in group.writers
    }


def _spans(tally: Tally, rivals: dict[Writer, tuple[Writer, ...]]) -> list[Span]:
    """Return the spans by partition and offset; if no writer was found, each partition has only one.

    Each of the `explained_ranges` becomes a span. Its candidate, an index into `tally.writers`, becomes the
    writer. A time that no row has becomes None. A range in which the candidate explains nothing has no
    writer.

    Args:
        tally: a tally that was settled, so that it has counted all its records.
        rivals: writer -> the other writers that explain as many records.
    """
    if not len(tally.blocks.rows):
        return []
    counts = [writer.num_partitions for writer in tally.writers]
    blocks = tally.blocks if counts else widen_blocks(tally.blocks, (), 1)
    spans = []
    for range_ in explained_ranges(blocks, counts or [1]):
        fields = range_._asdict()
        candidate = fields.pop("candidate")
        writer = tally.writers[candidate] if range_.explained else None
        fields |= {
            "first_ms": None if range_.first_ms == NEVER else range_.first_ms,
            "last_ms": None if range_.last_ms < 0 else range_.last_ms,
            "missed": tuple(range_.missed) if counts else (),
        }
        spans.append(Span(**fields, writer=writer, rivals=() if writer is None else rivals[writer]))
    return spans


def _certainty(tally: Tally, spans: Sequence[Span], shares: Sequence[Share]) -> Certainty:
    """Return how certain the spans and shares are.

    "unknown" means that there were too few keys, although they may fit a writer. "none" means that there were
    enough keys and no writer was found. "mixed" means that writers explain too few keyed records, or that
    several of them wrote in the same range.

    Args:
        tally: the counts, from which the number of keys for each writer is taken.
        spans: the ranges.
        shares: the writers that explain records anywhere.
    """
    keyed = sum(span.rows - span.keyless for span in spans)
    if not keyed:
        return "unknown"
    explained = sum(span.explained for span in spans)
    used = {span.writer for span in spans if span.explained}
    groups = [group for group in tally.groups if used & {tally.writers[writer] for writer in group.writers}]
    convincing = [tally.enough(len(group.proof), tally.writers[tally.best(group)]) for group in groups]
    # If no writer has enough keys as evidence, there are two cases. If a search among enough keys has found
    # no writer, no rule fits. Otherwise nothing is known.
    if not any(convincing):
        return "none" if tally.vain else "unknown"
    if not all(convincing) or any(span.rivals for span in spans):
        return "unknown"
    # Records that a writer explains, but not the writer of their range, show that two clients wrote at once.
    beside = sum(share.rows for share in shares) - explained
    if explained < LIKELY * keyed or beside >= MIXED * keyed:
        return "mixed"
    # All records in partition 0 may mean that the topic had only one partition, but there are other causes,
    # so this is never sure.
    single = tally.num_partitions > 1 and any(writer.num_partitions == 1 for writer in used if writer)
    return "sure" if explained == keyed and not single else "likely"
