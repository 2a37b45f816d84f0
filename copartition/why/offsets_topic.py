"""Records of `__consumer_offsets` on a group: each generation that was written, and its commits in brief.

The layouts are those of Kafka's `group-coordinator/src/main/resources/common/message`. The topic is
compacted: a record that a later one replaces may be gone, so what is missing here is unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from copartition.groups.live.wire import AnswerReader
from copartition.kit.words import count
from copartition.why.evidence import Line
from copartition.why.history import OFFSETS_TOPIC, Cause, GroupHistory, Other, Rebalance
from partitioning.errors import BrokerUnreachableError, ProtocolError
from partitioning.placement import coordinator_partition

_SILENCE_S = 20.0
"""The seconds without any record after which the partition counts as one that does not answer."""
_COMMITS, _CLASSIC, _EPOCH, _MEMBER = (0, 1), 2, 3, 5  # versions of keys
_UNKNOWN = "what compaction removed from the topic is unknown, and so is how members that are gone left"


class TopicRecord(NamedTuple):
    """A record of the topic; None as its value deletes what the key names.

    `offset` counts in its partition, `at_ms` are milliseconds since 1970.
    """

    partition: int
    offset: int
    at_ms: int
    key: bytes
    value: bytes | None


def read_topic(group: str, config: Mapping[str, str]) -> Iterator[TopicRecord]:
    """Yield the records of the partition that keeps a group, without aborted transactions.

    The topic is only read: no offset is committed, and no group is joined.

    Args:
        group: the group's id, which decides the partition.
        config: librdkafka's settings of the cluster.

    Raises:
        BrokerUnreachableError: nothing came for `_SILENCE_S`. Other errors are those of
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
            # librdkafka tells the end of the partition as an error. Without it, a partition that was read to
            # its end would look like one that does not answer.
            elif error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise state.error_of(error, "READ", number)
    raise BrokerUnreachableError(f"{OFFSETS_TOPIC}-{number}: nothing came; has it a leader that answers?")


class _History:
    """The records of a group that were read until now, in the form of a `GroupHistory`.

    `topic_history` owns it and adds each record once, in the order of offsets.
    """

    def __init__(self) -> None:
        self.rebalances: list[Rebalance] = []
        self.others: list[Other] = []
        self.commits: dict[str, list[int | None]] = {}  # by partition; None if the offset was deleted
        self.lines: dict[str, Line] = {}  # where the last commit of a partition is
        self.members: dict[str, str] = {}  # of the consumer protocol: names by member id
        self.before: dict[str, str] | None = None  # of the generation before; None: not read
        self.whole = True  # whether compaction removed no record until now

    def generation(self, rebalance: Rebalance, members: Mapping[str, str]) -> None:
        """Add a rebalance: say who is new in the group that was written, and who is gone.

        Args:
            rebalance: the rebalance, with neither cause nor members.
            members: names of the members, by what stays of a member: its instance id, else its member id.
        """
        # All of generation 1 joined in it; how those of the first one that compaction left came is unknown.
        first: Mapping[str, str] = {} if self.whole or rebalance.generation == 1 else members
        before = first if self.before is None else self.before
        moved: list[tuple[Cause, str | None]] = [
            (Cause.JOINED, members[key]) for key in members.keys() - before.keys()
        ]
        moved += [(Cause.GONE, before[key]) for key in before.keys() - members.keys()]
        (cause, member), *also = sorted(moved, key=str) or [(Cause.UNKNOWN, None)]
        self.before = dict(members)
        if not before and not members:
            return  # a coordinator writes a new group before anybody is in it
        names = tuple(sorted(members.values()))
        self.rebalances.append(
            replace(rebalance, cause=cause, member=member, also=tuple(also), members=len(names), names=names)
        )


