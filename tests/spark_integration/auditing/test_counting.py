"""What each task of an audit does, without Spark."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from copartition.audit.forms import FormCounts
from copartition.audit.tally import Tally
from partitioning import partition_batch
from spark_integration.auditing import counting

MEGABYTE = 1 << 20


def batches(partition: int, rows: int, num_partitions: int, size: int = 1000) -> Iterator[pa.RecordBatch]:
    """What one task reads of a topic, as the Java client filled it."""
    keys = [b"user-%d" % number for number in range(rows * num_partitions)]
    own = [keys[at] for at in np.flatnonzero(partition_batch(keys, num_partitions) == partition)]
    for first in range(0, len(own), size):
        some = own[first : first + size]
        columns = {
            "topic": ["orders"] * len(some),
            "partition": pa.array([partition] * len(some), pa.int32()),
            "offset": range(first, first + len(some)),
            "timestamp_ms": [-1] * len(some),
            "key": some,
            "task": [partition] * len(some),
        }
        yield pa.record_batch(columns)


def test_a_task_hands_over_little_so_that_thousands_fit_into_a_worker() -> None:
    count = counting._counting({"orders": Tally(8).dump()}, counting.FEWEST_BLOCKS)
    (counted,) = count(batches(3, 20_000, 8, size=10_000))
    assert 2000 * counted.nbytes < 200 * MEGABYTE


def test_merged_counts_are_those_of_one_task() -> None:
    started = {"orders": Tally(4).dump()}
    parts = [part for number in range(4) for part in counting._counting(started, 64)(batches(number, 500, 4))]
    merged = counting._merge(pa.Table.from_batches(parts).to_pandas())
    (whole,) = counting._counting(started, 64)(
        batch for number in range(4) for batch in batches(number, 500, 4)
    )
    apart, together = (
        Tally.load(dumped).blocks for dumped in (merged["tally"][0], whole["tally"][0].as_py())
    )
    sizes = [np.bincount(blocks.partition, blocks.rows).tolist() for blocks in (apart, together)]
    assert sizes[0] == sizes[1]
    assert sum(sizes[0]) == 2000
    forms = [FormCounts.load(dumped).forms() for dumped in (merged["forms"][0], whole["forms"][0].as_py())]
    assert [(form.name, form.rows) for form in forms[0]] == [("text", 2000)]
    assert set(forms[0][0].sample) == set(forms[1][0].sample)


def test_a_task_looks_at_its_first_records_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "HEAD_OF_A_TASK", 2000)
    read = batches(0, 5000, 1)
    heads = list(counting._heads(read))
    assert sum(head.num_rows for head in heads) == counting.HEAD_OF_A_PARTITION
    assert len(list(read)) == 3
