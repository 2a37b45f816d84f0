"""Look at a cluster's transactions twice, and judge what is wrong, why it matters, and what ends it.

Two kinds of brokers know a transaction: its coordinator knows the transactional id, its state and its
partitions (ListTransactions, DescribeTransactions); the leader of each partition knows which producers have
one open there, and from which offset (DescribeProducers). A transaction that a leader has open and no
coordinator knows hangs: nothing ends it but an operator. Markers take a while, so a fault of that kind counts
only if both looks show it.

Times are milliseconds since 1970, brokers and producers are meant by their ids.
"""

import struct
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from copartition.groups.live.cluster import Broker, Cluster, right_command
from copartition.groups.live.wire import (
    NO_TAGS,
    Connection,
    check_error,
    compact_array,
    compact_text,
    connect_to,
    failures,
)
from copartition.kit.evidence import Evidence, Missing
from copartition.kit.words import count, duration, list_names
from partitioning.errors import SourceError

Partition = tuple[str, int]
"""A topic and the number of one of its partitions."""

# The numbers of these requests in Kafka's protocol (KIP-664). All are asked in version 0.
_DESCRIBE_PRODUCERS, _DESCRIBE_TRANSACTIONS, _LIST_TRANSACTIONS = 61, 65, 66
_NOT_FOUND = 105  # TRANSACTIONAL_ID_NOT_FOUND
_HIDDEN = 53  # TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_UNREADABLE = 29  # TOPIC_AUTHORIZATION_FAILED
_RIGHTS = {
    _UNREADABLE: "this user needs READ on the topic",
    31: "this user needs DESCRIBE on the cluster",
    _HIDDEN: "this user needs DESCRIBE on the transactional id",
}
"""The right that is missing, by the error code of a broker's answer; 31 is CLUSTER_AUTHORIZATION_FAILED."""

OPEN_STATES = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
"""States in which some partition waits for a marker."""


class Transaction(NamedTuple):
    """A transactional id as its coordinator has it; times are milliseconds since 1970.

    An id stays when its transaction has ended: it is open only in the states of `OPEN_STATES`.
    """

    id: str
    producer: int  # the producer id that the coordinator gave to this transactional id
    epoch: int  # raised by each new producer with this id, and from transaction.version 2 by each transaction
    state: str  # Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, ..
    timeout_ms: int  # the producer's transaction.timeout.ms
    started_ms: int | None  # None if none is open
    coordinator: int  # the broker's id
    partitions: frozenset[Partition]  # the ones that it has written to, or that still lack a marker

    @property
    def open(self) -> bool:
        """True if some partition waits for a marker."""
        return self.state in OPEN_STATES


class OpenProducer(NamedTuple):
    """A producer with a transaction that is open in a partition, as the leader has it."""

    producer: int
    epoch: int
    first_offset: int  # of the transaction in this partition
    wrote_ms: int  # the time of its last record there


class PartitionLook(NamedTuple):
    """The offsets up to which a partition can be read; None if its leader did not say.

    Invariant: `stable` is at most `end`, because the ends are asked for later.
    """

    topic: str
    partition: int
    end: int | None  # the high watermark
    stable: int | None  # the last stable offset: readers with read_committed stop here
    committed: int | None  # of the group that was asked for
    producers: tuple[OpenProducer, ...] | None  # with an open transaction; None if the leader did not say

    @property
    def place(self) -> Partition:
        """The topic and the partition's number."""
        return self.topic, self.partition

    @property
    def behind(self) -> int | None:
        """The number of offsets that an open transaction keeps from readers with read_committed.

        None if an end is unknown. Markers and control records count too.
        """
        return None if self.end is None or self.stable is None else max(self.end - self.stable, 0)


class Look(NamedTuple):
    """The transactions and partitions that a cluster showed at one time.

    Attributes:
        at_ms: the time of the look, in milliseconds since 1970, by the clock of this machine.
        transactions: the transactional ids that brokers showed, in the order of their ids.
        partitions: partitions that a transaction holds, and those of the group, by topic and number.
        sources: the sources that answered, phrases of evidence.
        missing_ids: why there may be transactional ids that are not in `transactions`; empty if it has all.
        missing: what else could not be asked.
    """

    at_ms: float
    transactions: tuple[Transaction, ...]
    partitions: tuple[PartitionLook, ...]
    sources: tuple[str, ...]
    missing_ids: tuple[Missing, ...] = ()
    missing: tuple[Missing, ...] = ()


