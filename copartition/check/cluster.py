"""Topics of a cluster, each read once, and checked for a join by partition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from copartition.audit.cluster import audit_topic
from copartition.audit.topic_audit import LogicalKey, Selection, TopicAudit
from copartition.check.judge import judge
from copartition.check.proof import KeyComparison
from copartition.check.verdict import JoinVerdict, checked_topics

_UNCOMMITTED = (
    "records of open and aborted transactions count, as for a reader at read_uncommitted; "
    "--isolation read-committed leaves them out"
)
_COMMITTED = "records of open and aborted transactions do not count, as for a reader at read_committed"


class JoinCheck(NamedTuple):
    """A verdict and what it rests on.

    Attributes:
        verdict: the answer with its reasons.
        audits: who wrote each topic, in the order of the topics.
    """

    verdict: JoinVerdict
    audits: tuple[TopicAudit, ...]  # who wrote each topic


def check_topics(
    topics: Sequence[str],
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    decoder: Callable[[str], Callable[[bytes, str], LogicalKey] | None] = lambda _: None,
) -> JoinCheck:
    """Return whether topics of a cluster can be joined partition by partition.

    A sample, the default of `selection`, can prove that a join breaks but never that it holds. Fewer than two
    topics, or one of them twice, raise `InvalidConfigError`; other arguments and errors are those of
    `audit_topic`.

    Args:
        topics: names, two or more.
        config: librdkafka's settings, "bootstrap.servers" at least.
        selection: which records are read; None takes a sample.
        decoder: for a topic, what its keys mean; None if they are only bytes.
    """
    names = checked_topics(topics)
    comparison = KeyComparison(len(names))
    audits = [
        # Records are read once: the audit and the comparison of keys both look at them as they pass.
        audit_topic(topic, config, selection, also=partial(comparison.add, number), decode=decoder(topic))
        for number, topic in enumerate(names)
    ]
    complete = all(audit.coverage.kind == "full" for audit in audits)
    verdict = judge(audits, comparison.proof(complete=complete))
    isolation = _COMMITTED if selection is not None and selection.committed else _UNCOMMITTED
    verdict = replace(verdict, assumed=(*verdict.assumed, isolation))
    return JoinCheck(verdict, tuple(audits))
