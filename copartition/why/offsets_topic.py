"""Read the history of a group from `__consumer_offsets`: its generations, and a summary of its commits.

The records have the layouts of Kafka's `group-coordinator/src/main/resources/common/message`. The topic is
compacted, so a record that was replaced by a later one may be gone, and its content is then unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from copartition.groups.live.wire import AnswerReader
from copartition.kit.words import count
from copartition.why.history import OFFSETS_TOPIC, Cause, GroupHistory, LoggedRebalance, Other
from copartition.why.statements import Line
from partitioning.errors import BrokerUnreachableError, ProtocolError
from partitioning.placement import coordinator_partition

_SILENCE_S = 20.0
"""Seconds without any record after which the broker is reported as one that does not answer."""
_COMMITS, _CLASSIC, _EPOCH, _MEMBER = (0, 1), 2, 3, 5  # versions of keys
_UNKNOWN = "what compaction removed from the topic is unknown, and so is how members that are gone left"


class TopicRecord(NamedTuple):
    """Holds a record of the topic.

    Attributes:
        partition: the partition that has it.
        offset: its offset there.
        at_ms: its timestamp, in milliseconds since 1970.
        key: its key.
        value: its value; None if the record deletes what the key names.
    """

    partition: int
    offset: int
    at_ms: int
    key: bytes
    value: bytes | None


def read_group_records(group: str, config: Mapping[str, str]) -> Iterator[TopicRecord]:
    """Yield the committed records of the partition that keeps a group, in order, up to its end.

    The topic is only read: no offset is committed, and no group is joined.

    Args:
        group: the group's id, which decides the partition.
        config: librdkafka's settings of the cluster.

    Raises:
        BrokerUnreachableError: no record came for `_SILENCE_S`. Other errors are those of
            `copartition.audit.reader.Reading`.
    """
    from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition  # noqa: PLC0415 - extra

    from copartition.audit.topic_state import TopicState  # noqa: PLC0415 - needs it, too
    from partitioning.clients.contact import quiet_client  # noqa: PLC0415 - as above

    state = TopicState(OFFSETS_TOPIC, config)
    number = coordinator_partition(group, state.num_partitions)
    settings = {
        **config,
        "group.id": "copartition-why",  # librdkafka wants one, and asks nobody about it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }
    with closing(quiet_client(Consumer, settings, state.errors)) as consumer:
        consumer.assign([TopicPartition(OFFSETS_TOPIC, number, OFFSET_BEGINNING)])
        while (message := consumer.poll(_SILENCE_S)) is not None:
            if (error := message.error()) is None:
                at_ms = message.timestamp()[1]
                yield TopicRecord(number, message.offset() or 0, at_ms, message.key() or b"", message.value())
            # librdkafka reports the end of the partition as an error, if it is asked to. Without this report,
            # a partition that was read to its end would look like one whose broker does not answer.
            elif error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise state.error_of(error, "READ", number)
    raise BrokerUnreachableError(f"{OFFSETS_TOPIC}-{number}: nothing came; has it a leader that answers?")


class _History:
    """Collects the history of a group while its records are read.

    `topic_history` owns it and adds each record once, in order of offsets.

    Attributes:
        rebalances: the rebalances so far.
        others: other events so far.
        commits: partition -> its committed offsets so far, in order; None for an offset that was deleted.
        lines: partition -> the place of the record with its last commit.
        members: member id -> name of each current member of a group of the consumer protocol.
        before: the members of the last generation, in the form that `generation` takes; None before the first
            generation.
        whole: whether the offsets of the records so far have no gap, so that compaction has removed none.
    """

    def __init__(self) -> None:
        self.rebalances: list[LoggedRebalance] = []
        self.others: list[Other] = []
        self.commits: dict[str, list[int | None]] = {}
        self.lines: dict[str, Line] = {}
        self.members: dict[str, str] = {}
        self.before: dict[str, str] | None = None
        self.whole = True

    def generation(self, rebalance: LoggedRebalance, members: Mapping[str, str]) -> None:
        """Add a rebalance, with the members that joined and that left since the generation before.

        Args:
            rebalance: the rebalance, without cause and members.
            members: instance id of a static member, or member id of a dynamic one -> the member's name.
        """
        # All members of generation 1 are new. But if compaction has removed generations, it is unknown
        # which members of the first remaining one are new, so none counts as new.
        first: Mapping[str, str] = {} if self.whole or rebalance.generation == 1 else members
        before = first if self.before is None else self.before
        moved: list[tuple[Cause, str | None]] = [
            (Cause.JOINED, members[key]) for key in members.keys() - before.keys()
        ]
        moved += [(Cause.GONE, before[key]) for key in before.keys() - members.keys()]
        (cause, member), *also = sorted(moved, key=str) or [(Cause.UNKNOWN, None)]
        self.before = dict(members)
        if not before and not members:
            return  # a coordinator writes a new group before it has members
        names = tuple(sorted(members.values()))
        self.rebalances.append(
            replace(rebalance, cause=cause, member=member, also=tuple(also), members=len(names), names=names)
        )


def topic_history(group: str, records: Iterable[TopicRecord]) -> GroupHistory:
    """Return the history of a group by the records of its partition.

    Args:
        group: the group's id.
        records: the records, in the order of offsets, see `read_group_records`; those of other groups are
            skipped.

    Returns:
        The group's rebalances and, as other events, deletions and a summary of each partition's commits.
        Causes are JOINED, GONE or UNKNOWN, because the topic does not show whether a member left or crashed.

    Raises:
        ProtocolError: a record of the group is cut, or has a version that is not known here.
    """
    # Each key begins with its version in two bytes. Then come the length of the group's id, and the id.
    own = len(group.encode()).to_bytes(2) + group.encode()
    history = _History()
    for number, (partition, offset, at_ms, key, value) in enumerate(records):
        # Compaction leaves gaps in the offsets. After the first gap, records may be missing.
        history.whole = history.whole and offset == number
        if key.startswith(own, 2):
            line = Line(f"{OFFSETS_TOPIC}-{partition}", offset)
            where = f"{line.file} offset {offset}"
            rest = AnswerReader(key[2 + len(own) :], f"the key at {where}")
            content = None if value is None else AnswerReader(value, f"the value at {where}")
            _add(history, int.from_bytes(key[:2]), rest, content, line, at_ms / 1000)
    for place, commits in sorted(history.commits.items()):
        history.others.append(Other(None, _brief(place, commits), None, history.lines[place]))
    # A classic group's record is written when a rebalance has ended, and an epoch's record when a rebalance
    # begins. So only rebalances of a classic group have a time of their end, which shows the protocol.
    last = history.rebalances[-1:]
    protocol = ("consumer" if last[0].ended is None else "classic") if last else None
    return GroupHistory(group, protocol, tuple(history.rebalances), tuple(history.others), (_UNKNOWN,))


def _add(
    history: _History, kind: int, key: AnswerReader, value: AnswerReader | None, line: Line, at: float
) -> None:
    """Add one record of the group; a record that is not about members, epochs or commits is skipped.

    Args:
        history: the history so far; changed here.
        kind: the version of the key, which stands for the kind of record.
        key: the rest of the key, after the group's id.
        value: the value; None if the record deletes what the key names.
        line: the place of the record.
        at: when it was written, in seconds since 1970.
    """
    if kind in _COMMITS:
        place = f"{key.string()}-{key.int32()}"
        history.commits.setdefault(place, []).append(None if value is None else _read_offset(value))
        history.lines[place] = line
    elif kind == _MEMBER:
        history.members.pop(member := key.string(), None)
        if value is not None:
            history.members[member] = _member_name(value)
    elif kind in {_CLASSIC, _EPOCH} and value is None:
        history.others.append(Other(at, "the group was deleted, or changed its protocol", None, line))
        # A deleted group has no members left, so all later members are new.
        history.before = {}
    elif kind == _CLASSIC and value is not None:
        history.generation(
            *_classic(value, LoggedRebalance(None, Cause.UNKNOWN, None, "", line, None, ended=at))
        )
    elif kind == _EPOCH and value is not None:
        _version(value, 0)
        history.generation(LoggedRebalance(value.int32(), Cause.UNKNOWN, None, "", line, at), history.members)


def _version(value: AnswerReader, most: int) -> int:
    """Return the version of a value, its first field; raise ProtocolError if it is not 0 .. `most`."""
    version = value.int16()
    if not 0 <= version <= most:
        raise ProtocolError(f"{OFFSETS_TOPIC}: a value has version {version}; up to {most} are read here")
    return version


def _read_offset(value: AnswerReader) -> int:
    """Return the offset in the value of a commit."""
    _version(value, 4)  # in all of these versions the offset is the next field
    return value.int64()


def _classic(value: AnswerReader, rebalance: LoggedRebalance) -> tuple[LoggedRebalance, dict[str, str]]:
    """Return a classic group's rebalance with its generation, and the names of its members.

    Fields must be read in the order of their layout, because a field begins where the field before ends. So
    some fields are read only to be skipped.

    Args:
        value: the value of the record.
        rebalance: the rebalance without the fields of the value.

    Returns:
        The rebalance; and the members as `_History.generation` takes them.
    """
    version = _version(value, 3)
    value.string()  # the type of the protocol
    generation, assignor, leader = value.int32(), value.nullable_string(), value.nullable_string()
    if version >= 2:
        value.int64()  # when the state changed
    members = {}
    for _ in range(value.length()):
        member = value.string()
        instance = value.nullable_string() if version >= 3 else None
        client, _ = value.string(), value.string()  # and its host
        value.skip(8 if version >= 1 else 4)  # its timeouts
        value.data(), value.data()  # its subscription, and what it got
        members[instance or member] = instance or client
        leader = members[instance or member] if member == leader else leader
    return replace(rebalance, generation=generation, assignor=assignor, leader=leader), members


def _member_name(value: AnswerReader) -> str:
    """Return the `group.instance.id` in the value of a KIP-848 member, or else its `client.id`."""
    _version(value, 0)
    instance, _, client = value.compact(), value.compact(), value.text()
    return instance or client


def _brief(place: str, offsets: Sequence[int | None]) -> str:
    """Return a summary of a partition's commits in one line.

    Args:
        place: the partition as text.
        offsets: the committed offsets in order; None for an offset that was deleted.
    """
    commits = [offset for offset in offsets if offset is not None]
    steps = [after - one for one, after in pairwise(offsets) if one is not None and after is not None]
    span = f", first {commits[0]:,}, last {commits[-1]:,}" if commits else ""
    step = f", largest step {max(steps):,}" if steps and max(steps) > 0 else ""
    back = sum(step < 0 for step in steps)
    deleted = offsets.count(None)
    return f"{place}: {count(len(commits), 'commit')}{span}{step}, {back} backward, {deleted} deleted"
