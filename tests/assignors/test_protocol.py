"""ConsumerProtocol bytes: what was written comes back, and damage is refused."""

from __future__ import annotations

import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.protocol import (
    Subscription,
    decode_assignment,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_cooperative_user_data,
    encode_sticky_user_data,
    encode_subscription,
)
from partitioning.errors import ProtocolError

Partitions = list[tuple[str, int]]

names = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
int32 = st.integers(0, 2**31 - 1)
owned = st.lists(st.tuples(names, int32), max_size=20)
user_data = st.none() | st.binary(max_size=20)
versions = st.integers(0, 3)


@given(st.lists(names, max_size=5), user_data, owned, st.none() | int32, st.none() | names, versions)
def test_a_subscription_comes_back_as_far_as_its_version_carries_it(
    topics: list[str],
    user_data: bytes | None,
    owned: Partitions,
    generation: int | None,
    rack: str | None,
    version: int,
) -> None:
    sent = Subscription(topics, user_data, owned, generation, rack)
    got = decode_subscription(encode_subscription(sent, version))
    assert sorted(got.topics) == sorted(topics)
    assert got.user_data == user_data
    assert sorted(got.owned) == (sorted(owned) if version >= 1 else [])
    assert got.generation == (generation if version >= 2 else None)
    assert got.rack == ((rack or None) if version >= 3 else None)


@given(owned, user_data, versions)
def test_an_assignment_comes_back(owned: Partitions, user_data: bytes | None, version: int) -> None:
    got, data = decode_assignment(encode_assignment(owned, user_data, version))
    topics = list(dict.fromkeys(topic for topic, _ in owned))
    assert list(got) == sorted(owned, key=lambda partition: topics.index(partition[0]))
    assert data == user_data


@given(owned, st.none() | int32)
def test_sticky_user_data_comes_back(owned: Partitions, generation: int | None) -> None:
    got, since = decode_sticky_user_data(encode_sticky_user_data(owned, generation))
    assert sorted(got) == sorted(owned)
    assert since == generation


@given(int32)
def test_cooperative_user_data_comes_back(generation: int) -> None:
    assert decode_cooperative_user_data(encode_cooperative_user_data(generation)) == generation


@given(owned, st.integers(0, 400), st.binary(max_size=6), st.integers(0, 400))
def test_corrupt_bytes_are_read_or_refused(owned: Partitions, cut: int, noise: bytes, at: int) -> None:
    for whole in (
        encode_subscription(Subscription(["a", "b"], b"data", owned, 7, "rack")),
        encode_assignment(owned, b"data"),
        encode_sticky_user_data(owned, 7),
    ):
        damaged = (whole[:at] + noise + whole[at + len(noise) :])[: max(len(whole) - cut, 0)]
        for decode in (decode_subscription, decode_assignment):
            with contextlib.suppress(ProtocolError):
                decode(damaged)
        _, generation = decode_sticky_user_data(damaged)
        assert isinstance(generation, int | None)
        assert isinstance(decode_cooperative_user_data(damaged), int | None)


@pytest.mark.parametrize("length", [2**31 - 1, 1000, -1])
def test_a_length_that_cannot_be_is_refused_before_anything_is_allocated(length: int) -> None:
    with pytest.raises(ProtocolError, match=f"{length} elements where 4 bytes are left"):
        decode_assignment(struct.pack(">hii", 3, length, 0))


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda: encode_subscription(Subscription(["t" * 32_768])), "32768 bytes, the most is 32767"),
        (lambda: encode_subscription(Subscription([], generation=2**31)), "2147483648 is no 32-bit integer"),
        (lambda: encode_subscription(Subscription([], generation=True)), "True is no 32-bit integer"),
        (lambda: encode_sticky_user_data([], True), "True is no 32-bit integer"),
        (lambda: encode_sticky_user_data([], 1.0), "1.0 is no 32-bit integer"),
        (lambda: encode_assignment([("t", 2**31)]), "does not fit 32 bits"),
        (lambda: encode_assignment([], version=-1), "version -1 does not exist"),
    ],
)
def test_what_does_not_fit_is_refused(write: Any, message: str) -> None:
    with pytest.raises(ProtocolError, match=message):
        write()
