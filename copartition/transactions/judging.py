"""Judge two looks at a cluster's transactions: which faults they show, why these matter, and how to end them.

Markers take a while. So if a leader has a transaction open that no coordinator knows, that is a fault only if
both looks show it. Times are milliseconds since 1970; brokers and producers are given by their ids.
"""

from collections.abc import Iterator
from typing import NamedTuple

from copartition.kit.evidence import Evidence, Missing
from copartition.kit.places import Place
from copartition.kit.words import count, duration
from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction
from partitioning.kit.packages import read_toml

MOST_TIMEOUT_MS = 900_000
"""The broker's default of `transaction.max.timeout.ms`: how long a transaction may stay open."""
_EPOCH_PER_TRANSACTION = 2
"""The level of transaction.version from which each transaction raises the epoch (KIP-890)."""
_ABORTED = frozenset({"PrepareAbort", "PrepareEpochFence", "CompleteAbort"})
"""States of a transaction that was aborted, or whose abort is decided."""
_FAULTS = read_toml(__package__, "faults.toml")
"""Kind of a fault -> its texts `what` and `action`, with facts in braces."""
_CLOCK = "ages are by the clock of this machine"
_NO_DENIAL = "no ACL denies this user a transactional id or a topic by name"


class TransactionFault(NamedTuple):
    """A fault that two looks show, and how to end it.

    Attributes:
        kind: "open long", "marker missing", "hanging", "unknown owner" or "fenced".
        id: the transactional id; None if no coordinator knows it.
        producer: the producer's id.
        partitions: the partitions that the transaction is open in, by topic and number.
        what: a description of the fault, a sentence without a full stop.
        action: how to end the fault, with the command if there is one.
        ground: the sources from which the fault was read, and the assumptions.
    """

    kind: str
    id: str | None
    producer: int
    partitions: tuple[Place, ...]
    what: str
    action: str
    ground: Evidence


class Judgement(NamedTuple):
    """The judgement on two looks: the faults, and the facts that could not be seen.

    Attributes:
        findings: the faults that were found, by transactional id; transactions without a coordinator come
            last.
        missing: the facts that one of the looks could not see, each fact only once.
        ground: the sources of the last look, and the assumptions.
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
    """Return the judgement on two looks at a cluster: the findings, and the facts that a look could not see.

    Args:
        first: the look to compare with.
        last: a later look, which the findings describe.
        open_ms: the milliseconds for which a transaction may be open.
        servers: bootstrap servers, for commands that the reader can run.
        transaction_version: the cluster's level of the feature transaction.version; None if no broker
            reported it.
    """
    found = transaction_faults(
        first, last, open_ms=open_ms, servers=servers, transaction_version=transaction_version
    )
    # Both looks usually lack the same facts, so each missing fact is named once.
    missing = (look_missing for look in (first, last) for look_missing in (*look.missing_ids, *look.missing))
    assumed = [_CLOCK] if any(transaction.open for transaction in last.transactions) else []
    return Judgement(
        tuple(found), tuple(dict.fromkeys(missing)), Evidence(last.sources, (*assumed, _NO_DENIAL))
    )


def transaction_faults(
    first: Look, last: Look, *, open_ms: float, servers: str, transaction_version: int | None
) -> list[TransactionFault]:
    """Return the faults that both looks show, by transactional id; see `judge_looks` for the parameters.

    A transaction that is open for too long needs only the last look, because its coordinator knows when it
    began.
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
            # The transaction is the same and in the same state: id, producer, epoch and state are equal.
            and earlier[:4] == transaction[:4]
            and earlier.started_ms == transaction.started_ms
        ):
            apart = duration(last.at_ms - first.at_ms)
            problems.append(_make_fault(transaction, "marker missing", apart=apart))
        if earlier is not None and _is_fenced(earlier, transaction, transaction_version):
            problems.append(_make_fault(transaction, "fenced", earlier=earlier))
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
    """Return whether a transaction was aborted between the looks, by a new producer or by its own producer.

    If each transaction raises the epoch (KIP-890), a raised epoch alone is no evidence; then only a new
    producer makes the state Empty.

    Args:
        earlier: the transactional id at the first look.
        transaction: the same id at the last look.
        transaction_version: the cluster's level of the feature transaction.version; None if it is unknown,
            and then a raised epoch is no evidence.
    """
    if (transaction.producer, transaction.epoch) == (earlier.producer, earlier.epoch):
        return False
    # Below this level a commit does not raise the epoch of a transactional id. While a transaction is open,
    # only an abort raises it: because a new producer has taken the id, because the transaction is too old, or
    # because its own producer starts again after an error (KIP-360).
    by_producers_only = transaction_version is not None and transaction_version < _EPOCH_PER_TRANSACTION
    return transaction.state in _ABORTED or (
        earlier.open and (transaction.state == "Empty" or by_producers_only)
    )


