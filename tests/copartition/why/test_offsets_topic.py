"""What `__consumer_offsets` says of a group, from the records that `tools.oracle.offsets_topic` recorded."""

from __future__ import annotations

import base64
import json
import struct
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from copartition.why.history import Cause, GroupHistory
from copartition.why.offsets_topic import TopicRecord, read_group_records, topic_history
from partitioning.errors import BrokerUnreachableError, ProtocolError, TopicAccessError

GOLDEN = Path(__file__).parents[2] / "golden" / "offsets_topic"
PROTOCOLS = ("classic", "consumer")


def recorded(protocol: str) -> tuple[str, str, list[TopicRecord]]:
    """The group, its topic, and the records of its partition."""
    document = json.loads((GOLDEN / f"{protocol}.json").read_text(encoding="utf-8"))
    rows = [
        TopicRecord(*place, *(None if text is None else base64.b64decode(text) for text in texts))
        for *place, key, value in document["records"]
        for texts in [(key, value)]
    ]
    return document["group"], document["topic"], rows


def changes(history: GroupHistory) -> list[tuple[Cause, str | None, tuple[str, ...]]]:
    """The generations in which somebody came or went."""
    return [
        (rebalance.cause, rebalance.member, rebalance.names)
        for rebalance in history.rebalances
        if rebalance.member
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_generation_has_its_members(protocol: str) -> None:
    group, _, records = recorded(protocol)
    history = topic_history(group, records)
    assert history.protocol == protocol
    assert len(history.rebalances) == 4
    assert changes(history) == [
        (Cause.JOINED, "c0", ("c0",)),
        (Cause.JOINED, "c1", ("c0", "c1")),
        (Cause.GONE, "c1", ("c0",)),
        (Cause.GONE, "c0", ()),
    ]


def test_a_classic_generation_has_a_leader_and_an_assignor() -> None:
    group, _, records = recorded("classic")
    shown = [
        (rebalance.generation, rebalance.leader, rebalance.assignor)
        for rebalance in topic_history(group, records).rebalances
    ]
    assert [row for row in shown if row[1]] == [(number, "c0", "range") for number in (1, 2, 3)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commits_are_counted_with_steps_back(protocol: str) -> None:
    group, topic, records = recorded(protocol)
    assert [other.what for other in topic_history(group, records).others] == [
        f"{topic}-1: 3 commits, first 3, last 4, largest step 7, 1 backward, 0 deleted"
    ]


def test_a_deleted_offset_ends_its_steps() -> None:
    group, topic, records = recorded("classic")
    commit = records[-1]
    [brief] = topic_history(group, [commit, commit._replace(value=None), commit]).others
    assert brief.what == f"{topic}-1: 2 commits, first 4, last 4, 0 backward, 1 deleted"


def test_a_commit_that_moves_nothing_is_no_step_and_no_step_back() -> None:
    group, topic, records = recorded("classic")
    [brief] = topic_history(group, [records[-1], records[-1]]).others
    assert brief.what == f"{topic}-1: 2 commits, first 4, last 4, 0 backward, 0 deleted"


def commit(offset: int, at: int = 0, version: int = 1) -> TopicRecord:
    """A commit of group "g" in partition 0 of "t", in a version of its key."""
    key = struct.pack(">hh", version, 1) + b"g" + struct.pack(">h", 1) + b"t" + struct.pack(">i", 0)
    return TopicRecord(0, at, 5_000, key, struct.pack(">hq", 4, offset) + b"\0" * 20)


@pytest.mark.parametrize(
    ("offsets", "brief"),
    [
        ([7], "1 commit, first 7, last 7, 0 backward"),
        ([7, 8], "2 commits, first 7, last 8, largest step 1, 0 backward"),
        ([7, 9, 20, 3], "4 commits, first 7, last 3, largest step 11, 1 backward"),
        ([9, 5, 3], "3 commits, first 9, last 3, 2 backward"),
    ],
)
@pytest.mark.parametrize("version", [0, 1])
def test_commits_are_told_in_brief_by_either_version_of_a_key(
    version: int, offsets: list[int], brief: str
) -> None:
    history = topic_history("g", [commit(offset, at, version) for at, offset in enumerate(offsets)])
    assert [other.what for other in history.others] == [f"t-0: {brief}, 0 deleted"]


def test_the_commits_of_a_partition_are_found_where_the_last_one_is() -> None:
    group, _, records = recorded("classic")
    first, last = (records[-1]._replace(offset=offset) for offset in (50, 70))
    [brief] = topic_history(group, [first, last]).others
    assert brief.line.number == 70


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_after_its_deletion_a_group_begins_with_nobody(protocol: str) -> None:
    group, _, records = recorded(protocol)
    kinds = {"classic": b"\0\2", "consumer": b"\0\3"}
    own = [record for record in records if record.key[:2] == kinds[protocol] and group.encode() in record.key]
    deletion = own[0]._replace(value=None, offset=len(records))
    again = [record._replace(offset=deletion.offset + 1 + number) for number, record in enumerate(records)]
    history = topic_history(group, [*records, deletion, *again])
    assert "the group was deleted, or changed its protocol" in [other.what for other in history.others]
    assert changes(history)[4:] == changes(topic_history(group, records))


def classic(
    version: int, *members: tuple[str, str | None, str], generation: int = 1, offset: int = 0
) -> TopicRecord:
    """What a broker writes of a classic group "g", led by its first member, in a version of its value.

    Args:
        version: 0 to 3, as Kafka's GroupMetadataValue.
        members: (member id, group.instance.id, client id) of each.
        generation: of the group.
        offset: of the record.
    """

    def text(value: str | None) -> bytes:
        return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()

    value = struct.pack(">h", version) + text("consumer") + struct.pack(">i", generation) + text("range")
    value += text(members[0][0]) + struct.pack(">q", 1_000) * (version >= 2) + struct.pack(">i", len(members))
    for member, instance, client in members:
        value += text(member) + text(instance) * (version >= 3) + text(client) + text("/127.0.0.1")
        value += struct.pack(">i", 30_000) * (1 + (version >= 1))
        value += struct.pack(">i", 3) + b"sub" + struct.pack(">i", 2) + b"as"
    return TopicRecord(0, offset, 5_000, b"\0\2\0\1g", value)


@pytest.mark.parametrize("version", range(4))
def test_each_version_of_a_generation_is_read(version: int) -> None:
    members = [("m-1", None, "client-1"), ("m-2", None, "client-2")]
    [rebalance] = topic_history("g", [classic(version, *members)]).rebalances
    assert (rebalance.generation, rebalance.assignor, rebalance.leader) == (1, "range", "client-1")
    assert rebalance.ended == 5.0  # seconds, of a record that was written at 5,000 ms
    assert rebalance.names == ("client-1", "client-2")
    assert (rebalance.cause, rebalance.member, rebalance.also) == (
        Cause.JOINED,
        "client-1",
        ((Cause.JOINED, "client-2"),),
    )


def test_a_static_member_that_restarts_is_the_same_one_and_is_called_by_its_instance() -> None:
    records = [
        classic(3, ("m-1", "pod-0", "client"), ("m-2", "pod-1", "client")),
        classic(3, ("m-1", "pod-0", "client"), ("m-9", "pod-1", "client"), generation=2, offset=1),
    ]
    joined, restarted = topic_history("g", records).rebalances
    assert (joined.leader, joined.names) == ("pod-0", ("pod-0", "pod-1"))
    assert (restarted.generation, restarted.cause, restarted.member) == (2, Cause.UNKNOWN, None)


def test_a_group_that_changed_its_protocol_has_the_new_one() -> None:
    epoch = TopicRecord(0, 1, 6_000, b"\0\3\0\1g", struct.pack(">hi", 0, 2))
    history = topic_history("g", [classic(3, ("m-1", None, "client")), epoch])
    assert [rebalance.ended for rebalance in history.rebalances] == [5.0, None]
    assert history.protocol == "consumer"


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_joined_before_what_compaction_removed_is_unknown(protocol: str) -> None:
    group, _, records = recorded(protocol)
    written = [
        record for record in records if record.key[:2] in {b"\0\2", b"\0\3"} and group.encode() in record.key
    ]
    history = topic_history(
        group, [record for record in records if record not in written[:-3] and record.offset]
    )
    assert history.rebalances[0].names == ("c0", "c1")
    assert (history.rebalances[0].cause, history.rebalances[0].member) == (Cause.UNKNOWN, None)


def test_a_group_whose_name_begins_alike_is_another_one() -> None:
    group, _, records = recorded("classic")
    history = topic_history(group[:-1], records)
    assert (history.rebalances, history.others) == ((), ())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_record_that_is_cut_is_a_typed_error(protocol: str) -> None:
    group, _, records = recorded(protocol)
    values = [
        record
        for record in records
        if record.value and group.encode() in record.key and record.key[1] in {1, 2, 3, 5}
    ]
    assert values
    for record in values:
        with pytest.raises(ProtocolError):
            topic_history(group, [record._replace(value=(record.value or b"")[:3])])


@pytest.mark.parametrize("kind", [3, 5])
def test_a_version_of_an_epoch_or_a_member_that_is_not_read_is_a_typed_error(kind: int) -> None:
    group, _, records = recorded("consumer")
    first = next(
        record
        for record in records
        if record.key[1] == kind and group.encode() in record.key and record.value
    )
    with pytest.raises(ProtocolError, match="has version 1; up to 0 are read"):
        topic_history(group, [first._replace(value=b"\0\1" + (first.value or b"")[2:])])


def test_a_version_that_is_not_read_is_a_typed_error() -> None:
    group, _, records = recorded("classic")
    [first, *_] = [
        record
        for record in records
        if record.key[:2] == b"\0\2" and group.encode() in record.key and record.value
    ]
    with pytest.raises(ProtocolError, match="has version 4; up to 3 are read"):
        topic_history(group, [first._replace(value=b"\0\4" + (first.value or b"")[2:])])


def message(
    offset: int | None = None, key: bytes | None = None, value: bytes | None = None, error: int | None = None
) -> Any:
    """A message as a consumer gives it."""
    return SimpleNamespace(
        error=lambda: None if error is None else KafkaError(error),
        timestamp=lambda: (1, 5_000),  # 1: the time of its creation
        offset=lambda: offset,
        key=lambda: key,
        value=lambda: value,
    )


END = message(error=KafkaError._PARTITION_EOF)


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A consumer that gives `gives`, then nothing, of a cluster whose topic has 50 partitions."""
    made = SimpleNamespace(gives=[], closed=False, places=[])

    def poll(_: float) -> Any:
        return made.gives.pop(0) if made.gives else None

    def close() -> None:
        made.closed = True

    def quiet_client(_: object, config: dict[str, Any], errors: list[KafkaError]) -> Any:
        made.config = config
        return made

    def error_of(error: KafkaError, right: str, partition: int) -> Exception:
        return TopicAccessError(f"{error.name()} {right} {partition}")

    made.poll, made.close, made.assign = poll, close, made.places.extend
    state = SimpleNamespace(num_partitions=50, errors=[], error_of=error_of)
    monkeypatch.setattr("copartition.audit.topic_state.TopicState", lambda *_: state)
    monkeypatch.setattr("partitioning.clients.contact.quiet_client", quiet_client)
    return made


def test_the_partition_of_a_group_is_read_from_its_beginning_to_its_end(consumer: Any) -> None:
    consumer.gives = [message(0, b"key", b"value"), message(4, b"key"), message(5), END, message(6)]
    assert [*read_group_records("g", {"bootstrap.servers": "b:1"})] == [
        TopicRecord(3, 0, 5_000, b"key", b"value"),
        TopicRecord(3, 4, 5_000, b"key", None),
        TopicRecord(3, 5, 5_000, b"", None),
    ]
    [place] = consumer.places
    assert (place.topic, place.partition, place.offset) == ("__consumer_offsets", 3, -2)  # -2: the beginning
    # Nobody's offsets are committed, and of transactions only what is committed is read.
    assert (consumer.config["enable.auto.commit"], consumer.config["isolation.level"]) == (
        False,
        "read_committed",
    )
    assert (consumer.config["bootstrap.servers"], consumer.closed) == ("b:1", True)


def test_a_partition_of_which_nothing_comes_is_said_to_be_out_of_reach(consumer: Any) -> None:
    consumer.gives = [message(0, b"key")]
    records = read_group_records("g", {})
    assert len([*islice(records, 1)]) == 1
    with pytest.raises(BrokerUnreachableError, match="__consumer_offsets-3: nothing came"):
        next(records)
    assert consumer.closed


def test_a_partition_that_may_not_be_read_is_an_error_of_rights(consumer: Any) -> None:
    consumer.gives = [message(error=KafkaError.TOPIC_AUTHORIZATION_FAILED)]
    with pytest.raises(TopicAccessError, match="TOPIC_AUTHORIZATION_FAILED READ 3"):
        next(read_group_records("g", {}))
    assert consumer.closed
