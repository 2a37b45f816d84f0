"""What an entry of a ledger looks like, and what is none."""

import json

import pytest

from partitioning.clients.ledger import Entry, ledger_group, transactional_id

ENTRY = Entry(2**62, 2**62, "f" * 64, True, partitions=200_000, before=199_999, topic_id="x" * 22)


def test_an_entry_is_read_as_it_was_written() -> None:
    assert Entry.parse(ENTRY.version, ENTRY.metadata()) == ENTRY


def test_an_entry_fits_beside_an_offset() -> None:
    assert len(ENTRY.metadata().encode()) < 4096  # the brokers' offset.metadata.max.bytes


def test_nothing_committed_is_no_entry() -> None:
    assert Entry.parse(-1001, None) is None


def test_an_entry_of_a_later_format_is_known_by_its_number() -> None:
    later = json.dumps({**json.loads(ENTRY.metadata()), "format": 2, "more": [1]})
    found = Entry.parse(ENTRY.version, later)
    assert found is not None
    assert found.format == 2


@pytest.mark.parametrize(
    ("offset", "metadata"),
    [
        *[(5, ""), (5, None), (5, "x"), (5, "[]"), (5, "{}"), (5, ENTRY.metadata()), (5, '{"version": 5}')],
        (5, "[" * 100_000),
        *[(7, json.dumps({**json.loads(ENTRY.metadata()), name: [1]})) for name in Entry.__slots__],
    ],
)
def test_what_others_commit_is_no_entry(offset: int, metadata: str | None) -> None:
    with pytest.raises(ValueError, match="is no entry of a ledger"):
        Entry.parse(offset, metadata)


def test_no_two_partitions_share_a_transactional_id() -> None:
    places = [
        ("a", "b", 1),
        ("a/b", "c", 1),
        ("a", "b", 11),
        ("a/b", "1", 1),
        ("a/b/1", "1", 1),
        ("a", "1", 1),
    ]
    assert len({transactional_id(*place) for place in places}) == len(places)
    assert transactional_id("app", "t", 0).startswith(ledger_group("app"))
