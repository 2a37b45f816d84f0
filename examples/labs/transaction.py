"""A transaction, request by request: what each writes into the inner topics, and what readers see of it.

The requests are sent by hand, as a producer sends them: FindCoordinator, InitProducerId, AddPartitionsToTxn,
Produce, AddOffsetsToTxn, TxnOffsetCommit, EndTxn. First with a commit, then the same with an abort.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from examples.labs.kit import Lab, Picture
from examples.labs.kit import segments as seg
from examples.labs.kit.by_hand import ProducerByHand
from partitioning import coordinator_partition

if TYPE_CHECKING:
    from collections.abc import Callable


class Step(NamedTuple):
    """A request, and what KIP-98 says is there after it.

    Attributes:
        name: of the request.
        send: sends it.
        writes: the states that the coordinator adds to `__transaction_state`.
        records: what readers of uncommitted records have read.
        committed: what readers of committed ones have.
        stable: the last stable offset; control batches take one offset each.
        offset: the group's offset, as readers of committed records find it in `__consumer_offsets`.
    """

    name: str
    send: Callable[[], None]
    writes: str
    records: str
    committed: str
    stable: int
    offset: str


def steps(hand: ProducerByHand) -> list[Step]:
    """A transaction that is committed, and one that is aborted."""
    add, offset = hand.add_partition, lambda: hand.commit_offset(42)
    commit, abort = (lambda end=end: hand.end(commit=end) for end in (True, False))
    return [
        Step("InitProducerId", hand.init, "Empty", "", "", 0, ""),
        Step("AddPartitionsToTxn", add, "Ongoing", "", "", 0, ""),
        Step("Produce a b", lambda: hand.produce("a", "b"), "", "a b", "", 0, ""),
        Step("AddOffsetsToTxn, TxnOffsetCommit", offset, "Ongoing", "a b", "", 0, ""),
        Step("EndTxn: commit", commit, "PrepareCommit CompleteCommit", "a b", "a b", 3, "42"),
        Step("AddPartitionsToTxn again", add, "Ongoing", "a b", "a b", 3, "42"),
        Step("Produce c", lambda: hand.produce("c"), "", "a b c", "a b", 3, "42"),
        Step("EndTxn: abort", abort, "PrepareAbort CompleteAbort", "a b c", "a b", 5, "42"),
    ]


def run(lab: Lab) -> None:
    servers, topic = lab.cluster.kafka.bootstrap_servers, lab.topic()
    with ExitStack() as stack:
        hand = ProducerByHand(servers, topic, stack)
        number = coordinator_partition(hand.id, seg.partitions(servers, "__transaction_state"))
        lab.predict(
            {"FindCoordinator: the node": seg.leader(servers, "__transaction_state", number)[0]}
            | {f"after {step.name}": _words(*step[2:]) for step in steps(hand)}
            | {"control batches in the segment": ["COMMIT", "ABORT"]}
        )
        lab.saw("FindCoordinator: the node", hand.coordinator)
        states: list[str] = []
        for step in steps(hand):
            step.send()
            before = len(states)
            states = _wait_for_entries(servers, hand.id, before + len(step.writes.split()))
            lab.saw(f"after {step.name}", _look(servers, hand, states[before:]))
    log = seg.read(servers, topic)
    lab.saw("control batches in the segment", [batch.control for batch in log.batches if batch.control])
    what = [batch.control or " ".join(batch.values) for batch in log.batches]
    columns = ("offset", "producer id", "epoch", "sequence", "transactional", "what")
    rows = [(*batch[:5], text) for batch, text in zip(log.batches, what, strict=True)]
    lab.table("The segment in the end", columns, rows)
    committed = seg.read(servers, topic, isolation=seg.READ_COMMITTED).values
    colour = {value: 0 if value in committed else 1 for value in log.values}
    lab.picture = Picture("One partition: a committed transaction, then an aborted one", label=150)
    lab.picture.cells("segment", [(text, colour.get(text[0], 3)) for text in what])
    lab.picture.cells("read_uncommitted", [(value, colour[value]) for value in log.values])
    lab.picture.cells("read_committed", [(value, 0) for value in committed])
    for label, entries in (("__transaction_state", states[:5]), ("", states[5:])):
        lab.picture.cells(label, [(state, -1) for state in entries])


def _wait_for_entries(servers: str, transactional_id: str, count: int) -> list[str]:
    """The coordinator's entries, once there are so many: it answers EndTxn before it has written them all."""

    def entries() -> list[str]:
        states = seg.transaction_states(servers, transactional_id)
        return states if len(states) >= count else []

    return seg.until(entries, f"{count} entries of the coordinator") if count else []


def _look(servers: str, hand: ProducerByHand, added: list[str]) -> str:
    log = seg.read(servers, hand.topic)
    committed = seg.read(servers, hand.topic, isolation=seg.READ_COMMITTED).values
    offsets = map(str, seg.commits(servers, hand.group, seg.READ_COMMITTED))
    return _words(
        " ".join(added), " ".join(log.values), " ".join(committed), log.last_stable, " ".join(offsets)
    )


def _words(writes: str, records: str, committed: str, stable: int, offset: str) -> str:
    return (
        f"writes {writes or 'nothing'}; records {records or 'none'}; committed {committed or 'none'}; "
        f"last stable offset {stable}; group's offset {offset or 'none'}"
    )
