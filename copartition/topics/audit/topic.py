"""The audit of a topic of a cluster, from one reading."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from copartition.topics.audit.conclusion import conclude
from copartition.topics.audit.forms import FormCounts
from copartition.topics.audit.reader import read_records
from copartition.topics.audit.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Future

    from copartition.topics.audit.reader import Selection
    from copartition.topics.audit.topic_audit import LogicalKey, Records, TopicAudit

ALL_FORMS = 1 << 18
"""So many records are looked at for the forms of their keys, and of all further ones, one batch in eight."""

_ONE_IN = 8


def audit_topic(
    topic: str,
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    committed: bool = False,
    also: Callable[[Records], object] | None = None,
    decode: Callable[[bytes, str], LogicalKey] | None = None,
) -> TopicAudit:
    """Who wrote a topic, as far as the selected records tell.

    Joins no group, commits nothing, creates nothing; memory is bounded whatever the topic's size.

    Args:
        topic: its name.
        config: librdkafka settings; `bootstrap.servers` at least.
        selection: which records; a sample by default.
        committed: leave out records of transactions that are open or were aborted.
        also: what else to do with each batch of records.
        decode: what a key of a form says, such as a `decoding.KeyDecoder`; by default what its bytes tell.

    Raises:
        UnknownTopicError: there is no such topic; the message proposes near names.
        TopicAccessError: we may not read or describe it; the message names the missing ACL.
        TopicChangedError: the topic was deleted or made anew while it was read.
        BrokerUnreachableError: no broker answers, and why.
        InvalidConfigError: a partition that the topic does not have, or settings that librdkafka refuses.
    """
    with read_records(topic, config, selection, committed=committed) as reading:
        tally, forms, read = Tally(reading.num_partitions), FormCounts(), 0

        def count(records: Records, *, with_forms: bool) -> None:
            tally.add(records)
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
        return conclude(topic, tally, reading.coverage, forms.forms(decode), compacted=reading.compacted)