def look_at(cluster: Cluster, topics: Collection[str] | None, group: str | None) -> Look:
    """Look at all transactions that this user may see, and at the partitions that one holds.

    Args:
        cluster: the cluster.
        topics: topics whose partitions are looked at; None for all, without the cluster's own.
        group: a group whose partitions are shown too; None for none.

    Returns:
        The look. What a broker does not answer or does not show to this user is in `missing_ids` or
        `missing`, and raises nothing: the rest is worth showing.
    """
    missing_ids: list[Missing] = []
    missing: list[Missing] = []
    transactions: list[Transaction] = []
    answered = []
    for broker in cluster.brokers.values():
        try:
            transactions += transactions_of(broker, cluster.config)
        except SourceError as error:
            what = f"the transactions of broker {broker.id} at {broker.address}: {error}"
            missing_ids.append(Missing(what, "run it again when that broker answers"))
        else:
            answered.append(broker)
    if answered and not _may_see_every_id(answered[0], cluster.config):
        missing_ids.append(
            Missing(
                "transactions of ids that this user may not DESCRIBE: brokers leave them out without a word",
                right_command(cluster.config, "Describe", "--transactional-id '*'"),
            )
        )
    if topics is None:
        topics = [name for name in cluster.counts if not name.startswith("__")]
        if not cluster.may_see_every_topic():
            right = right_command(cluster.config, "Describe", "--topic '*'")
            what = (
                "partitions of topics that this user may not DESCRIBE: brokers leave them out without a word"
            )
            missing.append(Missing(what, f"name the topics with --only-topic, or {right}"))
    committed = {} if group is None else cluster.committed(group)
    places = {(name, number) for name in topics for number in range(cluster.counts[name])} | set(committed)
    # First how far is stable: an end that is asked for later is never below it. The other way round, a commit
    # in between would make `stable` seem to be above the end.
    stable, ends = cluster.ends(places, stable=True), cluster.ends(places)
    if unknown := sorted(places - (ends.keys() & stable.keys())):
        what = f"the offsets of {list_names([f'{name}-{number}' for name, number in unknown], _SHOWN)}"
        missing.append(Missing(what, "run it again when the partitions have leaders"))
    waiting = {place for transaction in transactions if transaction.open for place in transaction.partitions}
    # Leaders are asked only for partitions that something holds: to ask for all would be a request for each
    # partition of the cluster. A transaction that no coordinator knows shows by stable offset and end.
    held = {place for place in places if place in waiting or stable.get(place) != ends.get(place)}
    producers = _open_producers(cluster, held, missing)
    looks = [
        PartitionLook(
            *place,
            ends.get(place),
            stable.get(place),
            committed.get(place),
            # A partition that was asked for and is not in `producers` is unknown; one that was not has none.
            producers.get(place, None if place in held else ()),
        )
        for place in sorted(held | committed.keys())
    ]
    transactions.sort(key=lambda transaction: transaction.id)
    seen = (
        f"the transactional ids of {count(len(answered), 'broker')}",
        f"last stable offsets and ends of {count(len(places) - len(unknown), 'partition')}",
    )
    return Look(
        1000 * time.time(), tuple(transactions), tuple(looks), seen, tuple(missing_ids), tuple(missing)
    )


def transactions_of(broker: Broker, config: Mapping[str, str]) -> list[Transaction]:
    """Return the transactional ids that a broker coordinates, in its order.

    A broker leaves out, without a word, ids that this user may not DESCRIBE.

    Args:
        broker: the broker to ask.
        config: librdkafka settings of the cluster, for the connection.

    Raises:
        SourceError: the broker cannot be reached or refuses the request.
    """
    with failures(), connect_to(broker.host, broker.port, config) as connection:
        # Two empty lists, of states and of producer ids to filter by: all transactions.
        answer = connection.ask(_LIST_TRANSACTIONS, 0, b"\1\1" + NO_TAGS)
        answer.int32()  # how long the broker throttled us
        error = answer.int16()
        check_error(error, _RIGHTS.get(error))
        for _ in answer.items():
            answer.text()  # states that it does not know: none was named
        ids = []
        for _ in answer.items():
            ids.append(answer.text())
            answer.skip(8)  # the producer id
            answer.text()  # the state, which may be another when the id is described
            answer.tags()
        return _describe(connection, ids, broker.id) if ids else []


