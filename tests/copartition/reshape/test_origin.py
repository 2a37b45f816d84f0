"""The header that says where a copied record came from, and the position that follows from it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copartition.reshape.origin import (
    HEADER,
    NewPosition,
    Origins,
    decode_origins,
    encode_origins,
    new_position,
)
from partitioning.errors import ReshapeError
from tests.support.tiers import examples

PLACES = st.lists(st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)))


def test_the_header_is_text_that_a_person_can_read() -> None:
    assert HEADER == "copartition.origin"
    assert encode_origins(np.array([3, 11]), np.array([0, 1207])) == [b"3:0", b"11:1207"]


@settings(max_examples=examples(200), deadline=None)
@given(PLACES)
def test_decoding_gives_back_what_was_encoded(places: list[tuple[int, int]]) -> None:
    partition = np.array([place[0] for place in places], np.int32)
    offset = np.array([place[1] for place in places], np.int64)

    decoded = decode_origins(encode_origins(partition, offset))

    assert decoded.partition.dtype == np.int32
    assert decoded.offset.dtype == np.int64
    assert [*zip(*map(np.ndarray.tolist, decoded), strict=True)] == places


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"", "row 1: header copartition.origin is b''"),
        (b"7", "row 1: header copartition.origin is b'7'"),
        (b":7", "b':7'"),
        (b"7:", "b'7:'"),
        (b"-1:7", "b'-1:7'"),
        (b"+1:7", r"b'\+1:7'"),
        (b"1_0:7", "b'1_0:7'"),
        (b" 1:7", "b' 1:7'"),
        (b"1:7:8", "b'1:7:8'"),
        (b"1:7\x00", r"b'1:7\\x00'"),
        (b"2147483648:7", "more than Kafka's fields hold"),
        (b"7:9223372036854775808", "more than Kafka's fields hold"),
        (b"0" * 40 + b":7", "the copy writes PARTITION:OFFSET"),
    ],
)
def test_another_header_is_refused_by_row(value: bytes | None, said: str) -> None:
    with pytest.raises(ReshapeError, match=said):
        decode_origins([b"1:2", value])


@pytest.mark.parametrize(("partition", "offset"), [(-1, 3), (3, -1)])
def test_no_place_is_negative(partition: int, offset: int) -> None:
    with pytest.raises(ReshapeError, match=f"row 1: {partition}:{offset} is no place"):
        encode_origins(np.array([0, partition]), np.array([0, offset]))


def test_a_record_that_was_not_copied_has_no_origin() -> None:
    assert [*map(np.ndarray.tolist, decode_origins([None, b"1:2"]))] == [[-1, 1], [-1, 2]]


def positions(origins: list[tuple[int, int]], commits: dict[int, int], *, first: int = 0) -> NewPosition:
    """Return the new position in a partition whose records have these origins, from offset `first` on."""
    columns = Origins(
        np.array([origin[0] for origin in origins], np.int32),
        np.array([origin[1] for origin in origins], np.int64),
    )
    offsets = np.arange(first, first + len(origins), dtype=np.int64)
    return new_position(columns, offsets, first + len(origins), commits)


@pytest.mark.parametrize(
    ("origins", "commits", "expected"),
    [
        pytest.param([], {}, NewPosition(0, 0), id="nothing was copied"),
        pytest.param([(0, 0), (0, 1)], {0: 2}, NewPosition(2, 0), id="all is read"),
        pytest.param([(0, 0), (0, 1)], {0: 0}, NewPosition(0, 0), id="nothing is read"),
        pytest.param([(0, 0), (0, 1)], {0: 1}, NewPosition(1, 0), id="half is read"),
        pytest.param([(0, 0), (1, 0), (0, 1), (1, 1)], {0: 1, 1: 1}, NewPosition(2, 0), id="two keep pace"),
        pytest.param([(0, 0), (-1, -1)], {0: 1}, NewPosition(1, 0), id="a writer has moved already"),
        pytest.param([(-1, -1), (0, 0)], {0: 1}, NewPosition(0, 1), id="and wrote before the copy ended"),
        pytest.param([(1, 0), (0, 0), (0, 1), (1, 1)], {0: 2, 1: 0}, NewPosition(0, 2), id="one is behind"),
    ],
)
def test_a_group_goes_on_at_the_first_record_that_it_has_not_read(
    origins: list[tuple[int, int]], commits: dict[int, int], expected: NewPosition
) -> None:
    assert positions(origins, commits) == expected


def test_offsets_of_the_new_partition_need_not_begin_at_zero_nor_be_dense() -> None:
    origins = Origins(np.array([0, 0], np.int32), np.array([4, 5], np.int64))

    assert new_position(origins, np.array([10, 14]), 20, {0: 5}) == NewPosition(14, 0)
    assert new_position(origins, np.array([10, 14]), 20, {0: 6}) == NewPosition(20, 0)


def test_a_partition_without_a_commit_is_not_guessed() -> None:
    with pytest.raises(ReshapeError, match="no commit for partition 1 of the old topic"):
        positions([(0, 0), (1, 0)], {0: 1})


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_no_record_is_missed_and_repeats_are_counted(partitions: list[int], data: st.DataObject) -> None:
    ends = [0] * 4
    origins = []
    for partition in partitions:
        origins.append((partition, ends[partition]))
        ends[partition] += 1
    commits = {partition: data.draw(st.integers(0, end)) for partition, end in enumerate(ends)}

    position = positions(origins, commits)

    unread = [new for new, (old, offset) in enumerate(origins) if offset >= commits[old]]
    again = [new for new in range(position.offset, len(origins)) if new not in unread]
    assert all(new >= position.offset for new in unread)
    assert position == NewPosition(min(unread, default=len(origins)), len(again))
