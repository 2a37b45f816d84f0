"""Topics of a cluster, each read once: audited, and checked for a join by partition."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from copartition.audit.conclusion import conclude
from copartition.audit.forms import FormCounts
from copartition.audit.hottest import HotKeys
from copartition.audit.reader import Reading
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import LogicalKey, Records, Selection, TopicAudit
from copartition.check.judge import judge
from copartition.check.proof import KeyComparison, KeyPairs
from copartition.check.verdict import JoinVerdict, checked_topics

ALL_FORMS = 1 << 18
"""So many records are looked at for the forms of their keys, and of all further ones, one batch in eight."""

_ONE_IN = 8


def audit_topic(
    topic: str,
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    also: Callable[[Records], object] | None = None,
    decode: Callable[[bytes, str], LogicalKey] | None = None,
) -> TopicAudit:
    """Who wrote a topic, as far as the selected records show.

    Joins no group, commits nothing, creates nothing; memory is bounded whatever the topic's size.

    Args:
        topic: its name.
        config: librdkafka settings; `bootstrap.servers` at least.
        selection: which records; a sample by default.
        also: what else to do with each batch of records.
        decode: what a key of a form says, such as a `decoder.KeyDecoder`; by default what its bytes show.

    Raises:
        TopicChangedError: the topic was deleted or made anew while it was read.
        CopartitionError: the topic cannot be read, as in `Reading`.
    """
    with Reading(topic, config, selection) as reading:
        tally, hot, forms, read = Tally(reading.num_partitions), HotKeys(), FormCounts(), 0

        def count(records: Records, *, with_forms: bool) -> None:
            hot.add(records, tally.add(records).get("murmur2"))
            if also is not None:
                also(records)
            if with_forms:
                forms.add(records.keys)

        # NumPy counts a batch without the interpreter's lock, so meanwhile the next one is read.
        with ThreadPoolExecutor(max_workers=1) as thread:
            counted: Future[None] | None = None
            for number, records in enumerate(reading):
                if counted is not None:
                    counted.result()
                read += len(records.offset)
                with_forms = read <= ALL_FORMS or number % _ONE_IN == 0
                counted = thread.submit(count, records, with_forms=with_forms)
            if counted is not None:
                counted.result()
        audit = conclude(topic, tally, reading.coverage, forms.forms(decode), compacted=reading.compacted)
        return replace(audit, hottest=hot.hottest(), hottest_error=hot.error)


_UNCOMMITTED = (
    "records of open and aborted transactions count, as for a reader at read_uncommitted; "
    "--isolation read-committed leaves them out"
)
_COMMITTED = "records of open and aborted transactions do not count, as for a reader at read_committed"


class JoinCheck(NamedTuple):
    """A verdict and what it rests on."""

    verdict: JoinVerdict
    audits: tuple[TopicAudit, ...]  # who wrote each topic
    pairs: tuple[KeyPairs, ...]  # of each topic but the last, where its keys are that the next one has, too


def check_topics(
    topics: Sequence[str],
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    decoder: Callable[[str], Callable[[bytes, str], LogicalKey] | None] = lambda _: None,
) -> JoinCheck:
    """Whether topics of a cluster can be joined partition by partition.

    A sample, the default of `selection`, can prove that a join breaks but never that it holds. Fewer than two
    topics, or one of them twice, raise `InvalidConfigError`; other arguments and errors are those of
    `audit_topic`.
    """
    names = checked_topics(topics)
    comparison = KeyComparison(len(names))
    audits = [
        audit_topic(topic, config, selection, also=partial(comparison.add, number), decode=decoder(topic))
        for number, topic in enumerate(names)
    ]
    complete = all(audit.coverage.kind == "full" for audit in audits)
    verdict = judge(audits, comparison.proof(complete=complete))
    isolation = _COMMITTED if selection is not None and selection.committed else _UNCOMMITTED
    verdict = replace(verdict, assumed=(*verdict.assumed, isolation))
    pairs = tuple(comparison.pairs(one, other) for one, other in pairwise(range(len(names))))
    return JoinCheck(verdict, tuple(audits), pairs)
