"""Bytes of the consumer protocol and of sticky user data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assignors.protocol import (
    Subscription,
    decode_assignment,
    decode_cooperative_user_data,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_sticky_user_data,
    encode_subscription,
)
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from random import Random

PARTITIONS = [("orders", 0), ("orders", 7), ("pay", 1)]
SUBSCRIPTIONS = [
    encode_subscription(Subscription(["orders", "pay"], b"user", PARTITIONS, 5, "rack"), version)
    for version in range(4)
]
ASSIGNMENTS = [encode_assignment(PARTITIONS, b"user", version) for version in range(4)]
USER_DATA = [encode_sticky_user_data(PARTITIONS, generation) for generation in (None, 5)]


def make(rng: Random) -> bytes:
    return mutate(rng, rng.choice([*SUBSCRIPTIONS, *ASSIGNMENTS, *USER_DATA]))


def check_subscription(content: bytes) -> None:
    read = decode_subscription(content)
    assert decode_subscription(encode_subscription(read)).generation == read.generation


def check_assignment(content: bytes) -> None:
    partitions, user_data = decode_assignment(content)
    assert sorted(decode_assignment(encode_assignment(partitions, user_data))[0]) == sorted(partitions)


def check_user_data(content: bytes) -> None:
    partitions, generation = decode_sticky_user_data(content)
    back, again = decode_sticky_user_data(encode_sticky_user_data(partitions, generation))
    assert (sorted(back), again) == (sorted(partitions), generation)
    decode_cooperative_user_data(content)


TARGETS = {
    "subscriptions": (make, check_subscription),
    "assignments": (make, check_assignment),
    "user-data": (make, check_user_data),
}
