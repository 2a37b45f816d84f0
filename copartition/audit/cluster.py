"""Read a topic of a cluster once, and audit it."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from copartition.audit.conclusion import conclude
from copartition.audit.forms import FormCounts
from copartition.audit.hottest import HotKeys
from copartition.audit.reader import TopicReading
from copartition.audit.tally import Tally
from copartition.audit.topic_audit import LogicalKey, Records, Selection, TopicAudit

ALL_FORMS = 1 << 18
"""The forms of keys are looked at in this many records; after them, only in one batch of `_ONE_IN`."""

_ONE_IN = 8


def audit_topic(
    topic: str,
    config: Mapping[str, Any],
    selection: Selection | None = None,
    *,
    also: Callable[[Records], object] | None = None,
    decode: Callable[[bytes, str], LogicalKey] | None = None,
) -> TopicAudit:
    """Return who wrote a topic, as far as the selected records show.

    The audit joins no group, commits nothing and creates nothing. Its memory is bounded, however large the
    topic is.

    Args:
        topic: the topic's name.
        config: librdkafka settings, with `bootstrap.servers` at least.
        selection: the records to read; a sample by default.
        also: called with each batch of records.
        decode: called with a key and the name of its form; returns the key's meaning. For example, a
            `decoder.KeyDecoder`. By default the meaning is read from the key's bytes.

    Raises:
        TopicChangedError: the topic was deleted or recreated while it was read.
        CopartitionError: the topic cannot be read, as in `TopicReading`.
    """
    with TopicReading(topic, config, selection) as reading:
        tally, hot, forms, read = Tally(reading.num_partitions), HotKeys(), FormCounts(), 0

        def count(records: Records, *, with_forms: bool) -> None:
            hot.add(records, tally.add(records).get("murmur2"))
            if also is not None:
                also(records)
            if with_forms:
                forms.add(records.keys)

        # NumPy counts a batch without the interpreter's lock, so the next batch is read at the same time.
        with ThreadPoolExecutor(max_workers=1) as thread:
            # The batch before must be counted before the next one is handed over. Otherwise batches would
            # pile up in memory if counting is slower than reading.
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
        return replace(
            audit,
            hottest=hot.hottest(),
            hottest_error=hot.error,
            header_schemas=reading.header_schemas,
        )
