"""A topic is copied, groups' positions are moved and the copy is proven, on a real broker."""

import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import murmur2
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from copartition.reshape.switch import HEADER
from partitioning.errors import ReshapeError
from spark_integration import CopyRound, map_positions, prove, reshape_copy
from spark_integration.reshaping.topics import topic_bounds
from tests.spark_integration.reshaping.written import (
    KEYS,
    mapped,
    old_place,
    write_copies,
    write_old,
    write_transactions,
)
from tests.support.broker import Kafka
from tests.support.reading import Read, read_topic

pytestmark = pytest.mark.needs("data sources")

# So many old partitions that a task of Spark 4.3 reads several of them.
OLD, NEW, RECORDS = 40, 6, 800


@dataclass
class Reshaped:
    """An old topic, its copy, and what is needed to go on with it."""

    config: dict[str, str]
    old: str
    new: str
    checkpoint: Path
    rounds: list[CopyRound]

    def read(self) -> tuple[list[Read], list[Read]]:
        servers = self.config["bootstrap.servers"]
        return read_topic(servers, self.old), read_topic(servers, self.new)


@pytest.fixture(scope="module")
def reshaped(
    spark: SparkSession, broker: Kafka, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reshaped]:
    """A topic of 40 partitions copied to one of 6 in two calls, between which more records came."""
    servers = broker.bootstrap_servers
    folder = tmp_path_factory.mktemp("reshaped")
    made = Reshaped(
        {"bootstrap.servers": servers},
        broker.create_topic(OLD),
        broker.create_topic(NEW),
        folder / "checkpoint",
        [],
    )
    for first in (0, RECORDS):
        write_old(servers, made.old, first, RECORDS)
        write_transactions(servers, made.old)
        reshape_copy(
            spark,
            made.old,
            made.new,
            config=made.config,
            checkpoint=str(made.checkpoint),
            on_round=made.rounds.append,
        )
    yield made
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.every_spark
def test_every_committed_record_is_there_once_as_it_was(reshaped: Reshaped) -> None:
    old, new = reshaped.read()
    places = {(record.partition, record.offset): record for record in old}
    assert Counter(old_place(record) for record in new) == Counter([*places])
    assert [done.copied for done in reshaped.rounds] == [RECORDS + KEYS] * 2
    for record in new:
        was = places[old_place(record)]
        assert record[2:5] == was[2:5]
        assert record.headers[:-1] == was.headers


@pytest.mark.every_spark
def test_records_lie_where_the_profile_puts_their_keys_in_their_old_order(reshaped: Reshaped) -> None:
    _, new = reshaped.read()
    assert {record.partition for record in new} == set(range(NEW))
    highest: dict[tuple[bytes, int], int] = defaultdict(lambda: -1)
    for record in new:
        if record.key is not None:
            assert record.partition == murmur2(record.key, NEW)
            old_partition, old_offset = old_place(record)
            assert highest[record.key, old_partition] < old_offset
            highest[record.key, old_partition] = old_offset


def test_records_of_several_old_partitions_are_interleaved_by_time(reshaped: Reshaped) -> None:
    old, new = reshaped.read()
    reached: dict[tuple[int, int], int] = {}
    highest: Counter[int] = Counter()
    for record in old:
        highest[record.partition] = max(highest[record.partition], record.timestamp)
        reached[record.partition, record.offset] = highest[record.partition]
    # Time orders the records of one micro-batch, and the first call copied all there was in one.
    ends = reshaped.rounds[0].ends
    for partition in range(NEW):
        own = [old_place(record) for record in new if record.partition == partition]
        first = [reached[place] for place in own if place[1] < ends[place[0]]]
        assert first == sorted(first)
        assert len(first) > 50


@pytest.mark.every_spark
def test_the_proof_holds_and_counts(spark: SparkSession, reshaped: Reshaped) -> None:
    old, new = reshaped.read()
    proof = prove(spark, reshaped.old, reshaped.new, config=reshaped.config)
    assert proof.examples == ()
    assert proof.holds
    assert proof.records == len(old)
    lies_in = defaultdict(set)
    for record in old:
        lies_in[record.key].add(record.partition)
    assert proof.keys == len(lies_in.keys() - {None})
    assert proof.strays == sum(len(found) > 1 for key, found in lies_in.items() if key is not None) > 0
    assert proof.partitions == Counter(record.partition for record in new)


