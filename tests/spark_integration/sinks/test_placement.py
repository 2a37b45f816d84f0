"""The partition of a written key, checked again where rows leave Spark."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from partitioning import partition_for_key
from partitioning.errors import InvalidConfigError, UnknownStrategyError
from partitioning.profiles import PROFILES
from spark_integration import ColumnError, RoutingError
from spark_integration.columns import AS_IT_IS, KEY, NULLS, PROFILE, SOURCE
from spark_integration.sinks.placement import KeyRule, key_rule
from spark_integration.sinks.records import records

KEYS = [b"a", b"", None, b"user-1", "한글".encode()]
COUNT = 97
PLACED = ["key", "partition", "value"]


def rule_of(profile: str, nulls: str = "spread") -> KeyRule:
    rule = key_rule(None, None, {PROFILE: profile, NULLS: nulls, KEY: "user"}, PLACED)
    assert rule is not None
    return rule


def assert_placed(
    rule: KeyRule, keys: list[Any], partitions: list[int], kind: pa.DataType | None = None
) -> None:
    key, counts = pa.array(keys, kind or pa.binary()), np.full(len(keys), COUNT, np.int32)
    rule.check(key, np.array(partitions, np.int32), counts)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_finds_its_own_rows_at_home_and_keyed_ones_nowhere_else(profile: str) -> None:
    places = [partition_for_key(key, COUNT, profile=profile) for key in KEYS]
    assert_placed(rule_of(profile, "null"), KEYS, [-1 if place is None else place for place in places])
    for key, place in zip(KEYS, places, strict=True):
        elsewhere = [(0 if place is None else place + 1) % COUNT]
        if place is None:
            assert_placed(rule_of(profile), [key], elsewhere)
        else:
            with pytest.raises(RoutingError, match=f"profile '{profile}' puts this key into {place}:"):
                assert_placed(rule_of(profile), [key], elsewhere)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_text_is_its_utf8_bytes_and_a_part_of_an_array_is_itself(kind: pa.DataType) -> None:
    keys = pa.array(["skipped", "a", None, "한글"], kind)[1:]
    places = [partition_for_key(b"a", COUNT), -1, partition_for_key("한글".encode(), COUNT)]
    rule_of("java").check(keys, np.array(places, np.int32), np.full(3, COUNT, np.int32))


@pytest.mark.parametrize("nulls", ["null", "error"])
def test_a_keyless_row_with_a_partition_lost_its_key_where_none_was_spread(nulls: str) -> None:
    with pytest.raises(
        RoutingError, match="key None has partition 3 of 97, and profile 'java' hashes no such"
    ):
        assert_placed(rule_of("java", nulls), [None], [3])


def test_a_keyed_row_has_to_have_a_partition() -> None:
    with pytest.raises(
        RoutingError, match="key b'a' has no partition, and profile 'java' puts this key into"
    ):
        assert_placed(rule_of("java"), [b"a"], [-1])


def test_a_key_that_the_profile_cannot_hash_is_told() -> None:
    with pytest.raises(RoutingError, match="profile 'pulsar-java' cannot hash a key that is written"):
        assert_placed(rule_of("pulsar-java"), [b"\xff"], [3])


def test_the_error_names_the_row_the_column_and_the_way_out() -> None:
    said = (
        r"a row with key b'user-1' has partition 3 of 97, and profile 'sarama' puts this key into \d+: .*"
        r"computed from column 'user', .* kafka_partition\('key', 97, profile='sarama'\); "
        "or name the profile .* give partition='as it is'"
    )
    with pytest.raises(RoutingError, match=said):
        assert_placed(rule_of("sarama"), [b"user-1"], [3])


def test_rows_of_several_topics_are_placed_by_the_count_of_their_own() -> None:
    counts = {"a": 3, "b": 97}
    names = ["a", "b"] * 20
    keys = [b"key-%d" % number for number in range(40)]
    places = [partition_for_key(key, counts[name]) for key, name in zip(keys, names, strict=True)]
    batch = pa.record_batch(
        {"topic": names, "key": keys, "value": keys, "partition": pa.array(places, pa.int32())}
    )
    assert len(list(records(batch, counts, None, None, rule_of("java"))[1])) == 40
    with pytest.raises(RoutingError, match="of 97, and"):
        records(batch.set_column(0, "topic", pa.array(["b"] * 40)), counts, None, None, rule_of("java"))


@pytest.mark.parametrize(
    ("asked", "partition", "notes", "columns", "profile"),
    [
        (None, None, {}, PLACED, "java"),
        (None, None, {SOURCE: "orders"}, PLACED, "java"),
        (None, None, {PROFILE: "sarama"}, PLACED, "sarama"),
        ("sarama", None, {}, PLACED, "sarama"),
        ("java", None, {PROFILE: "java"}, PLACED, "java"),
        (None, AS_IT_IS, {}, PLACED, None),
        (None, AS_IT_IS, {PROFILE: "java"}, PLACED, None),
        (None, AS_IT_IS, {PROFILE: "java"}, ["value", "partition"], None),
        (None, None, {}, ["value", "partition"], None),
        (None, None, {}, ["key", "value"], None),
    ],
)
def test_the_rule_is_the_noted_one_or_the_one_that_is_asked_for_or_javas(
    asked: str | None, partition: str | None, notes: dict[str, str], columns: list[str], profile: str | None
) -> None:
    rule = key_rule(asked, partition, notes, columns)
    assert (rule and rule.profile.name) == profile


@pytest.mark.parametrize(
    ("error", "message", "asked", "partition", "notes", "columns"),
    [
        (InvalidConfigError, "'sarama', and column .* 'java'", "sarama", None, {PROFILE: "java"}, PLACED),
        (InvalidConfigError, "checks a column 'partition', and", "java", None, {}, ["key", "value"]),
        (InvalidConfigError, "have no column 'partition'", None, AS_IT_IS, {}, ["key", "value"]),
        (InvalidConfigError, "partition is 'as it is', .* is 'java'", "java", AS_IT_IS, {}, PLACED),
        (InvalidConfigError, "partition is 'none'; give 'as it is'", None, "none", {}, PLACED),
        (
            ColumnError,
            "from column 'user' .* and no key is",
            None,
            None,
            {PROFILE: "java", KEY: "user"},
            ["partition"],
        ),
        (ColumnError, "from a key .* and no key is written", None, None, {PROFILE: "java"}, ["partition"]),
        (UnknownStrategyError, "did you mean", "jav", None, {}, PLACED),
    ],
)
def test_a_check_that_cannot_be_made_is_refused(
    error: type[Exception],
    message: str,
    asked: str | None,
    partition: str | None,
    notes: dict[str, str],
    columns: list[str],
) -> None:
    with pytest.raises(error, match=message):
        key_rule(asked, partition, notes, columns)


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ({}, "nothing is noted of where column 'partition' comes from"),
        ({SOURCE: "orders"}, "column 'partition' is that of topic orders, from which the rows were read"),
    ],
)
def test_a_column_that_nobody_computed_is_compared_with_the_java_clients_answer(
    notes: dict[str, str], told: str
) -> None:
    rule = key_rule(None, None, notes, PLACED)
    assert rule is not None
    places = [partition_for_key(key, COUNT) for key in KEYS]
    assert_placed(rule, KEYS, [-1 if place is None else place for place in places])
    assert_placed(rule, KEYS, [-1] * len(KEYS))  # the producer places these as the Java client does
    assert_placed(rule, [None], [5])
    with pytest.raises(RoutingError, match=told):
        assert_placed(rule, [b"user-1"], [3])