def _may_see_every_id(broker: Broker, config: Mapping[str, str]) -> bool:
    """Return whether this user may DESCRIBE transactional ids of any name.

    The broker is asked for a random name that no producer has: it refuses a user without the right, and tells
    others that it does not know or does not coordinate this id. No answer is no evidence, so it counts as no.
    """
    try:
        with failures(), connect_to(broker.host, broker.port, config) as connection:
            name = compact_text(f"copartition-{uuid.uuid4().hex}")
            answer = connection.ask(_DESCRIBE_TRANSACTIONS, 0, compact_array([name]) + NO_TAGS)
            answer.int32()  # how long the broker throttled us
            return [answer.int16() for _ in answer.items()] != [_HIDDEN]
    except SourceError:
        return False


def _describe(connection: Connection, ids: Sequence[str], coordinator: int) -> list[Transaction]:
    """Return what a coordinator knows of these transactional ids, without those that expired meanwhile.

    Args:
        connection: an open connection to the coordinator.
        ids: the transactional ids, at least one.
        coordinator: the id of that broker.

    Raises:
        SourceError: the coordinator refuses an id, because of a missing right or a move to another broker.
    """
    answer = connection.ask(
        _DESCRIBE_TRANSACTIONS, 0, compact_array([compact_text(name) for name in ids]) + NO_TAGS
    )
    answer.int32()
    transactions = []
    for _ in answer.items():
        error = answer.int16()
        name, state, timeout_ms, started_ms = answer.text(), answer.text(), answer.int32(), answer.int64()
        producer, epoch = answer.int64(), answer.int16()
        partitions = set()
        for _ in answer.items():
            topic = answer.text()
            partitions |= {(topic, answer.int32()) for _ in answer.items()}
            answer.tags()
        answer.tags()
        if error == _NOT_FOUND:
            continue  # it expired since it was listed
        check_error(error, _RIGHTS.get(error))
        since = started_ms if started_ms >= 0 and state in OPEN_STATES else None
        transactions.append(
            Transaction(name, producer, epoch, state, timeout_ms, since, coordinator, frozenset(partitions))
        )
    return transactions


def _open_producers(
    cluster: Cluster, places: Iterable[Partition], missing: list[Missing]
) -> dict[Partition, tuple[OpenProducer, ...]]:
    """Return the producers with an open transaction in each of these partitions, by topic and number.

    Args:
        cluster: the cluster; one request goes to each leader.
        places: the partitions to ask for.
        missing: gets what a leader does not tell.

    Returns:
        Partition -> its producers, none if the leader knows no open transaction. Partitions that are unknown
        are left out.
    """
    by_leader: dict[Broker, list[Partition]] = defaultdict(list)
    topics = {topic for topic, _ in places} & cluster.counts.keys()
    leaders = {topic: cluster.leaders(topic) for topic in topics}
    for topic, number in sorted(places):
        # A transaction may name a partition of a topic that is hidden from this user, or deleted meanwhile.
        leader = leaders[topic][number] if number < len(leaders.get(topic, ())) else None
        if leader is None:
            what = f"the producers of {topic}-{number}: it has no leader"
            missing.append(Missing(what, "run it again when it has one"))
        else:
            by_leader[leader].append((topic, number))
    producers: dict[Partition, tuple[OpenProducer, ...]] = {}
    for leader, mine in by_leader.items():
        try:
            producers |= _producers_of(leader, mine, cluster.config, missing)
        except SourceError as error:
            what = f"the producers at broker {leader.id}: {error}"
            missing.append(Missing(what, "run it again when that broker answers"))
    return producers