@pytest.mark.slow
@pytest.mark.needs("time")
def test_positions_are_those_of_looking_at_every_record(
    spark: SparkSession, reshaped: Reshaped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_integration.reshaping.positions.FIRST_WINDOW", 8)  # so that windows grow
    _, new = reshaped.read()
    ends = topic_bounds(reshaped.config, reshaped.old).ends
    chance = random.Random(5)
    commits = {
        "all": dict(ends),
        "none": dict.fromkeys(ends, 0),
        "last": {partition: max(end - 1, 0) for partition, end in ends.items()},
        "lags": {partition: max(end - chance.randrange(20), 0) for partition, end in ends.items()},
        "uneven": {partition: chance.randrange(end + 1) for partition, end in ends.items()},
    }
    new_ends = topic_bounds(reshaped.config, reshaped.new).ends
    # Nothing is unread; windows grow; the whole new topic is read.
    for groups in (["all"], ["lags", "last"], [*commits]):
        asked = {group: commits[group] for group in groups}
        found = map_positions(spark, reshaped.old, reshaped.new, config=reshaped.config, commits=asked)
        for group in groups:
            own = {place.partition: (place.offset, place.repeats) for place in found if place.group == group}
            assert own == mapped(new, new_ends, commits[group])


def test_a_rerun_of_a_micro_batch_that_is_in_writes_nothing(spark: SparkSession, reshaped: Reshaped) -> None:
    _, before = reshaped.read()
    last = max(int(file.name) for file in (reshaped.checkpoint / "commits").glob("[0-9]*"))
    # As a driver leaves it that was killed after the sink had written and before Spark noted it.
    for name in (str(last), f".{last}.crc"):
        (reshaped.checkpoint / "commits" / name).unlink()
    again = reshape_copy(
        spark, reshaped.old, reshaped.new, config=reshaped.config, checkpoint=str(reshaped.checkpoint)
    )
    assert (again.copied, again.behind) == (RECORDS + KEYS, 0)
    assert reshaped.read()[1] == before


@pytest.mark.slow
def test_a_key_may_be_made_anew_and_is_proven_so(
    spark: SparkSession, reshaped: Reshaped, broker: Kafka, tmp_path: Path
) -> None:
    new = broker.create_topic(2)
    key = sf.substring("key", 1, 6)
    reshape_copy(
        spark,
        reshaped.old,
        new,
        config=reshaped.config,
        checkpoint=str(tmp_path),
        profile="librdkafka",
        key=key,
    )
    proof = prove(spark, reshaped.old, new, config=reshaped.config, profile="librdkafka", key=key)
    assert (proof.holds, proof.examples) == (True, ())
    assert {record.key for record in read_topic(broker.bootstrap_servers, new)} >= {b"user-1", b"", None}
    assert not prove(spark, reshaped.old, new, config=reshaped.config, profile="librdkafka").holds


def copy(key: str, number: int, origin: str, value: int | None = None, partition: int | None = None) -> tuple:
    """A record in a copy of two partitions: its partition, key, value, and its headers with this origin."""
    place = murmur2(key.encode(), 2) if partition is None else partition
    content = b"%d" % (number if value is None else value)
    return place, key.encode(), content, ((HEADER, origin.encode()),) if origin else ()


def place_of(key: str) -> int:
    return murmur2(key.encode(), 2)


# An old topic of one partition has two records of each key, the first ones before all second ones.
NAMES = ["right", "lost", "doubled", "changed", "other key", "unmatched", "out of order", "misplaced"]
NAMES += ["others behind", "others between", "others misplaced"]
OLD_RECORDS = [(name, number) for number in range(2) for name in NAMES]
FIRST, SECOND = (
    {
        name: copy(name, number, f"0:{offset}")
        for offset, (name, number) in enumerate(OLD_RECORDS)
        if number == which
    }
    for which in range(2)
)


def origin_of(name: str, number: int) -> str:
    return f"0:{OLD_RECORDS.index((name, number))}"


FAULTY: dict[str, list] = {
    "lost": [FIRST["lost"]],
    "doubled": [FIRST["doubled"], SECOND["doubled"], SECOND["doubled"]],
    "changed": [FIRST["changed"], copy("changed", 1, origin_of("changed", 1), value=5)],
    "other key": [FIRST["other key"], copy("right", 1, origin_of("other key", 1))],
    "unmatched": [FIRST["unmatched"], SECOND["unmatched"], copy("unmatched", 2, "1:0")],
    "out of order": [SECOND["out of order"], FIRST["out of order"]],
    "misplaced": [
        FIRST["misplaced"],
        copy("misplaced", 1, origin_of("misplaced", 1), partition=1 - place_of("misplaced")),
    ],
    "others behind": [FIRST["others behind"], SECOND["others behind"], copy("others behind", 2, "")],
    "others between": [FIRST["others between"], copy("others between", 2, ""), SECOND["others between"]],
    "others misplaced": [
        FIRST["others misplaced"],
        SECOND["others misplaced"],
        copy("others misplaced", 2, "", partition=1 - place_of("others misplaced")),
    ],
}


@pytest.fixture(scope="module")
def alternating(broker: Kafka) -> str:
    """An old topic of one partition with two records of each of `NAMES`, in turn."""
    topic = broker.create_topic(1)
    write_copies(
        broker.bootstrap_servers, topic, [copy(name, number, "", partition=0) for name, number in OLD_RECORDS]
    )
    return topic


def test_the_proof_finds_each_fault(spark: SparkSession, broker: Kafka, alternating: str) -> None:
    new = broker.create_topic(2)
    copies = [written for name in NAMES for written in FAULTY.get(name, [FIRST[name], SECOND[name]])]
    write_copies(broker.bootstrap_servers, new, copies)
    proof = prove(spark, alternating, new, config={"bootstrap.servers": broker.bootstrap_servers})
    assert not proof.holds
    assert (proof.records, proof.keys, proof.foreign) == (2 * len(NAMES), len(NAMES), 3)
    faults = ("lost", "doubled", "changed", "unmatched", "out_of_order", "misplaced")
    assert {name: getattr(proof, name) for name in faults} == {
        "lost": 2,
        "doubled": 1,
        "changed": 1,
        "unmatched": 2,
        "out_of_order": 2,
        "misplaced": 2,
    }
    found = Counter((*example.split("'")[1::2], example.rpartition(": ")[2]) for example in proof.examples)
    belongs = {name: f"misplaced (belongs in partition {place_of(name)})" for name in NAMES}
    assert found == Counter(
        [
            ("lost", "lost"),
            ("other key", "lost"),
            ("doubled", "doubled"),
            ("changed", "changed"),
            ("right", "unmatched"),
            ("unmatched", "unmatched"),
            ("out of order", "out of order"),
            ("misplaced", belongs["misplaced"]),
            ("others misplaced", belongs["others misplaced"]),
        ]
    )


def test_a_proof_up_to_given_ends_leaves_out_what_comes_later(
    spark: SparkSession, broker: Kafka, alternating: str
) -> None:
    new = broker.create_topic(2)
    write_copies(broker.bootstrap_servers, new, [*FIRST.values(), SECOND["right"]])
    config, end = {"bootstrap.servers": broker.bootstrap_servers}, len(NAMES)
    proof = prove(spark, alternating, new, config=config, ends={0: end})
    assert (proof.holds, proof.records) == (True, end)
    assert prove(spark, alternating, new, config=config).lost == len(NAMES) - 1
    with pytest.raises(ReshapeError, match=r"ends has partitions \[0, 1\], and topic .* has 0 to 0"):
        prove(spark, alternating, new, config=config, ends={0: 4, 1: 4})


def test_of_a_compacted_topic_the_last_record_of_a_key_has_to_be_there(
    spark: SparkSession, broker: Kafka, alternating: str
) -> None:
    config = {"bootstrap.servers": broker.bootstrap_servers}
    new = broker.create_topic(2)
    set_topic(broker, new, "cleanup.policy", "compact")
    last = [*SECOND.values()]
    write_copies(broker.bootstrap_servers, new, [FIRST["right"], *last[:-1]])
    assert prove(spark, alternating, new, config=config).lost == 1
    write_copies(broker.bootstrap_servers, new, last[-1:])
    assert prove(spark, alternating, new, config=config).holds


def set_topic(broker: Kafka, topic: str, name: str, value: str) -> None:
    """Set one setting of a topic."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    for done in admin.incremental_alter_configs([resource]).values():
        done.result()


def test_records_of_others_count_as_not_read(spark: SparkSession, broker: Kafka, alternating: str) -> None:
    new, a = broker.create_topic(2), place_of("right")
    # More of them than the first window holds.
    others = [copy("right", number, "") for number in range(300)]
    write_copies(broker.bootstrap_servers, new, [*FIRST.values(), *SECOND.values(), *others])
    config, end = {"bootstrap.servers": broker.bootstrap_servers}, 2 * len(NAMES)
    found = map_positions(spark, alternating, new, config=config, commits={"all": {0: end}, "none": {0: 0}})
    there = 2 * sum(place_of(name) == a for name in NAMES)
    assert {(place.group, place.partition): (place.offset, place.repeats) for place in found} == {
        ("all", a): (there, 0),
        ("all", 1 - a): (end - there, 0),
        ("none", a): (0, 0),
        ("none", 1 - a): (0, 0),
    }


@pytest.mark.parametrize(
    ("commits", "match"),
    [
        ({}, "no commit for partition 0 .* auto.offset.reset"),
        ({0: 99}, "has committed offset 99 in partition 0 .* end at 22"),
        ({0: 6, 1: 0}, "commit for partition 1 .* has 1 partitions"),
    ],
)
def test_a_position_is_not_guessed(
    spark: SparkSession, broker: Kafka, alternating: str, commits: dict[int, int], match: str
) -> None:
    config = {"bootstrap.servers": broker.bootstrap_servers}
    with pytest.raises(ReshapeError, match=match):
        map_positions(spark, alternating, alternating, config=config, commits={"billing": commits})


def test_a_copy_onto_itself_or_into_a_topic_that_loses_times_is_refused(
    spark: SparkSession, broker: Kafka, alternating: str, tmp_path: Path
) -> None:
    config = {"bootstrap.servers": broker.bootstrap_servers}
    with pytest.raises(ReshapeError, match="are both"):
        reshape_copy(spark, alternating, alternating, config=config, checkpoint=str(tmp_path))
    new = broker.create_topic(2)
    set_topic(broker, new, "message.timestamp.type", "LogAppendTime")
    with pytest.raises(ReshapeError, match=r"message\.timestamp\.type=LogAppendTime"):
        reshape_copy(spark, alternating, new, config=config, checkpoint=str(tmp_path))
