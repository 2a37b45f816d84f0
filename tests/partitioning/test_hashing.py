import random

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partitioning.hashing import HASHES
from partitioning.keys import key_column
from tests.support.tiers import sample

SIX = [b"", b"a", b"kafka", b"21", "한글".encode(), bytes(range(100))]

# Seen in the clients; signed 32-bit.
VECTORS = {
    "murmur2": [275646681, -1563381124, -798503068, -973932308, -1593753763, 697119286],
    "kafkajs-murmur2": [275646684, -809885833, 840273835, -595812486, 1672856490, -456051039],
    "crc32": [0, 3904355907, 1539077399, 4252452532, 2428087653, 1489580789],
    "fnv1a": [2166136261, 3826002220, 221496545, 2364708844, 3865498753, 3726872593],
    "murmur3": [0, 1009084850, 3678547742, 1207234426, 2490488018, 4234491971],
    "java-string": [0, 97, 101807910, 1599, 1737764, 58926130],
}

MORE_MURMUR2 = {
    b"ab": 316155434,
    b"abc": 479470107,
    b"abcd": -1323649548,
    b"abcde": 461995741,
    b"key": -1079937367,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"user-1": 1404122828,
    b"0123456789abcdef": 1438427052,
    b"\0": 375494588,
    b"\xff" * 5: -363838622,
    "é".encode(): 186971271,
    "\U0001f600".encode(): 131881617,
}

# Lengths where a chunk has one length, a multiple of four or not; many; long ones; and one key per length.
LENGTHS = {
    "none": [0] * 50,
    "multiple of four": [16] * 3000,
    "odd": [13] * 3000,
    "the first is the mean": [8, 4, 12] * 1000,
    "short": [length % 4 for length in range(3000)],
    "mixed": [(length * 7) % 41 for length in range(3000)],
    "wide": list(range(300)),
    "long": [70_000, 3, 70_001, 65_536, 0, 65_535],
    "one long": [8] * 3000 + [5000],
    "a few long": [5000, 5000, 5000],
    "more than a block": [8] * 70_000,
    "a chunk of one length": [16] * 70_000 + [15] * 20_000,
    "more than a chunk": [1 + row % 3 for row in range(70_000)],
    "more bytes than a chunk": [9_000_000, 9_000_001, 4, 9_000_000],
}


def random_keys(lengths, *, text):
    rng = random.Random(len(lengths))
    if not text:
        return [rng.randbytes(length) for length in lengths]
    letters = rng.choices("abcdefghijklmnopqrstuvwxyz", k=max(lengths) + 30)
    return ["".join(letters[row % 30 : row % 30 + length]).encode() for row, length in enumerate(lengths)]


def column_of(name, keys):
    column = key_column(keys)
    return HASHES[name].column(column.offsets, column.data).tolist()


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(name):
    signed = np.array(VECTORS[name], dtype=np.int64).astype(np.int32).tolist()
    assert [HASHES[name].scalar(key) for key in SIX] == signed


def test_more_vectors_of_murmur2():
    assert [HASHES["murmur2"].scalar(key) for key in MORE_MURMUR2] == list(MORE_MURMUR2.values())


@pytest.mark.parametrize("name", HASHES)
@pytest.mark.parametrize(
    "lengths",
    [
        "multiple of four",
        "odd",
        "the first is the mean",
        "short",
        "mixed",
        "wide",
        "none",
        "one long",
        "a few long",
    ],
)
def test_column_agrees_with_scalar(name, lengths):
    keys = random_keys(sample(LENGTHS[lengths], 7), text=name == "java-string")
    assert column_of(name, keys) == [HASHES[name].scalar(key) for key in keys]


@pytest.mark.parametrize(
    "lengths",
    ["long", "more than a block", "a chunk of one length", "more than a chunk", "more bytes than a chunk"],
)
def test_columns_larger_than_a_chunk(lengths):
    keys = random_keys(LENGTHS[lengths], text=False)
    assert column_of("murmur3", keys) == [mmh3.hash(key) for key in keys]


@pytest.mark.parametrize("name", HASHES)
@given(keys=st.lists(st.text(max_size=20).map(str.encode), max_size=40))
def test_column_agrees_with_scalar_on_text(name, keys):
    assert column_of(name, keys) == [HASHES[name].scalar(key) for key in keys]


@given(keys=st.lists(st.binary(max_size=20), min_size=1), skipped=st.binary(max_size=7))
def test_a_column_may_begin_anywhere_in_the_data(keys, skipped):
    column = key_column(keys)
    data = np.frombuffer(skipped + column.data.tobytes(), dtype=np.uint8)
    for name in ("murmur2", "boost"):
        assert HASHES[name].column(column.offsets + len(skipped), data).tolist() == column_of(name, keys)


@given(keys=st.lists(st.text(max_size=5).map(str.encode)), skipped=st.text(max_size=3).map(str.encode))
def test_a_column_of_text_may_begin_anywhere_in_the_data(keys, skipped):
    column = key_column(keys)
    data = np.frombuffer(skipped + column.data.tobytes(), dtype=np.uint8)
    hashes = HASHES["java-string"].column(column.offsets + len(skipped), data)
    assert hashes.tolist() == column_of("java-string", keys)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_offsets_of_32_bits_are_taken_too(dtype):
    offsets, data = np.array([0, 3, 3, 9], dtype=dtype), np.frombuffer(b"keyuser-1", dtype=np.uint8)
    assert HASHES["murmur2"].column(offsets, data).tolist() == [-1079937367, 275646681, 1404122828]


@pytest.mark.parametrize("keys", [[b"ok", b"\xff"], [b"ok", b"\xc3", b"\xa9"]])
def test_text_that_is_not_utf8_is_refused_with_its_row(keys):
    with pytest.raises(UnicodeError, match="key in row 1 is not UTF-8"):
        column_of("java-string", keys)
