"""Read a share group or a Streams group of a cluster, with all that checks look at; nothing is written."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import msgspec

from copartition.groups.kinds.model import ShareGroup, StreamsGroup
from copartition.groups.kinds.wire import ask_share_group, ask_streams_group
from copartition.groups.live.cluster import Cluster, connect
from copartition.kit.places import Place, by_place, by_topic
from partitioning.errors import GroupNotFoundError, SourceError

MOST_READ = 200
"""Partitions of which a record is read for its time: those with the most records that wait."""


def read_other_live(group: str, config: Mapping[str, str], kind: str) -> ShareGroup | StreamsGroup:
    """Return a share group or a Streams group of a cluster.

    Args:
        group: group id.
        config: librdkafka settings; `bootstrap.servers` at least.
        kind: "share" or "streams".

    Raises:
        SourceError: no broker answers, or one refuses this user.
    """
    return read_other_group(connect(group, config), group, kind)


def read_other_group(cluster: Cluster, group: str, kind: str) -> ShareGroup | StreamsGroup:
    """Return what `read_other_live` returns, over a connection that is there already."""
    return _read_share(cluster, group) if kind == "share" else _read_streams(cluster, group)


def _read_share(cluster: Cluster, group: str) -> ShareGroup:
    """Return a share group with its offsets and settings."""
    described, offsets = ask_share_group(group, cluster.config)
    # A group that is gone is described as dead, without an error.
    _refuse_dead(described.status, group)
    topics = {topic for member in described.members or () for topic in member.topics or ()}
    kept = {place: start for place, start in offsets.starts.items() if start >= 0}
    facts = _facts(cluster, topics | {topic for topic, _ in offsets.starts}, kept)
    lags = None if offsets.lags is None else {place: lag for place, lag in offsets.lags.items() if lag >= 0}
    return msgspec.structs.replace(
        described,
        positions=by_topic(offsets.starts),
        lag=None if lags is None else by_topic(lags),
        waiting_ms=_waiting_ms(cluster, _first_waiting(facts, lags or {}), lags or {}),
        **facts,
        **_settings(cluster, group, "share"),
    )


def _read_streams(cluster: Cluster, group: str) -> StreamsGroup:
    """Return a Streams group with its commits and settings."""
    described = ask_streams_group(group, cluster.config)
    _refuse_dead(described.status, group)
    committed = cluster.committed_offsets(group)
    parts = (described.subtopologies or {}).values()
    inputs = {topic for part in parts for topic in part.inputs}
    changelogs = {topic for part in parts for topic in part.changelogs}
    facts = _facts(cluster, inputs | changelogs | {topic for topic, _ in committed}, committed, inputs)
    ends = by_place(facts["ends"])
    lags = {place: ends[place] - offset for place, offset in committed.items() if place in ends}
    return msgspec.structs.replace(
        described,
        positions=by_topic(committed),
        lag=by_topic(lags),
        waiting_ms=_waiting_ms(cluster, committed, lags),
        **facts,
        **_settings(cluster, group, "streams"),
    )


def _refuse_dead(status: str | None, group: str) -> None:
    """Refuse a group that is gone, which brokers describe without an error."""
    if status == "Dead":
        raise GroupNotFoundError(f"live:{group}: the cluster has no such group")


def _facts(
    cluster: Cluster,
    topics: Collection[str],
    positions: Mapping[Place, int],
    read: Collection[str] | None = None,
) -> dict[str, Any]:
    """Return the facts of both kinds that topics and partition leaders tell, by the name of their field.

    Args:
        cluster: the cluster.
        topics: the topics that the group reads or keeps offsets of.
        positions: the offset of each partition that one is kept of.
        read: topics of which all partitions count; None: all of `topics`.
    """
    described = cluster.describe_topics(sorted(topics))
    counts = {topic: len(described[topic].racks) for topic in sorted(described)}
    wanted = counts if read is None else {topic: counts[topic] for topic in read if topic in counts}
    places = {(topic, number) for topic, count in wanted.items() for number in range(count)}
    places |= positions.keys()
    return {
        "topics": counts,
        "hidden": tuple(sorted({*topics} - counts.keys())),
        "ends": by_topic(cluster.ends(places)),
        "starts": by_topic(cluster.starts(positions.keys())),
        "at": datetime.now(UTC),
    }


def _first_waiting(facts: Mapping[str, Any], lags: Mapping[Place, int]) -> dict[Place, int]:
    """Return the offset of the first record that waits in each partition of a share group, at the latest.

    The start offset that a coordinator keeps is one acknowledgement late: the record at it may be done since
    yesterday. As many records as are done, counted from there, lead to the first one that waits, or beyond it
    if a record before it holds up the rest; so the time that one has waited is never told too long.
    """
    ends = by_place(facts["ends"])
    return {place: ends[place] - lag for place, lag in lags.items() if place in ends}


def _waiting_ms(cluster: Cluster, positions: Mapping[Place, int], lags: Mapping[Place, int]) -> Any:
    """Return how long the first record at an offset has waited, of the partitions with the longest lags."""
    return by_topic(
        waiting_times(
            cluster, {place: positions[place] for place in most_lagging(lags) if place in positions}
        )
    )


def waiting_times(cluster: Cluster, offsets: Mapping[Place, int]) -> dict[Place, int]:
    """Return how long the first record at or after each offset has waited, in ms; 0 for a time to come."""
    now_ms = 1000 * datetime.now(UTC).timestamp()
    return {
        place: max(round(now_ms - written_ms), 0) for place, written_ms in cluster.written_ms(offsets).items()
    }


def most_lagging(lags: Mapping[Place, int]) -> Iterable[Place]:
    """Return the `MOST_READ` partitions with the most records that wait, without those in which none does."""
    waiting = [place for place, lag in lags.items() if lag > 0]
    return sorted(waiting, key=lambda place: (-lags[place], place))[:MOST_READ]


def _settings(cluster: Cluster, group: str, kind: str) -> dict[str, Any]:
    """Return the group's settings and its brokers' limits, each None if this user may not see them."""
    broker = min(cluster.brokers, default=0)
    return {
        "settings": _settings_of(partial(cluster.group_settings, group), f"{kind}."),
        "limits": _settings_of(partial(cluster.broker_settings, broker), f"group.{kind}."),
    }


def _settings_of(ask: Any, prefix: str) -> dict[str, str] | None:
    """Return the settings whose names begin with a prefix; None if they are not shown to this user."""
    try:
        shown: Mapping[str, str] = ask()
    except SourceError:
        return None
    return {name: shown[name] for name in sorted(shown) if name.startswith(prefix)}