def _producers_of(
    broker: Broker, places: Sequence[Partition], config: Mapping[str, str], missing: list[Missing]
) -> dict[Partition, tuple[OpenProducer, ...]]:
    """Return what one leader tells of its partitions, like `_open_producers`.

    A partition that the leader refuses is added to `missing`, with the right or the wait that helps.

    Raises:
        SourceError: the leader cannot be reached, or the whole request is refused.
    """
    numbers: dict[str, list[int]] = defaultdict(list)
    for topic, number in places:
        numbers[topic].append(number)
    topics = [
        compact_text(topic) + compact_array([struct.pack(">i", number) for number in mine]) + NO_TAGS
        for topic, mine in numbers.items()
    ]
    producers = {}
    with failures(), connect_to(broker.host, broker.port, config) as connection:
        answer = connection.ask(_DESCRIBE_PRODUCERS, 0, compact_array(topics) + NO_TAGS)
        answer.int32()
        for _ in answer.items():
            topic = answer.text()
            for _ in answer.items():
                number, error, message = answer.int32(), answer.int16(), answer.compact()
                active = []
                for _ in answer.items():
                    producer, epoch = answer.int64(), answer.int32()
                    answer.skip(4)  # its last sequence number
                    wrote_ms = answer.int64()
                    answer.skip(4)  # the coordinator's epoch
                    active.append(OpenProducer(producer, epoch, answer.int64(), wrote_ms))
                    answer.tags()
                answer.tags()
                if error:
                    reason = _RIGHTS.get(error) or message or f"error {error}"
                    right = right_command(config, "Read", f"--topic {topic}")
                    remedy = right if error == _UNREADABLE else "run it again when its leader answers"
                    missing.append(Missing(f"the producers of {topic}-{number}: {reason}", remedy))
                else:
                    # A leader also tells producers whose transactions have ended: their start is below 0.
                    producers[topic, number] = tuple(one for one in active if one.first_offset >= 0)
            answer.tags()
    return producers


MOST_TIMEOUT_MS = 900_000
"""`transaction.max.timeout.ms`, the broker's default: no coordinator keeps a transaction open for longer."""

_EPOCH_PER_TRANSACTION = 2
"""The level of transaction.version from which each transaction raises the epoch (KIP-890)."""

_ABORTED = frozenset({"PrepareAbort", "PrepareEpochFence", "CompleteAbort"})
"""States of a transaction that was aborted, or whose abort is decided."""

_CLOCK = "ages are by the clock of this machine"
_NO_DENIAL = "no ACL denies this user a transactional id or a topic by name"
_SHOWN = 5
"""The most partitions that a sentence names."""


class TransactionFault(NamedTuple):
    """A fault that two looks show, with what ends it.

    Attributes:
        kind: "open long", "marker missing", "hanging", "unknown owner" or "fenced".
        id: the transactional id; None if no coordinator knows it.
        producer: the producer's id.
        partitions: the partitions that the transaction is open in, by topic and number.
        what: what is seen, a sentence without a full stop.
        action: what ends it, with the command if there is one.
        ground: the sources it was read from, and what is assumed.
    """

    kind: str
    id: str | None
    producer: int
    partitions: tuple[Partition, ...]
    what: str
    action: str
    ground: Evidence


class Judgement(NamedTuple):
    """The judgement on two looks: what is wrong, and what could not be seen.

    Attributes:
        findings: what is wrong, by transactional id; transactions without a coordinator come last.
        missing: what either look could not see, each once.
        ground: what was read in both looks.
    """

    findings: tuple[TransactionFault, ...]
    missing: tuple[Missing, ...]
    ground: Evidence

    @property
    def exit_code(self) -> int:
        """The command's exit code: 1 if something is wrong, else 2 if something could not be seen, else 0."""
        return 1 if self.findings else 2 if self.missing else 0


def judge_looks(
    first: Look, last: Look, *, open_ms: float, servers: str, transaction_version: int | None
) -> Judgement:
    """Return the judgement on two looks at a cluster: the findings, and what neither look could see.

    Args:
        first: the look to compare with.
        last: a later look, which the findings describe.
        open_ms: a transaction may be open for so many milliseconds.
        servers: bootstrap servers, for commands that the reader can run.
        transaction_version: the level of that feature; None if no broker said.
    """
    found = transaction_faults(
        first, last, open_ms=open_ms, servers=servers, transaction_version=transaction_version
    )
    # Both looks mostly lack the same things: each is said once.
    missing = (look_missing for look in (first, last) for look_missing in (*look.missing_ids, *look.missing))
    assumed = [_CLOCK] if any(transaction.open for transaction in last.transactions) else []
    return Judgement(
        tuple(found), tuple(dict.fromkeys(missing)), Evidence(last.sources, (*assumed, _NO_DENIAL))
    )


