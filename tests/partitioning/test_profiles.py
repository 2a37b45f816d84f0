"""Every profile and hash function against what the real clients answered."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

import partitioning
from partitioning import partition_batch, partition_for_key, placement
from partitioning.errors import UnknownStrategyError
from partitioning.hashing import HASHES
from partitioning.keys import key_column
from partitioning.profiles import (
    _MEANT,
    CLIENT_NAMES,
    PROFILES,
    HashesBytes,
    HashesEveryKey,
    HashesSomeKeys,
    find_profile,
    known_profile,
)
from tests.support.tiers import sample
from tools.oracle.clients import golden

# Names of the golden files of hash functions, where they differ from ours.
HASH_FILES = {"java-string": "java_string", "kafkajs-murmur2": "kafkajs_legacy"}
lines_of = cache(golden.read)
CHECKED = [name for name, profile in PROFILES.items() if profile.checked]


@cache
def keys_of(which: str) -> list[bytes | None]:
    (line,) = golden.read("keys")
    keys = [None if key is None else bytes.fromhex(key) for key in line["keys"]]
    return keys if which == "all" else [keys[index] for index in line["text"]]


@pytest.mark.parametrize("name", CHECKED)
def test_columns_go_where_the_client_puts_them(name):
    for line in sample(lines_of(f"profiles/{name}"), 3):
        answered = [-1 if partition is None else partition for partition in line["partitions"]]
        assert partition_batch(keys_of(line["keys"]), line["count"], profile=name).tolist() == answered


@pytest.mark.parametrize("twin", ["confluent-kafka", "pure"])
@pytest.mark.parametrize("name", CHECKED)
def test_keys_go_where_the_client_puts_them(name, twin, monkeypatch):
    if twin == "pure":
        monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    monkeypatch.setattr(placement, "_rules", {})
    for line in sample(lines_of(f"profiles/{name}"), 3):
        for key, expected in sample(list(zip(keys_of(line["keys"]), line["partitions"], strict=True)), 20):
            assert partition_for_key(key, line["count"], profile=name) == expected, key


@pytest.mark.parametrize("name", sorted(HASHES.keys() - {"boost"}))
def test_hashes_are_those_of_the_clients(name):
    (line,) = golden.read(f"hashes/{HASH_FILES.get(name, name)}")
    answered = {
        key: value
        for key, value in zip(keys_of(line["keys"]), line["values"], strict=True)
        if key is not None
    }
    column = key_column(list(answered))
    assert [HASHES[name].scalar(key) for key in answered] == list(answered.values())
    assert HASHES[name].column(column.offsets, column.data).tolist() == list(answered.values())


def test_the_profiles_that_nobody_could_ask_are_these():
    unchecked = [name for name, profile in PROFILES.items() if not profile.checked]
    assert unchecked == ["ruby-kafka", "dekaf", "dekaf-unsigned", "cockroachdb", "cockroachdb-murmur2"]


@pytest.mark.parametrize(
    ("name", "meant"), [("kafkjs", "kafkajs"), ("LIBRDKAFKA_MURMUR2", "librdkafka-murmur2")]
)
def test_a_slip_of_the_pen_is_refused_with_what_was_meant(name, meant):
    with pytest.raises(UnknownStrategyError, match=f"did you mean {meant}"):
        find_profile(name)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("murmur2", "java, librdkafka-murmur2"),
        ("consistent_random", "librdkafka"),
        ("murmur2_random", "librdkafka-murmur2-random"),
    ],
)
def test_names_that_people_use_lead_to_the_right_one(name, meant):
    with pytest.raises(UnknownStrategyError, match=rf"did you mean {meant}\?"):
        find_profile(name)


def test_every_hint_names_a_profile():
    assert {profile_name for names in _MEANT.values() for profile_name in names} <= PROFILES.keys()
    assert _MEANT.keys().isdisjoint(PROFILES)


@pytest.mark.parametrize(
    ("names", "null_decides", "empty_decides"),
    [(HashesEveryKey, True, True), (HashesBytes, False, True), (HashesSomeKeys, False, False)],
)
def test_a_type_names_the_profiles_that_it_says(names, null_decides, empty_decides):
    found = [
        name
        for name, profile in PROFILES.items()
        if (profile.null != "unkeyed", profile.empty == "hashed") == (null_decides, empty_decides)
    ]
    assert list(get_args(names)) == found


@pytest.mark.parametrize(
    ("key", "partition"),
    [
        (b"0", 1003),
        (b"01", 351),
        (b"10", 940),
        (b"a", 292),
        (b"\0", 732),
        (b"\xff \xff", 164),
        (b"a" * 2048, 755),
        (b"a" * 2047 + b"A", 592),
    ],
)
def test_changefeeds_of_cockroachdb_go_where_its_own_tests_want_them(key, partition):
    assert partition_for_key(key, 1031, profile="cockroachdb") == partition


def test_a_profile_that_nobody_checked_says_so():
    assert find_profile("ruby-kafka").summary == "ruby-kafka, default; ported from its source, not checked"
    assert find_profile("java").summary == "kafka-clients, default"


ASKED = {
    **dict.fromkeys(
        ["kcat", "kafkacat", "karafka", "confluent-kafka-python", "confluent_kafka"], "librdkafka"
    ),
    **dict.fromkeys(["spring", "Quarkus", "kafka-streams", "spark", "debezium"], "java"),
    **dict.fromkeys(["goka", "kaf", "telegraf"], "sarama"),
    "fluentd": "ruby-kafka",
    "filebeat": "sarama-reference",
    "faust": "aiokafka",
    "kafka_js": "kafkajs",
}


@pytest.mark.parametrize(("name", "profile"), ASKED.items())
def test_a_client_or_tool_leads_to_its_rule(name, profile):
    assert find_profile(name) is PROFILES[profile]
    assert partition_for_key(b"order-42", 1009, profile=name) == partition_for_key(
        b"order-42", 1009, profile=profile
    )


def test_a_name_leads_to_one_client_and_says_where_that_stands():
    rows = json.loads((Path(partitioning.__file__).parent / "clients.json").read_text(encoding="utf-8"))
    names = [name for row in rows for name in (*filter(None, [row["client"]]), *row["names"])]
    assert len(CLIENT_NAMES) == len(names)
    assert all(known.source and known.profile in {None, *PROFILES} for known in CLIENT_NAMES.values())
    assert not [name for name in PROFILES if (known_profile(name) or PROFILES["java"]).name != name]


@pytest.mark.parametrize("name", ["confluent-kafka-rust", "kafkaesque", "kafka", "librd", "php"])
def test_no_hint_names_a_client_that_is_only_called_alike(name):
    with pytest.raises(UnknownStrategyError) as refused:
        find_profile(name)
    assert "did you mean" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("brod", "erlang:phash2"),
        ("compute-partition", "values of configured fields"),
        ("kafka-go", "does not look at keys"),
    ],
)
def test_a_client_without_a_rule_is_named(name, said):
    with pytest.raises(UnknownStrategyError, match=said):
        find_profile(name)