def topic_history(group: str, records: Iterable[TopicRecord]) -> GroupHistory:
    """Return what records say of a group, in the order in which they were written.

    Args:
        group: the group's id.
        records: the records of its partition, see `read_topic`; those of other groups are skipped.

    Returns:
        Its rebalances and, as others, deletions and the commits of each partition. Causes are JOINED, GONE or
        UNKNOWN: the topic does not tell a leave from a crash.

    Raises:
        ProtocolError: a record of the group that is cut, or of a version that is not read here.
    """
    # Each key begins with its version in two bytes; then comes the group's id behind its length.
    own = len(group.encode()).to_bytes(2) + group.encode()
    history = _History()
    for number, (partition, offset, at_ms, key, value) in enumerate(records):
        # Compaction leaves gaps in the offsets: from the first gap on, records may be missing.
        history.whole = history.whole and offset == number
        if key.startswith(own, 2):
            line = Line(f"{OFFSETS_TOPIC}-{partition}", offset)
            where = f"{line.file} offset {offset}"
            rest = AnswerReader(key[2 + len(own) :], f"the key at {where}")
            content = None if value is None else AnswerReader(value, f"the value at {where}")
            _add(history, int.from_bytes(key[:2]), rest, content, line, at_ms / 1000)
    for place, commits in sorted(history.commits.items()):
        history.others.append(Other(None, _brief(place, commits), None, history.lines[place]))
    # A classic group is written when a rebalance has ended, an epoch when one begins.
    last = history.rebalances[-1:]
    protocol = ("consumer" if last[0].ended is None else "classic") if last else None
    return GroupHistory(group, protocol, tuple(history.rebalances), tuple(history.others), (_UNKNOWN,))


def _add(
    history: _History, kind: int, key: AnswerReader, value: AnswerReader | None, line: Line, at: float
) -> None:
    """Add one record of the group; kinds that say nothing of members or commits are skipped.

    Args:
        history: what was read before.
        kind: the version of the key, which names the kind of record.
        key: the rest of the key, after the group's id.
        value: the value; None if the record deletes.
        line: the place of the record.
        at: when it was written, seconds since 1970.
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
        # Nobody is left of a group that was deleted, so all members that come after it are new.
        history.before = {}
    elif kind == _CLASSIC and value is not None:
        history.generation(*_classic(value, Rebalance(None, Cause.UNKNOWN, None, "", line, None, ended=at)))
    elif kind == _EPOCH and value is not None:
        _version(value, 0)
        history.generation(Rebalance(value.int32(), Cause.UNKNOWN, None, "", line, at), history.members)


def _version(value: AnswerReader, most: int) -> int:
    """Return the version of a value, 0 to `most`; any other raises `ProtocolError`."""
    version = value.int16()
    if not 0 <= version <= most:
        raise ProtocolError(f"{OFFSETS_TOPIC}: a value has version {version}; up to {most} are read here")
    return version


def _read_offset(value: AnswerReader) -> int:
    """Return the offset that a commit has."""
    _version(value, 4)  # the offset comes first in all of them
    return value.int64()


def _classic(value: AnswerReader, rebalance: Rebalance) -> tuple[Rebalance, dict[str, str]]:
    """Return the generation, and the names of its members by what stays when a static one restarts.

    Fields are read in the order of their layout; some are skipped, as each begins where the one before ends.
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
    """Return the `group.instance.id` of a member, else its `client.id`."""
    _version(value, 0)
    instance, _, client = value.compact(), value.compact(), value.text()
    return instance or client


def _brief(place: str, offsets: Sequence[int | None]) -> str:
    """Return the commits of a partition in a line; None stands for an offset that was deleted."""
    commits = [offset for offset in offsets if offset is not None]
    steps = [after - one for one, after in pairwise(offsets) if one is not None and after is not None]
    span = f", first {commits[0]:,}, last {commits[-1]:,}" if commits else ""
    step = f", largest step {max(steps):,}" if steps and max(steps) > 0 else ""
    back = sum(step < 0 for step in steps)
    deleted = offsets.count(None)
    return f"{place}: {count(len(commits), 'commit')}{span}{step}, {back} backward, {deleted} deleted"