def transaction_faults(
    first: Look, last: Look, *, open_ms: float, servers: str, transaction_version: int | None
) -> list[TransactionFault]:
    """Return the faults that both looks show, by transactional id; see `judge_looks` for the parameters.

    A transaction that is open for too long needs only the last look: its coordinator tells when it began.
    """
    before = {transaction.id: transaction for transaction in first.transactions}
    problems: list[TransactionFault] = []
    for transaction in last.transactions:
        earlier = before.get(transaction.id)
        if transaction.state == "Ongoing":
            if transaction.started_ms is not None and last.at_ms - transaction.started_ms > open_ms:
                problems.append(_open_long(transaction, last, servers))
        elif (
            transaction.open
            and earlier
            # The same transaction in the same state: id, producer, epoch and state.
            and earlier[:4] == transaction[:4]
            and earlier.started_ms == transaction.started_ms
        ):
            problems.append(_marker_missing(transaction, last.at_ms - first.at_ms))
        if earlier is not None and _is_fenced(earlier, transaction, transaction_version):
            problems.append(_fencing(earlier, transaction))
    problems += _without_coordinator(first, last, servers)
    return problems


def open_transactions(look: Look) -> dict[tuple[int, tuple[str, int]], Transaction]:
    """Return the transactions that coordinators know to be open, by (producer id, partition).

    A producer id belongs to one transactional id, and has one transaction open at a time.
    """
    opened = (transaction for transaction in look.transactions if transaction.open)
    return {
        (transaction.producer, place): transaction
        for transaction in opened
        for place in transaction.partitions
    }


def _is_fenced(earlier: Transaction, transaction: Transaction, transaction_version: int | None) -> bool:
    """Return whether a transaction was aborted between the looks, by a new producer or by its own.

    A raised epoch alone says nothing if each transaction raises it (KIP-890); only a new producer makes the
    state Empty.

    Args:
        earlier: the transactional id at the first look.
        transaction: the same id at the last look.
        transaction_version: the level of that feature; None if unknown, then a raised epoch is no evidence.
    """
    if (transaction.producer, transaction.epoch) == (earlier.producer, earlier.epoch):
        return False
    # Below this level the epoch of an id is not raised by a commit. While a transaction is open it is raised
    # by an abort only: for a new producer with this id, for its age, or by its own producer that begins anew
    # after an error (KIP-360).
    by_producers_only = transaction_version is not None and transaction_version < _EPOCH_PER_TRANSACTION
    return transaction.state in _ABORTED or (
        earlier.open and (transaction.state == "Empty" or by_producers_only)
    )


def _of(transaction: Transaction, kind: str, what: str, action: str, *, looks: int = 2) -> TransactionFault:
    """Return a finding about a transaction that its coordinator told: in both looks, or in the last (1)."""
    times = "two looks" if looks == 2 else "the last look"
    ground = Evidence((f"its coordinator, broker {transaction.coordinator}, in {times}",), (_CLOCK,))
    return TransactionFault(
        kind,
        transaction.id,
        transaction.producer,
        tuple(sorted(transaction.partitions)),
        what,
        action,
        ground,
    )


def _open_long(transaction: Transaction, look: Look, servers: str) -> TransactionFault:
    """Return the finding of a transaction that is open for longer than it may be, and who ends it.

    Its coordinator aborts it when transaction.timeout.ms is over, at the next of its rounds; until then the
    reader can. What it holds back, in offsets, is a lower bound if the look does not show all its partitions.
    """
    assert transaction.started_ms is not None
    behind = {place.place: place.behind for place in look.partitions}
    held = [behind.get(place) for place in transaction.partitions]
    least = "at least " if None in held else ""
    age_ms = look.at_ms - transaction.started_ms
    # Negative once the timeout is over: then the coordinator's next round aborts it.
    left_ms = transaction.timeout_ms - age_ms
    partitions = count(len(transaction.partitions), "partition")
    ends = (
        f"broker {transaction.coordinator} aborts it in {duration(left_ms)} (transaction.timeout.ms "
        f"{transaction.timeout_ms:,})"
        if left_ms > 0
        else f"its transaction.timeout.ms of {transaction.timeout_ms:,} is over; "
        f"broker {transaction.coordinator} aborts it within "
        "transaction.abort.timed.out.transaction.cleanup.interval.ms (10 s)"
    )
    return _of(
        transaction,
        "open long",
        f"{transaction.id} has been open for {duration(age_ms)} in {partitions}; "
        f"read_committed readers wait for {least}{count(sum(filter(None, held)), 'offset')} behind it",
        f"{ends}. Sooner: restart its producer, whose init_transactions aborts it, or "
        f"kafka-transactions.sh --bootstrap-server {servers} forceTerminateTransaction "
        f"--transactionalId {transaction.id}",
        looks=1,
    )


