"""The hottest keys, counted in bounded memory, beside a plain count of all."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache

import fastjsonschema
import numpy as np
import pytest

from copartition.audit.hottest import OF_PARTITION, OF_TOPIC, HotKeys
from copartition.audit.report import audit_json, audit_markdown, audit_schema, hottest_table, remarks
from copartition.audit.topic_audit import Coverage, HotKey, Records, Span, TopicAudit, pick_records
from partitioning.hashing.murmur2 import murmur2_column
from partitioning.keys import key_column
from tests.support.tiers import sample

PARTITIONS = 5


def records_of(keys, places=None):
    column = key_column(keys)
    if places is None:
        places = [hash_of % PARTITIONS for hash_of in murmur2_column(column.offsets, column.data).tolist()]
    count = np.arange(len(keys))
    return Records(np.array(places, np.int32), count, np.full(len(keys), -1, np.int64), column)


def zipf(rows, distinct, seed=1):
    """Keys of different lengths by Zipf's law; some have none, and some an empty one."""
    random = np.random.default_rng(seed)
    numbers = np.minimum(random.zipf(1.3, rows), distinct).tolist()
    keys = [b"user-%d" % number * (1 + number % 3) for number in numbers]
    return [{0: None, 1: b""}.get(row % 50, key) for row, key in enumerate(keys)]


def counted(records, *, batch=1_000, most=1 << 14, known=False):
    hot = HotKeys(most)
    for begin in range(0, len(records.offset), batch):
        part = pick_records(records, np.arange(begin, min(begin + batch, len(records.offset))))
        hot.add(part, murmur2_column(part.keys.offsets, part.keys.data) if known else None)
    return hot


def plainly(records):
    """How many records each key of each partition has."""
    pairs = zip(records.keys, records.partition.tolist(), strict=True)
    return Counter(pair for pair in pairs if pair[0])


@cache
def with_truth(rows):
    """Records that several tests count, and how many each key of each partition has."""
    records = records_of(zipf(rows, 2_000))
    return records, plainly(records)


@pytest.mark.parametrize(
    ("batch", "known"),
    sample([(1_000, True), (7, True), (7, False), (1_000, False), (1 << 18, False), (1 << 18, True)], 3),
)
def test_counts_are_exact_while_all_keys_fit(batch, known):
    records, truth = with_truth(140_000 if batch == 1 << 18 else 3_000)
    hot = counted(records, batch=batch, known=known)
    assert hot.error == 0
    assert all(truth[hot_key.key, hot_key.partition] == hot_key.rows for hot_key in hot.hottest())
    rows = [hot_key.rows for hot_key in hot.hottest()[:OF_TOPIC]]
    assert rows == sorted(truth.values(), reverse=True)[:OF_TOPIC]


@pytest.mark.parametrize("seed", sample(range(5), 5))
@pytest.mark.parametrize("most", [10, 100])
def test_beyond_that_no_count_is_too_high_nor_too_low_by_more_than_the_error(seed, most):
    records = records_of(zipf(20_000, 5_000, seed))
    hot = counted(records, most=most)
    truth = plainly(records)
    assert hot.error > 0
    for hot_key in hot.hottest():
        assert hot_key.rows <= truth[hot_key.key, hot_key.partition] <= hot_key.rows + hot.error
    listed = {(hot_key.key, hot_key.partition) for hot_key in hot.hottest()}
    missing = {pair: count for pair, count in truth.items() if pair not in listed}
    of_partition = Counter(hot_key.partition for hot_key in hot.hottest())
    for (_, partition), count in missing.items():  # any hotter one would be listed
        assert count <= 2 * hot.error or of_partition[partition] >= OF_PARTITION


def test_the_error_is_no_more_than_misra_and_gries_have_for_each_batch():
    records = records_of(zipf(20_000, 5_000))
    hot = counted(records, most=100)
    assert hot.error <= 2 * len(records.offset) / 100


def test_the_hottest_of_the_topic_come_first_and_each_partition_has_its_own():
    keys = [b"a%d" % number for number in range(12) for _ in range(100 - number)]
    keys += [b"b%d" % number for number in range(5) for _ in range(9 - number)]
    hot = counted(records_of(keys, [0] * (len(keys) - 35) + [1] * 35))
    assert [hot_key.key for hot_key in hot.hottest()] == [
        *[b"a%d" % number for number in range(OF_TOPIC)],
        *[b"b%d" % number for number in range(OF_PARTITION)],
    ]


def test_a_key_of_two_partitions_is_one_of_each():
    hot = counted(records_of([b"k"] * 5, [0, 1, 1, 0, 1]))
    assert hot.hottest() == (HotKey(b"k", 1, 3), HotKey(b"k", 0, 2))


@pytest.mark.parametrize("keys", [[], [None, b""], [b"a", b"b"]], ids=["no records", "no keys", "one each"])
def test_of_such_records_none_is_hot(keys):
    assert counted(records_of(keys, [0] * len(keys))).hottest() == ()


SPANS = (Span(0, 0, 99, None, None, None, 100, 0, 0), Span(1, 0, 9, None, None, None, 10, 0, 0))
COVERAGE = Coverage("full", 110, 110, (0, 1), "every record")
AUDIT = TopicAudit("orders", 2, SPANS, (), COVERAGE, "unknown", 0, compacted=False)
HOT = (HotKey(b"eu", 0, 75), HotKey(b"\xff", 1, 4))


def test_a_report_has_a_row_for_each_with_its_share_of_the_partition():
    table = hottest_table(replace(AUDIT, hottest=HOT))
    assert table.rows == [("'eu'", "0", "75", "75.0%"), ("0xff", "1", "4", "40.0%")]
    assert "| 'eu' | 0 | 75 | 75.0% |" in audit_markdown([replace(AUDIT, hottest=HOT)], every=False)


@pytest.mark.parametrize("every", [False, True])
def test_ten_are_shown_and_the_others_where_all_is_asked_for(every):
    many = tuple(HotKey(b"k%d" % number, 0, 2) for number in range(13))
    text = audit_markdown([replace(AUDIT, hottest=many)], every=every)
    assert ("and 3 more hottest keys of partitions; --all shows them" in text) is not every
    assert ("'k12'" in text) is every


@pytest.mark.parametrize(
    ("audit", "remark"),
    [
        (replace(AUDIT, hottest=HOT, hottest_error=7), "each of the hottest may have 7 records more than"),
        (replace(AUDIT, hottest=(), hottest_error=7), "none has more than 14 records"),
    ],
)
def test_the_error_is_stated(audit, remark):
    assert any(remark in line for line in remarks(audit))


@cache
def schema_check():
    """What refuses a document that is not as the schema says."""
    return fastjsonschema.compile(audit_schema())


@pytest.mark.parametrize(
    ("hottest", "data"),
    [
        (None, None),
        ((), []),
        (HOT, [{"key": "6575", "partition": 0, "rows": 75}, {"key": "ff", "partition": 1, "rows": 4}]),
    ],
)
def test_programs_get_them_in_hexadecimal(hottest, data):
    document = json.loads(audit_json([replace(AUDIT, hottest=hottest, hottest_error=3)]))
    schema_check()(document)
    assert (document["topics"][0]["hottest"], document["topics"][0]["hottest_error"]) == (data, 3)
