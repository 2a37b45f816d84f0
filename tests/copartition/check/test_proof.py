"""The comparison of keys, held against looking at each key."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copartition.audit.topic_audit import Records, key_hashes
from copartition.check import proof as proofs
from copartition.check.proof import KeyComparison
from partitioning import KeyColumn, key_column, murmur2

EVERY = 2**64 - 1


def records(rows):
    """Records of keys and partitions."""
    number = np.arange(len(rows), dtype=np.int64)
    partition = np.array([place for _, place in rows], np.int32)
    return Records(partition, number, number, key_column([key for key, _ in rows]))


def compared(*topics, **options):
    comparison = KeyComparison(len(topics), **options)
    for number, rows in enumerate(topics):
        comparison.add(number, records(rows))
    return comparison.proof(complete=True)


def truth(topics):
    """Distinct keys, common ones, those apart and those scattered, by looking at each record."""
    having = [{} for _ in topics]
    for found, rows in zip(having, topics, strict=True):
        for key, place in rows:
            if key is not None:
                found.setdefault(key, set()).add(place)
    common = {key for found in having for key in found if sum(key in homes for homes in having) > 1}
    apart = {key for key in common if len(set().union(*(found.get(key, ()) for found in having))) > 1}
    scattered = tuple(sum(len(places) > 1 for places in found.values()) for found in having)
    return tuple(map(len, having)), len(common), apart, scattered, having


def test_a_hash_is_murmur3_above_murmur2():
    import mmh3

    keys = [b"", b"a", b"kafka", b"21", bytes(range(100))]
    expected = [(mmh3.hash(key, signed=False) << 32) | (murmur2(key) & 0xFFFFFFFF) for key in keys]
    assert key_hashes(key_column(keys)).tolist() == expected


ROWS = st.lists(
    st.tuples(st.sampled_from([None, b"", *(b"key-%d" % n for n in range(30))]), st.integers(0, 3)),
    max_size=60,
)


@given(st.lists(ROWS, min_size=2, max_size=4), st.sampled_from([1, 7, 10_000]))
def test_it_is_what_looking_at_each_record_says(topics, batch):
    comparison = KeyComparison(len(topics))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proofs, "_WAITING_ROWS", batch)
        patch.setattr(proofs, "_BLOCK", 8)
        # A part of each topic in turn, as records of topics that are read at the same time come.
        for begin in range(0, 60, 13):
            for number, rows in enumerate(topics):
                comparison.add(number, records(rows[begin : begin + 13]))
        found = comparison.proof(complete=True)
    keys, common, apart, scattered, having = truth(topics)
    assert (found.keys, found.common, found.apart, found.scattered) == (keys, common, len(apart), scattered)
    assert found.everywhere == len(set.intersection(*({*homes} for homes in having)))
    assert len(found.examples) == min(len(apart), 10)
    for key, places in found.examples:
        assert key in apart
        assert all(
            key not in of if place is None else place in of[key]
            for place, of in zip(places, having, strict=True)
        )
        assert len({*places} - {None}) > 1


@given(ROWS, ROWS, st.integers(1, 12))
def test_keys_that_do_not_fit_are_left_out_of_every_topic(one, other, most):
    found = compared(one, other, most_keys=2 * most)
    ceiling = int(found.share * 2**64) - 1
    kept = [
        [(key, place) for key, place in rows if key is not None and hash_of(key) <= ceiling]
        for rows in (one, other)
    ]
    keys, common, apart, scattered, _ = truth(kept)
    assert (found.keys, found.common, found.apart, found.scattered) == (keys, common, len(apart), scattered)
    assert max(found.keys) <= most
    assert found.complete == (found.share == 1)


def hash_of(key):
    return int(key_hashes(key_column([key]))[0])


def test_records_that_wait_when_keys_are_left_out_are_left_out_too(monkeypatch):
    """Those of the second topic came under a higher bound; half of them have no partner any more."""
    rows = [(b"key-%d" % number, 0) for number in range(1000)]
    comparison = KeyComparison(2, most_keys=200)
    comparison.add(1, records(rows))
    monkeypatch.setattr(proofs, "_WAITING_ROWS", 1)
    comparison.add(0, records(rows))
    found = comparison.proof(complete=True)
    assert found.keys == (found.common,) * 2
    assert 0 < found.common <= 100


def test_a_batch_of_long_keys_does_not_wait(monkeypatch):
    monkeypatch.setattr(proofs, "_WAITING_BYTES", 1000)
    comparison = KeyComparison(2)
    data = np.zeros(1000, np.uint8)
    one = np.zeros(1, np.int64)
    comparison.add(0, Records(one.astype(np.int32), one, one, KeyColumn(np.array([0, 1000]), data, None)))
    assert not comparison._waiting[0]


def test_an_examples_key_is_one_of_a_batch_in_the_middle():
    comparison = KeyComparison(2)
    for rows in ([(b"a", 0), (None, 0)], [(None, 1), (b"b", 1), (b"c", 1)], [(b"d", 2)]):
        comparison.add(0, records(rows))
    comparison.add(1, records([(b"a", 0), (b"b", 1)]))
    comparison.add(1, records([(b"d", 2), (None, 0), (b"c", 2)]))
    assert comparison.proof(complete=True).examples == ((b"c", (1, 2)),)


def test_a_key_scattered_alike_over_every_topic_is_shown_apart():
    found = compared([(b"a", 2), (b"a", 8)], [(b"a", 2), (b"a", 8)])
    assert found.examples == ((b"a", (2, 8)),)


@pytest.mark.parametrize("places", [(0, 2), (2, 0)])
def test_a_key_that_comes_again_elsewhere_is_scattered(monkeypatch, places):
    monkeypatch.setattr(proofs, "_WAITING_ROWS", 1)
    comparison = KeyComparison(2)
    for place in places:
        comparison.add(0, records([(b"a", place)]))
    comparison.add(1, records([(b"a", places[-1])]))
    found = comparison.proof(complete=True)
    assert (found.scattered, found.apart) == ((1, 0), 1)
    assert [example.places for example in found.examples] == [places]