def _make_fault(
    transaction: Transaction, kind: str, *, looks: str = "two looks", **facts: object
) -> TransactionFault:
    """Return a finding about a transaction that its coordinator showed.

    Args:
        transaction: the transaction at the last look.
        kind: the kind of the finding, a name in `faults.toml`.
        looks: the looks that showed the fault, as words for the evidence.
        facts: further facts that the kind's texts name, by their names in braces.
    """
    partitions = count(len(transaction.partitions), "partition")
    about = _FAULTS[kind]
    what, action = (
        about[text].format(transaction=transaction, partitions=partitions, **facts)
        for text in ("what", "action")
    )
    ground = Evidence((f"its coordinator, broker {transaction.coordinator}, in {looks}",), (_CLOCK,))
    places = tuple(sorted(transaction.partitions))
    return TransactionFault(kind, transaction.id, transaction.producer, places, what, action, ground)


def _open_long(transaction: Transaction, look: Look, servers: str) -> TransactionFault:
    """Return the finding of a transaction that is open for longer than it may be, and how it will end.

    The coordinator aborts the transaction in its first round after transaction.timeout.ms is over; until then
    the user can end it. The number of offsets that it holds back is a lower bound if the look does not show
    all its partitions.
    """
    assert transaction.started_ms is not None
    behind = {place.place: place.behind for place in look.partitions}
    held = [behind.get(place) for place in transaction.partitions]
    least = "at least " if None in held else ""
    age_ms = look.at_ms - transaction.started_ms
    # `left_ms` is negative once the timeout is over; then the coordinator aborts the transaction in its next
    # round.
    left_ms = transaction.timeout_ms - age_ms
    ends = (
        f"broker {transaction.coordinator} aborts it in {duration(left_ms)} (transaction.timeout.ms "
        f"{transaction.timeout_ms:,})"
        if left_ms > 0
        else f"its transaction.timeout.ms of {transaction.timeout_ms:,} is over; "
        f"broker {transaction.coordinator} aborts it within "
        "transaction.abort.timed.out.transaction.cleanup.interval.ms (10 s)"
    )
    return _make_fault(
        transaction,
        "open long",
        looks="the last look",
        age=duration(age_ms),
        held=f"{least}{count(sum(filter(None, held)), 'offset')}",
        ends=ends,
        servers=servers,
    )


def _without_coordinator(first: Look, last: Look, servers: str) -> Iterator[TransactionFault]:
    """Yield a finding for each transaction that leaders have open in both looks and no coordinator knows.

    Both looks must show the transaction at the same first offset. If the offsets differ, the producer has
    begun another transaction meanwhile, so it is alive.
    """
    offsets = {
        (place.place, producer.producer, producer.first_offset)
        for place in first.partitions
        for producer in place.producers or ()
    }
    # It is enough if a coordinator shows the transaction in one look, because it may have ended between the
    # looks.
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

    Such a transaction hangs for certain only if two things are true: every transactional id was seen, and the
    transaction is older than any may become. Otherwise `abort` is not advised, because it drops records. The
    age is counted from the producer's last record in the partition, because leaders do not report when a
    transaction began.
    """
    age_ms = look.at_ms - producer.wrote_ms
    # This look may have missed the owner: its coordinator was not reached, or its id is hidden.
    hanging = age_ms > MOST_TIMEOUT_MS and not look.missing_ids
    assumed = [_CLOCK]
    if hanging:
        assumed.append(f"transaction.max.timeout.ms is its default, {MOST_TIMEOUT_MS:,}")
    # `hidden` says why the owner may be unknown although it exists, and `remedy` how to find out. Only the
    # texts of "unknown owner" use these two.
    again = f"run it again in {duration(max(MOST_TIMEOUT_MS - age_ms, 0))}: then it hangs for certain"
    hidden, remedy = "its markers are on their way", again
    if look.missing_ids:
        hidden, remedy = f"this look did not show {look.missing_ids[0].what}", look.missing_ids[0].remedy
    kind, name = "hanging" if hanging else "unknown owner", f"{place.topic}-{place.partition}"
    what, action = (
        _FAULTS[kind][text].format(
            producer=producer,
            place=place,
            name=name,
            age=duration(age_ms),
            longest=duration(MOST_TIMEOUT_MS),
            servers=servers,
            hidden=hidden,
            remedy=remedy,
        )
        for text in ("what", "action")
    )
    leader = f"the producers at the leader of {name} in two looks"
    ground = Evidence((leader, *look.sources[:1]), tuple(assumed))
    return TransactionFault(kind, None, producer.producer, (place.place,), what, action, ground)
