"""Read topics of a cluster once each, and check them for a join by partition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from copartition.audit.cluster import audit_topic
from copartition.audit.topic_audit import LogicalKey, Selection
from copartition.check.judge import judge
from copartition.check.proof import KeyComparison
from copartition.check.report import JoinReport
from copartition.check.verdict import checked_topics

_UNCOMMITTED = (
    "records of open and aborted transactions count, as for a reader at read_uncommitted; "
    "--isolation read-committed leaves them out"
)
_COMMITTED = "records of open and aborted transactions do not count, as for a reader at read_committed"


def check_topics(
    topics: Sequence[str],
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    decoder: Callable[[str], Callable[[bytes, str], LogicalKey] | None] = lambda _: None,
) -> JoinReport:
    """Return whether topics of a cluster can be joined partition by partition.

    A sample, the default of `selection`, can prove that a join breaks, but never that it works. For the other
    arguments and errors see `audit_topic`.

    Args:
        topics: names of the topics, two or more.
        config: librdkafka's settings, with "bootstrap.servers" at least.
        selection: the records to read; None takes a sample.
        decoder: returns the function that decodes the keys of a topic, as `decode` of `audit_topic`; None if
            the keys of this topic are not decoded.

    Raises:
        InvalidConfigError: there are fewer than two topics, or a topic is named twice.
    """
    names = checked_topics(topics)
    comparison = KeyComparison(len(names))
    audits = [
        # Records are read only once: the audit and the comparison of keys both get each batch.
        audit_topic(topic, config, selection, also=partial(comparison.add, number), decode=decoder(topic))
        for number, topic in enumerate(names)
    ]
    complete = all(audit.coverage.kind == "full" for audit in audits)
    verdict = judge(audits, comparison.proof(complete=complete))
    isolation = _COMMITTED if selection is not None and selection.committed else _UNCOMMITTED
    verdict = replace(verdict, assumed=(*verdict.assumed, isolation))
    return JoinReport(verdict, tuple(audits))
