"""Read a share group or a Streams group of a cluster, with all that checks need; nothing is written."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from copartition.groups.kinds.model import ShareGroupState, StreamsGroupState
from copartition.groups.kinds.wire import ask_share_group, ask_streams_group
from copartition.groups.live.cluster import Cluster, connect
from copartition.kit.places import Place, by_place, by_topic
from partitioning.errors import GroupNotFoundError

MOST_READ = 200
"""The most partitions from which a record is read to learn its time; those with the longest lags are read."""


def read_other_live(group: str, config: Mapping[str, str], kind: str) -> ShareGroupState | StreamsGroupState:
    """Return a share group or a Streams group of a cluster.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.
        kind: "share" or "streams".

    Raises:
        SourceError: no broker answers, one refuses this user, or there is no such group.
    """
    return read_other_group(connect(group, config), group, kind)


def read_other_group(cluster: Cluster, group: str, kind: str) -> ShareGroupState | StreamsGroupState:
    """Return what `read_other_live` returns, over an existing connection to the cluster."""
    return _read_share(cluster, group) if kind == "share" else _read_streams(cluster, group)


def _read_share(cluster: Cluster, group: str) -> ShareGroupState:
    """Return a share group with its offsets and settings; GroupNotFoundError if there is none."""
    described, offsets = ask_share_group(group, cluster.config)
    _refuse_dead(described.status, group)
    topics = {topic for member in described.members or () for topic in member.topics or ()}
    # A start offset of -1 means that the coordinator keeps none, so it cannot be compared with other offsets.
    kept = {place: start for place, start in offsets.starts.items() if start >= 0}
    facts = _facts(cluster, topics | {topic for topic, _ in offsets.starts}, kept)
    # A lag of -1 means that the coordinator does not know it.
    lags = None if offsets.lags is None else {place: lag for place, lag in offsets.lags.items() if lag >= 0}
    return msgspec.structs.replace(
        described,
        positions=by_topic(offsets.starts),
        lag=None if lags is None else by_topic(lags),
        waiting_ms=by_topic(waiting_times(cluster, _first_waiting(facts, lags or {}), lags or {})),
        **facts,
        **_settings(cluster, group, "share"),
    )


def _read_streams(cluster: Cluster, group: str) -> StreamsGroupState:
    """Return a Streams group with its committed offsets and settings; GroupNotFoundError if there is none."""
    described = ask_streams_group(group, cluster.config)
    _refuse_dead(described.status, group)
    committed = cluster.committed_offsets(group)
    parts = (described.subtopologies or {}).values()
    inputs = {topic for part in parts for topic in part.inputs}
    changelogs = {topic for part in parts for topic in part.changelogs}
    facts = _facts(cluster, inputs | changelogs | {topic for topic, _ in committed}, committed, inputs)
    # No broker tells the lag of a Streams group, so it is computed. The lag of a partition is unknown if its
    # leader did not answer.
    ends = by_place(facts["ends"])
    lags = {place: ends[place] - offset for place, offset in committed.items() if place in ends}
    return msgspec.structs.replace(
        described,
        positions=by_topic(committed),
        lag=by_topic(lags),
        waiting_ms=by_topic(waiting_times(cluster, committed, lags)),
        **facts,
        **_settings(cluster, group, "streams"),
    )


def _refuse_dead(status: str | None, group: str) -> None:
    """Raise GroupNotFoundError for the status "Dead", which brokers report if a group does not exist."""
    if status == "Dead":
        raise GroupNotFoundError(f"live:{group}: the cluster has no such group")


def _facts(
    cluster: Cluster,
    topics: Collection[str],
    positions: Mapping[Place, int],
    read: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the fields of `OtherGroup` that topics and partition leaders tell, by name.

    Args:
        cluster: the cluster.
        topics: the topics that the group reads, or has offsets for.
        positions: partition -> the group's offset.
        read: the topics of which the ends of all partitions are asked for; None for all of `topics`. Of other
            topics, only the ends of partitions in `positions` are asked for.
    """
    described = cluster.describe_topics(sorted(topics))
    counts = {topic: len(described[topic].racks) for topic in sorted(described)}
    wanted = counts if read is None else {topic: counts[topic] for topic in read if topic in counts}
    places = {(topic, number) for topic, count in wanted.items() for number in range(count)}
    # A group may have offsets in partitions of topics that it no longer reads.
    places |= positions.keys()
    return {
        "topics": counts,
        "hidden": tuple(sorted({*topics} - counts.keys())),
        "ends": by_topic(cluster.ends(places)),
        "starts": by_topic(cluster.starts(positions.keys())),
        "at": datetime.now(UTC),
    }


def _first_waiting(facts: Mapping[str, Any], lags: Mapping[Place, int]) -> dict[Place, int]:
    """Return an offset in each partition of a share group at or after its first waiting record.

    The coordinator's start offset is one acknowledgement late, so the record there may have been processed
    long ago. Therefore the result is end - lag, which skips as many records as are processed. If records
    after the first waiting one are processed already, the result lies beyond the first waiting record. So the
    reported waiting time may be too short, but is never too long.
    """
    ends = by_place(facts["ends"])
    return {place: ends[place] - lag for place, lag in lags.items() if place in ends}


def waiting_times(
    cluster: Cluster, positions: Mapping[Place, int], lags: Mapping[Place, int]
) -> dict[Place, int]:
    """Return partition -> how long the first record at or after its position has waited, in milliseconds.

    Only the `MOST_READ` partitions with the longest lags are read. The time is 0 if the record's timestamp is
    in the future. Partitions whose record could not be read are missing.
    """
    waiting = [place for place, lag in lags.items() if lag > 0]
    longest = sorted(waiting, key=lambda place: (-lags[place], place))[:MOST_READ]
    now_ms = 1000 * datetime.now(UTC).timestamp()
    written_ms = cluster.written_ms({place: positions[place] for place in longest if place in positions})
    return {place: max(round(now_ms - at_ms), 0) for place, at_ms in written_ms.items()}


def _settings(cluster: Cluster, group: str, kind: str) -> dict[str, Any]:
    """Return the group's settings and its brokers' limits, each None if this user may not see them."""
    # The limits are those of one broker, the one with the lowest id.
    broker = min(cluster.brokers, default=0)
    return {
        "settings": cluster.settings("GROUP", group, f"{kind}."),
        "limits": cluster.settings("BROKER", str(broker), f"group.{kind}."),
    }
