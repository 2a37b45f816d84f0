"""A join checked on a cluster: every topic read once, audited and compared."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from copartition.topics.audit.topic import audit_topic
from copartition.topics.join.facts import checked_topics
from copartition.topics.join.judge import judge
from copartition.topics.join.proof import KeyComparison, KeyPairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from copartition.topics.audit.reader import Selection
    from copartition.topics.audit.topic_audit import LogicalKey, TopicAudit
    from copartition.topics.join.verdict import JoinVerdict

_UNCOMMITTED = (
    "records of open and aborted transactions count, as for a reader at read_uncommitted; "
    "--isolation read-committed leaves them out"
)
_COMMITTED = "records of open and aborted transactions do not count, as for a reader at read_committed"


class JoinCheck(NamedTuple):
    """A verdict and what it rests on.

    Attributes:
        verdict: the verdict.
        audits: who wrote each topic.
        pairs: of each topic but the last, where its keys are that the next one has, too.
    """

    verdict: JoinVerdict
    audits: tuple[TopicAudit, ...]
    pairs: tuple[KeyPairs, ...]


def check_topics(
    topics: Sequence[str],
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    committed: bool = False,
    decoder: Callable[[str], Callable[[bytes, str], LogicalKey] | None] = lambda _: None,
) -> JoinCheck:
    """Whether topics of a cluster can be joined partition by partition.

    Args:
        topics: two or more names.
        config: librdkafka settings; `bootstrap.servers` at least.
        selection: which records to read; a sample by default, which can prove that a join breaks but never
            that it holds.
        committed: leave out records of transactions that are open or were aborted.
        decoder: of a topic, what its keys say, such as a `decoding.KeyDecoder`.

    Raises:
        InvalidConfigError: fewer than two topics, or one of them twice.
        CopartitionError: a topic cannot be read; see `audit_topic`.
    """
    names = checked_topics(topics)
    comparison = KeyComparison(len(names))
    audits = [
        audit_topic(
            topic,
            config,
            selection,
            committed=committed,
            also=partial(comparison.add, number),
            decode=decoder(topic),
        )
        for number, topic in enumerate(names)
    ]
    complete = all(audit.coverage.kind == "full" for audit in audits)
    verdict = judge(audits, comparison.proof(complete=complete))
    verdict = replace(verdict, assumed=(*verdict.assumed, _COMMITTED if committed else _UNCOMMITTED))
    pairs = tuple(comparison.pairs(one, other) for one, other in pairwise(range(len(names))))
    return JoinCheck(verdict, tuple(audits), pairs)
