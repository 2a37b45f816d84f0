"""What two looks at a cluster's transactions say: what is wrong, why it matters, and what ends it."""

from collections.abc import Iterator
from typing import NamedTuple

from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction
from copartition.words import count, duration

MOST_TIMEOUT_MS = 900_000
"""`transaction.max.timeout.ms`, the broker's default: no coordinator keeps a transaction open for longer."""

_EPOCH_PER_TRANSACTION = 2
"""The level of transaction.version from which each transaction raises the epoch (KIP-890)."""

_ABORTED = frozenset({"PrepareAbort", "PrepareEpochFence", "CompleteAbort"})


class Finding(NamedTuple):
    """Something that an operator should know."""

    kind: str  # "open long", "marker missing", "hanging", "unknown owner", "fenced"
    id: str | None  # the transactional id; None where nobody says
    producer: int
    partitions: tuple[tuple[str, int], ...]
    what: str
    action: str


def findings(
    first: Look, last: Look, *, open_ms: float, servers: str, transaction_version: int | None
) -> list[Finding]:
    """What is seen in both looks; `open_ms` is how long a transaction may be open.

    `transaction_version` is the level of that feature; None where no broker said.
    """
    before = {each.id: each for each in first.transactions}
    problems: list[Finding] = []
    for each in last.transactions:
        earlier = before.get(each.id)
        if each.state == "Ongoing":
            if each.started_ms is not None and last.at_ms - each.started_ms > open_ms:
                problems.append(_open_long(each, last, servers))
        elif each.open and earlier and earlier[:4] == each[:4] and earlier.started_ms == each.started_ms:
            problems.append(_marker_missing(each, last.at_ms - first.at_ms))
        if earlier is not None and _fenced(earlier, each, transaction_version):
            problems.append(_fencing(earlier, each))
    problems += _without_coordinator(first, last, servers)
    return problems


def owners_of(look: Look) -> dict[tuple[int, tuple[str, int]], Transaction]:
    """The transactions that coordinators know to be open, by producer and partition."""
    opened = (each for each in look.transactions if each.open)
    return {(each.producer, place): each for each in opened for place in each.partitions}


def _fenced(earlier: Transaction, each: Transaction, transaction_version: int | None) -> bool:
    """Whether a producer's transaction was aborted, by a new producer with its id or by itself.

    A raised epoch alone says nothing where each transaction raises it; only a new producer makes the state
    Empty.
    """
    if (each.producer, each.epoch) == (earlier.producer, earlier.epoch):
        return False
    by_producers_only = transaction_version is not None and transaction_version < _EPOCH_PER_TRANSACTION
    return each.state in _ABORTED or (earlier.open and (each.state == "Empty" or by_producers_only))


def _of(each: Transaction, kind: str, what: str, action: str) -> Finding:
    return Finding(kind, each.id, each.producer, tuple(sorted(each.partitions)), what, action)


def _open_long(each: Transaction, look: Look, servers: str) -> Finding:
    assert each.started_ms is not None
    held = sum(place.behind or 0 for place in look.partitions if place.place in each.partitions)
    age_ms = look.at_ms - each.started_ms
    left_ms = each.timeout_ms - age_ms
    ends = (
        f"broker {each.coordinator} aborts it in {duration(left_ms)} (transaction.timeout.ms "
        f"{each.timeout_ms:,})"
        if left_ms > 0
        else f"its transaction.timeout.ms of {each.timeout_ms:,} is over; broker {each.coordinator} "
        "aborts it within transaction.abort.timed.out.transaction.cleanup.interval.ms (10 s)"
    )
    return _of(
        each,
        "open long",
        f"{each.id} has been open for {duration(age_ms)} in {count(len(each.partitions), 'partition')}; "
        f"read_committed readers wait for {count(held, 'offset')} behind it",
        f"{ends}. Sooner: restart its producer, whose init_transactions aborts it, or "
        f"kafka-transactions.sh --bootstrap-server {servers} forceTerminateTransaction "
        f"--transactionalId {each.id}",
    )


def _marker_missing(each: Transaction, between_ms: float) -> Finding:
    return _of(
        each,
        "marker missing",
        f"{each.id} is decided ({each.state}), but {count(len(each.partitions), 'partition')} had no marker "
        f"in two looks {duration(between_ms)} apart",
        f"broker {each.coordinator} writes markers as soon as the leaders answer: see whether the "
        f"partitions have a leader; if they have, restart broker {each.coordinator}, whose successor "
        "writes them again",
    )


def _fencing(earlier: Transaction, each: Transaction) -> Finding:
    return _of(
        each,
        "fenced",
        f"a transaction of {each.id} was aborted: it went from producer {earlier.producer} epoch "
        f"{earlier.epoch} to producer {each.producer} epoch {each.epoch}. A second process uses this id, its "
        "process was started again, or it aborted by itself",
        "give every process a transactional.id of its own: two with one id fence each other",
    )


def _without_coordinator(first: Look, last: Look, servers: str) -> Iterator[Finding]:
    """Producers with an open transaction that no coordinator knows, at the same offset in both looks."""
    offsets = {
        (place.place, each.producer, each.first_offset)
        for place in first.partitions
        for each in place.producers or ()
    }
    owned = owners_of(first).keys() | owners_of(last).keys()
    for place in last.partitions:
        for each in place.producers or ():
            again = (place.place, each.producer, each.first_offset) in offsets
            if again and (each.producer, place.place) not in owned:
                yield _unowned(each, place, last, servers)


def _unowned(producer: OpenProducer, place: PartitionLook, look: Look, servers: str) -> Finding:
    age_ms = look.at_ms - producer.wrote_ms
    hanging = age_ms > MOST_TIMEOUT_MS and not look.unanswered
    name = f"{place.topic}-{place.partition}"
    what = (
        f"producer {producer.producer} (epoch {producer.epoch}) has a transaction open in {name} from offset "
        f"{producer.first_offset:,} that no coordinator knows; it wrote last {duration(age_ms)} ago"
    )
    if hanging:
        kind = "hanging"
        what += (
            f", and a coordinator would have ended it after {duration(MOST_TIMEOUT_MS)} "
            "(transaction.max.timeout.ms, its default is assumed): nothing ends it"
        )
        action = (
            f"kafka-transactions.sh --bootstrap-server {servers} abort --topic {place.topic} "
            f"--partition {place.partition} --start-offset {producer.first_offset}"
        )
    else:
        kind = "unknown owner"
        hidden = "a coordinator did not answer" if look.unanswered else "its id is hidden from this user"
        what += f": it hangs, or {hidden}"
        action = "ask again as a user with DESCRIBE on all transactional ids"
    return Finding(kind, None, producer.producer, (place.place,), what, action)
