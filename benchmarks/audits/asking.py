"""What the audit and the join check say of recorded topics; what was true is not told to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from copartition.audit.conclusion import conclude
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import Coverage, pick_records
from copartition.check.judge import judge
from copartition.check.proof import KeyComparison
from tests.copartition.audit.written import count_forms

if TYPE_CHECKING:
    from benchmarks.audits.truth import Written
    from copartition.audit.topic_audit import TopicAudit
    from copartition.check.verdict import JoinVerdict


def audit(topic: Written, batch: int | None = None) -> TopicAudit:
    """Who wrote a topic, all of which is read.

    Args:
        topic: its records are counted, and nothing else of it.
        batch: records at a time, in the order of their offsets; all at once by default.
    """
    tally = Tally(topic.num_partitions)
    if batch is None:
        tally.add(topic.records)
    else:
        order = np.argsort(topic.records.offset, kind="stable")
        for start in range(0, len(order), batch):
            tally.add(pick_records(topic.records, order[start : start + batch]))
    return _conclude(topic, tally)


def audit_apart(topic: Written) -> TopicAudit:
    """Who wrote a topic, each partition of which is counted apart, as by tasks of a cluster.

    They start with the writers that are found in every third record.
    """
    rows = np.arange(0, len(topic.keyed), 3)
    known = Tally(topic.num_partitions)
    known.add(pick_records(topic.records, rows))
    known.settle()
    tally = known.empty_copy()
    for partition in range(topic.num_partitions):
        part = known.empty_copy()
        part.add(pick_records(topic.records, np.flatnonzero(topic.records.partition == partition)))
        tally.merge(Tally.load(part.dump()))
    return _conclude(topic, tally)


def _conclude(topic: Written, tally: Tally) -> TopicAudit:
    rows, partitions = len(topic.keyed), tuple(range(topic.num_partitions))
    coverage = Coverage("full", rows, rows, partitions, "every record")
    forms = count_forms(topic.records.keys).forms()
    return conclude(topic.cell.topic, tally, coverage, forms, compacted=topic.cell.compacted)


def check(one: Written, other: Written, audits: tuple[TopicAudit, TopicAudit]) -> JoinVerdict:
    """Whether two topics can be joined, all keys of which are compared."""
    keys = KeyComparison(2)
    for number, topic in enumerate((one, other)):
        keys.add(number, topic.records)
    return judge(audits, keys.proof(complete=True))
