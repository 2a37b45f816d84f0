"""`benchmarks/audits.md`: a row a topic, and how many joins got which verdict."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.audits.asking import check
from benchmarks.audits.truth import broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.audits.comparing import AuditBesideTruth
    from copartition.audit.topic_audit import Writer

HEAD = """\
# Audits and joins, measured

Topics that real clients wrote to a real broker ([how](audits/README.md)), audited and joined by pairs; who
wrote them was not told. Made by `python -m benchmarks.audits --compare`.
"""


class JoinVerdictOf(NamedTuple):
    """Two topics and what was said of their join.

    Attributes:
        topics: their names.
        broken: whether the join misses anything, by all their records.
        answer: "yes", "no" or "unknown".
        open: codes of the reasons that left it open.
    """

    topics: tuple[str, str]
    broken: bool
    answer: str
    open: tuple[str, ...]


def judge_joins(named: Iterable[tuple[AuditBesideTruth, AuditBesideTruth]]) -> Iterator[JoinVerdictOf]:
    """The verdict on each of these pairs."""
    for one, other in named:
        verdict = check(one.topic, other.topic, (one.audit, other.audit))
        yield JoinVerdictOf(
            verdict.topics,
            broken(one.topic, other.topic),
            verdict.answer,
            tuple(sorted({reason.code for reason in verdict.reasons if reason.weight == "open"})),
        )


def page(named: Sequence[AuditBesideTruth]) -> str:
    """The whole page."""
    return "\n".join([HEAD, *_topics(named), "", *_joins(list(judge_joins(combinations(named, 2)))), ""])


def topic_rows(named: Sequence[AuditBesideTruth]) -> list[str]:
    """A row a topic."""
    rows = []
    for comparison in named:
        cell = comparison.topic.cell
        lived = ", ".join(
            " + ".join(
                f"{client} {share * 10} %" if share < 10 else client for client, share in phase.shares.items()
            )
            + f" over {phase.partitions}"
            for phase in cell.phases
        )
        special = "" if cell.kind in {"one client", "grown", "taken over", "mixed"} else cell.kind
        keys = cell.keys if cell.keys != "text" else special
        said = "; ".join(map(_written, comparison.writers)) if comparison.audit.certainty != "unknown" else ""
        right = "yes" if not comparison.faults else f"**no**: it {', '.join(comparison.faults)}"
        fields = (
            lived,
            keys,
            str(len(comparison.topic.keyed)),
            comparison.expected,
            comparison.audit.certainty,
            said,
            right,
        )
        rows.append(f"| {' | '.join(fields)} |")
    return rows


def _topics(named: Sequence[AuditBesideTruth]) -> Iterator[str]:
    counted = Counter((comparison.expected, not comparison.faults) for comparison in named)
    right = sum(number for (_, fine), number in counted.items() if fine)
    yield f"## {len(named)} topics, {right} named rightly\n"
    yield "| what the records can tell | topics | named rightly |"
    yield "|---|---|---|"
    for expected in ("named", "mixed", "none", "cannot tell"):
        fine, wrong = counted[expected, True], counted[expected, False]
        yield f"| {expected} | {fine + wrong} | {fine} |"
    yield "\n| written by | keys | records | can be known | certainty | said | right |"
    yield "|---|---|---|---|---|---|---|"
    yield from topic_rows(named)


def _written(writer: Writer) -> str:
    return f"{writer.profile} over {writer.num_partitions}"


def _joins(joins: Sequence[JoinVerdictOf]) -> Iterator[str]:
    counted = Counter((join.broken, join.answer) for join in joins)
    answers = ("yes", "no", "unknown")
    yield f"## {len(joins):,} joins: {counted[True, 'yes']} wrong yes, {counted[False, 'no']} wrong no\n"
    yield f"| | {' | '.join(answers)} |"
    yield "|---|---|---|---|"
    for broke, name in ((False, "nothing is missed"), (True, "something is missed")):
        yield f"| {name} | {' | '.join(f'{counted[broke, answer]:,}' for answer in answers)} |"
    yield "\nWhat left a join open:\n"
    yield "| reasons | nothing is missed | something is missed |"
    yield "|---|---|---|"
    unknown = Counter((join.open, join.broken) for join in joins if join.answer == "unknown")
    for reasons in sorted({reasons for reasons, _ in unknown}):
        yield f"| {', '.join(reasons)} | {unknown[reasons, False]} | {unknown[reasons, True]} |"
