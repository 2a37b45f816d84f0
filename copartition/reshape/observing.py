"""Read from a cluster the facts for a plan to reshape a topic, without writing or joining a group."""

import time
from collections.abc import Mapping

from copartition.audit.cluster import audit_topic
from copartition.audit.topic_audit import Records, Selection
from copartition.audit.topic_state import TopicState
from copartition.check.proof import KeyComparison
from copartition.groups.kinds import OTHER_KINDS
from copartition.groups.kinds.live import read_other_group
from copartition.groups.live.cluster import Cluster
from copartition.groups.live.reader import read_group
from copartition.kit.evidence import Missing
from copartition.reshape.observed import (
    GROUP_KINDS,
    OFFSETS_TOPIC,
    Bounds,
    KeySample,
    ObservedTopic,
    OpenTransaction,
    ReadingGroup,
    waiting_records,
)
from copartition.transactions.looks import transactions_of
from partitioning.clients.ledger import PREFIX
from partitioning.errors import GroupNotFoundError, SourceError


def observe_topic(topic: str, target: str, config: Mapping[str, str], *, full: bool = False) -> ObservedTopic:
    """Return a topic with its records, writers and readers, as far as this user may see them.

    Records are read once: for the audit, for the keys that lie in several partitions, and for the sample of
    keys. What open and aborted transactions wrote is left out, as the copy leaves it out.

    Args:
        topic: the topic.
        target: the topic that it would be copied to, which may exist already.
        config: librdkafka settings; `bootstrap.servers` at least.
        full: whether every record is read; else a sample.

    Raises:
        UnknownTopicError: the cluster shows no such topic.
        CopartitionError: the topic cannot be read, as in `audit_topic`, or no broker answers.
    """
    # `TopicState` is made first, because for an unknown topic it raises an error that names similar topics.
    state = TopicState(topic, config)
    cluster = Cluster("reshape", config)
    missing: list[Missing] = []
    shape = cluster.topic_shape(topic)
    partitions = range(state.num_partitions)
    # Transactions and ends are looked at twice: before the records are read and after. So the time between
    # the looks is not spent on waiting alone. And if transactions write the topic all the time, one of the
    # looks finds one that is open.
    begun, before = time.monotonic(), state.ends(partitions, committed=False)
    looks = [_transactions(cluster, topic)]
    sample, keys = KeySample(), KeyComparison(1)

    # The audit passes each batch on to `also`, so that the topic is read only once.
    def also(records: Records) -> None:
        sample.add(records)
        keys.add(0, records)

    audit = audit_topic(topic, config, Selection(full=full, committed=True), also=also)
    bounds = state.ends(partitions, committed=False)
    looked_s = time.monotonic() - begun
    looks.append(_transactions(cluster, topic))
    if None in looks:
        missing.append(
            Missing(
                "which transactions write the topic: a coordinator does not answer or refuses to tell",
                "run it again when all brokers answer, as a user with DESCRIBE on the transactional ids",
            )
        )
    # A failed look is reported above; the other look is used all the same.
    seen = [look for look in looks if look is not None]
    return ObservedTopic(
        name=topic,
        replicas=shape.replicas,
        settings=shape.settings,
        own_settings=shape.own,
        bounds=bounds,
        audit=audit,
        sample=sample,
        scattered=keys.proof(complete=audit.coverage.kind == "full"),
        written_per_s=sum(bounds[number][1] - before[number][1] for number in partitions) / looked_s,
        looked_s=looked_s,
        transactions=tuple(sorted({transaction for look in seen for transaction in look})),
        groups=tuple(_reading_groups(cluster, topic, bounds, missing)),
        others={name: count for name, count in cluster.counts.items() if name != topic},
        target_partitions=cluster.counts.get(target),
        missing=tuple(missing),
    )


def _transactions(cluster: Cluster, topic: str) -> list[OpenTransaction] | None:
    """Return the open transactions that write the topic or commit offsets; None if a coordinator fails.

    A coordinator knows the partitions of a transaction only while the transaction is open.
    """
    try:
        known = [
            transaction
            for broker in cluster.brokers.values()
            for transaction in transactions_of(broker, cluster.config)
        ]
    except SourceError:
        return None
    return [
        OpenTransaction(
            transaction.id,
            tuple(sorted({name for name, _ in transaction.partitions})),
            tuple(sorted(number for name, number in transaction.partitions if name == OFFSETS_TOPIC)),
        )
        for transaction in known
        # A transaction that only commits offsets counts, too: they may be those of a group that reads the
        # topic.
        if transaction.open and {topic, OFFSETS_TOPIC} & {name for name, _ in transaction.partitions}
    ]


def _reading_groups(
    cluster: Cluster, topic: str, bounds: Bounds, missing: list[Missing]
) -> list[ReadingGroup]:
    """Return the groups that have a commit for the topic or a member that reads it, sorted by name.

    Args:
        cluster: the cluster.
        topic: the topic.
        bounds: first and end offset of each of its partitions.
        missing: gets the groups that could not be read.
    """
    types = cluster.group_types()
    # librdkafka lists only groups of consumers; brokers also list the other kinds, with their types.
    names = sorted({*cluster.groups(), *types})
    groups = []
    for name in names:
        # The ledger of exactly-once writes is stored as the commits of a group, but no consumer reads by it.
        if name.startswith(PREFIX):
            continue
        kind = types.get(name, "classic")
        if kind not in GROUP_KINDS:
            what = f"whether group {name} reads the topic: its kind, {kind}, is not known here"
            missing.append(Missing(what, "look at it with Kafka's own tool for that kind"))
            continue
        try:
            found = (
                _other_group(cluster, name, kind, topic)
                if kind in OTHER_KINDS
                else _consumer_group(cluster, name, kind, topic, bounds)
            )
        except GroupNotFoundError:
            continue  # the group was deleted after it was listed
        except SourceError as error:  # a failure of one group must not hide the other groups
            missing.append(Missing(f"whether group {name} reads the topic: {error}", "run it again"))
            continue
        if found is not None:
            groups.append(found)
    return groups


def _consumer_group(
    cluster: Cluster, name: str, kind: str, topic: str, bounds: Bounds
) -> ReadingGroup | None:
    """Return a group of consumers; None if it does not read the topic."""
    # The second state is the group's next assignment (KIP-848), which has no influence on who reads which
    # topic.
    state, _ = read_group(cluster, name)
    commits = cluster.commits_in(name, topic)
    if not commits and topic not in state.topics:
        return None
    return ReadingGroup(name, kind, state, commits, waiting_records(bounds, commits))


def _other_group(cluster: Cluster, name: str, kind: str, topic: str) -> ReadingGroup | None:
    """Return a share group or a Streams group; None if it does not read the topic."""
    group = read_other_group(cluster, name, kind)
    positions = (group.positions or {}).get(topic, {})
    if not positions and topic not in (group.topics or {}):
        return None
    # The coordinator counts these lags itself. Unlike a lag from commits, they leave out records that were
    # processed out of order.
    lags = None if group.lag is None else group.lag.get(topic)
    return ReadingGroup(name, kind, None, positions, None if lags is None else sum(lags.values()))