def _marker_missing(transaction: Transaction, between_ms: float) -> TransactionFault:
    """Return the finding of a decided transaction that lacks the marker of a partition in both looks.

    `between_ms` is the time between the looks.
    """
    partitions = count(len(transaction.partitions), "partition")
    return _of(
        transaction,
        "marker missing",
        f"{transaction.id} is decided ({transaction.state}), but {partitions} had no marker "
        f"in two looks {duration(between_ms)} apart",
        f"broker {transaction.coordinator} writes markers as soon as the leaders answer: see whether the "
        f"partitions have a leader; if they have, restart broker {transaction.coordinator}, whose successor "
        "writes them again",
    )


def _fencing(earlier: Transaction, transaction: Transaction) -> TransactionFault:
    """Return the finding of a transaction that was aborted between the looks."""
    return _of(
        transaction,
        "fenced",
        f"a transaction of {transaction.id} was aborted: it went from producer {earlier.producer} epoch "
        f"{earlier.epoch} to producer {transaction.producer} epoch {transaction.epoch}. "
        "A second process uses this id, its process was started again, or it aborted by itself",
        "see whether two processes have this id: they fence each other, and each needs an id of its own; a "
        "restart needs nothing",
    )


def _without_coordinator(first: Look, last: Look, servers: str) -> Iterator[TransactionFault]:
    """Yield a finding for each open transaction that no coordinator knows, in both looks.

    Both looks must show it at the same offset: else it is another transaction of that producer, and alive.
    """
    offsets = {
        (place.place, producer.producer, producer.first_offset)
        for place in first.partitions
        for producer in place.producers or ()
    }
    # Known at either look is enough: its coordinator may have ended it between the looks.
    owned = open_transactions(first).keys() | open_transactions(last).keys()
    for place in last.partitions:
        for producer in place.producers or ():
            again = (place.place, producer.producer, producer.first_offset) in offsets
            if again and (producer.producer, place.place) not in owned:
                yield _without_transaction(producer, place, last, servers)


def _without_transaction(
    producer: OpenProducer, place: PartitionLook, look: Look, servers: str
) -> TransactionFault:
    """Return the finding of a producer whose transaction no coordinator knows.

    It hangs for certain only if every transactional id was seen and it is older than any transaction may be:
    `abort` drops its records, so it is not advised for less. Its age counts from the producer's last record
    in the partition, since leaders do not tell when a transaction began.
    """
    age_ms = look.at_ms - producer.wrote_ms
    # A coordinator that this look did not reach, or an id that it hides, may well be the owner.
    hanging = age_ms > MOST_TIMEOUT_MS and not look.missing_ids
    assumed = [_CLOCK]
    name = f"{place.topic}-{place.partition}"
    what = (
        f"producer {producer.producer} (epoch {producer.epoch}) has a transaction open in {name} from offset "
        f"{producer.first_offset:,} that no coordinator knows; it wrote last {duration(age_ms)} ago"
    )
    if hanging:
        kind = "hanging"
        what += (
            f", and a coordinator would have ended it after {duration(MOST_TIMEOUT_MS)} "
            "(transaction.max.timeout.ms): nothing ends it"
        )
        assumed.append(f"transaction.max.timeout.ms is its default, {MOST_TIMEOUT_MS:,}")
        action = (
            f"kafka-transactions.sh --bootstrap-server {servers} abort --topic {place.topic} "
            f"--partition {place.partition} --start-offset {producer.first_offset}"
        )
    else:
        kind = "unknown owner"
        hidden = (
            f"this look did not show {look.missing_ids[0].what}"
            if look.missing_ids
            else "its markers are on their way"
        )
        what += f": it hangs, or {hidden}"
        action = (
            look.missing_ids[0].remedy
            if look.missing_ids
            else f"run it again in {duration(max(MOST_TIMEOUT_MS - age_ms, 0))}: then it hangs for certain"
        )
    leader = f"the producers at the leader of {name} in two looks"
    ground = Evidence((leader, *look.sources[:1]), tuple(assumed))
    return TransactionFault(kind, None, producer.producer, (place.place,), what, action, ground)
