"""The judge of a reshaped topic counts each kind of fault."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from benchmarks.reshape import judge
from copartition.reshape.switch import HEADER
from tests.support.reading import Read

OLD = [Read(0, 0, b"a", b"1", 5, ()), Read(0, 1, b"a", b"2", 6, ()), Read(1, 0, b"b", b"3", 7, ())]
COPIES = [(0, 0, "1:0"), (2, 0, "0:0"), (2, 1, "0:1")]
"""Partition and offset of each copy in the new topic, and the place of its original."""


def topic(monkeypatch, records, *, copied):
    monkeypatch.setattr(judge, "each_record", lambda *_: iter(records))
    return judge.read_columns("", "", copied=copied)


def copies(places, **changed):
    by_place = {f"{record.partition}:{record.offset}": record for record in OLD}
    return [
        by_place.get(origin, OLD[0])._replace(
            partition=partition, offset=offset, headers=((HEADER, origin.encode()),), **changed
        )
        for partition, offset, origin in places
    ]


NONE = {"lost": 0, "doubled": 0, "changed": 0, "out_of_order": 0}


@pytest.mark.parametrize(
    ("places", "changed", "found"),
    [
        (COPIES, {}, NONE),
        (COPIES[1:], {}, NONE | {"lost": 1}),
        ([*COPIES, (2, 2, "0:1")], {}, NONE | {"doubled": 1}),
        (COPIES, {"value": b"4"}, NONE | {"changed": 3}),
        ([(0, 0, "1:0"), (2, 0, "0:1"), (2, 1, "0:0")], {}, NONE | {"out_of_order": 1}),
        ([*COPIES, (3, 0, "5:9")], {}, NONE | {"changed": 1}),
    ],
    ids=["none", "lost", "doubled", "changed", "out of order", "of no record"],
)
def test_faults_of_a_copy_are_counted(monkeypatch, places, changed, found):
    old = topic(monkeypatch, OLD, copied=False)
    # A consumer gives partitions in any order.
    new = topic(monkeypatch, reversed(copies(places, **changed)), copied=True)
    assert judge.compare(old, new) == found


@pytest.mark.parametrize(
    ("reads", "missed", "repeats"),
    [
        ([(0, 1), (1, 0)], 0, 0),
        ([(1, 0)], 1, 0),
        ([(0, 0), (0, 1), (1, 0)], 0, 1),
        ([(0, 1), (1, 0), (1, 0)], 0, 1),
        ([], 2, 0),
    ],
    ids=["goes on", "misses a record", "begins too early", "reads a record twice", "reads nothing"],
)
def test_what_a_group_reads_is_counted(monkeypatch, reads, missed, repeats):
    old = topic(monkeypatch, OLD, copied=False)
    found = judge.compare_reads(old, {0: 1, 1: 0}, reads)
    assert found == {"lag": 2, "missed": missed, "repeats": repeats}


def test_rows_are_in_the_order_of_places(monkeypatch):
    places = topic(monkeypatch, reversed(OLD), copied=False).places
    assert_array_equal(places, np.array([0, 1, 1 << judge.OFFSET_BITS]))
