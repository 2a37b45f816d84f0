"""From counts to a verdict on who wrote a topic.

Writers were found while counting (`tally`); here they are cut into ranges of offsets (`ranges`), and what the
whole is worth is said in one word.
"""

from collections.abc import Sequence
from typing import Literal, TypeAlias

from copartition.audit.ranges import NEVER, explained_ranges, widen_blocks
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import Coverage, KeyForm, Share, Span, TopicAudit, Writer

Certainty: TypeAlias = Literal["sure", "likely", "mixed", "none", "unknown"]

LIKELY = 0.9
"""Share of the keyed records from which on their writers are likely, the rest being strays."""

MIXED = 0.01
"""Share of the keyed records from which on a client that wrote beside the others is one of several."""


def conclude(
    topic: str,
    tally: Tally,
    coverage: Coverage,
    forms: Sequence[KeyForm] = (),
    *,
    compacted: bool | None = None,
) -> TopicAudit:
    """Return who wrote a topic, as far as the counted records show.

    Tallies of several tasks are merged before.

    Args:
        topic: its name.
        tally: the counts of all records that were read.
        coverage: what was read.
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
        # A writer that was counted on suspicion only is shown if a range needs it.
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

    Nothing in the records tells these apart, so naming one of them would be a guess.
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
    """Return the spans; if no writer was found, one a partition, as by a candidate that explains nothing.

    Each of the `explained_ranges` becomes a span: its candidate, a position in `tally.writers`, becomes the
    writer, and times and offsets that no row has become None. A range in which the candidate explains nothing
    has no writer.

    Args:
        tally: settled, so that it has counted everything.
        rivals: of each writer.
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
    """Return how sure the spans and shares are.

    "unknown" if there is too little to tell, though the few keys may fit; "none" if there was enough, and no
    writer was found; "mixed" if writers explain too few keyed records, or one of them wrote beside the
    others.

    Args:
        tally: the counts, for the number of keys behind each writer.
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
    # No writer has enough keys behind it. If enough keys were looked at in vain, no rule fits; else nothing
    # is known.
    if not any(convincing):
        return "none" if tally.vain else "unknown"
    if not all(convincing) or any(span.rivals for span in spans):
        return "unknown"
    # Records that some writer explains, but not the one of their range: it wrote at the same time as that.
    beside = sum(share.rows for share in shares) - explained
    if explained < LIKELY * keyed or beside >= MIXED * keyed:
        return "mixed"
    # That all is in partition 0 is not only what a single partition looks like.
    single = tally.num_partitions > 1 and any(writer.num_partitions == 1 for writer in used if writer)
    return "sure" if explained == keyed and not single else "likely"
