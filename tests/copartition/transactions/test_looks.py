"""What two looks at transactions say, without a cluster."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from copartition.kit.evidence import Missing
from copartition.transactions.judging import (
    MOST_TIMEOUT_MS,
    TransactionFault,
    judge_looks,
    transaction_faults,
)
from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction
from copartition.transactions.report import print_transactions, transactions_json

PLACE = ("orders", 0)
ONGOING = Transaction("billing-1", 7, 3, "Ongoing", 60_000, 0, 1, frozenset({PLACE}))
EMPTY = ONGOING._replace(state="Empty", started_ms=None, partitions=frozenset())
HIDDEN = Missing("ids that this user may not DESCRIBE", "kafka-acls.sh --add --operation Describe")
HELD = PartitionLook(*PLACE, end=10, stable=4, committed=None, producers=(OpenProducer(7, 3, 4, 500),))


def look(
    *transactions: Transaction, at_ms: float = 1_000, partitions: tuple[PartitionLook, ...] = ()
) -> Look:
    return Look(at_ms, transactions, partitions, ("the transactional ids of 1 broker",))


def findings_of(first: Look, last: Look, version: int | None = 2, **settings: Any) -> list[TransactionFault]:
    given = {"open_ms": 60_000, "servers": "localhost:9092", **settings}
    return transaction_faults(first, last, transaction_version=version, **given)


@pytest.mark.parametrize(("at_ms", "kinds"), [(60_000, []), (60_001, ["open long"])])
def test_a_transaction_is_open_for_too_long_beyond_the_limit(at_ms: float, kinds: list[str]) -> None:
    last = look(ONGOING, at_ms=at_ms, partitions=(HELD,))
    assert [finding.kind for finding in findings_of(last, last)] == kinds


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [(90_000, "is over; broker 1 aborts it within"), (61_000, "is over"), (50_000, "aborts it in 10.0 s")],
)
def test_it_says_when_the_coordinator_aborts(at_ms: float, text: str) -> None:
    last = look(ONGOING, at_ms=at_ms, partitions=(HELD,))
    [finding] = findings_of(last, last, open_ms=1_000)
    assert text in finding.action
    assert "wait for 6 offsets behind it" in finding.what


@pytest.mark.parametrize(
    ("partitions", "held"),
    [
        ((HELD._replace(stable=None),), "at least 0 offsets"),
        ((), "at least 0 offsets"),
        ((HELD,), "6 offsets"),
    ],
)
def test_offsets_that_no_look_shows_are_not_counted_as_none(
    partitions: tuple[PartitionLook, ...], held: str
) -> None:
    last = look(ONGOING, at_ms=61_000, partitions=partitions)
    [finding] = findings_of(last, last, open_ms=1_000)
    assert f"readers wait for {held} behind it" in finding.what


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_a_marker_is_missing_only_where_two_looks_agree(state: str) -> None:
    decided = ONGOING._replace(state=state)
    assert [finding.kind for finding in findings_of(look(decided), look(decided, at_ms=2_000))] == [
        "marker missing"
    ]
    assert findings_of(look(ONGOING), look(decided, at_ms=2_000)) == []
    assert findings_of(look(), look(decided)) == []
    # Below transaction.version 2 the next transaction of an id has the same epoch.
    assert findings_of(look(decided._replace(started_ms=-5)), look(decided)) == []


@pytest.mark.parametrize(
    ("earlier", "later", "version", "fenced"),
    [
        (ONGOING, ONGOING, 2, False),
        (ONGOING, EMPTY._replace(epoch=4), 2, True),  # only a new producer makes it Empty
        (ONGOING, ONGOING._replace(producer=8, epoch=0), 2, False),  # it committed, and its epochs ran out
        (ONGOING, ONGOING._replace(epoch=4), 2, False),  # it committed, and began another one
        (ONGOING, ONGOING._replace(epoch=4), None, False),  # unknown counts as newer
        (ONGOING, ONGOING._replace(epoch=4), 1, True),  # only a new producer raises it
        (EMPTY, EMPTY._replace(epoch=4), 1, False),  # a restart between transactions
        (ONGOING, EMPTY._replace(state="CompleteAbort", epoch=4), 2, True),
        (ONGOING, ONGOING._replace(state="PrepareAbort", epoch=4), 2, True),
        (ONGOING, ONGOING._replace(state="PrepareEpochFence", epoch=4), 2, True),
        (ONGOING, EMPTY._replace(state="CompleteCommit", epoch=4), 2, False),
    ],
)
def test_who_is_fenced(earlier: Transaction, later: Transaction, version: int | None, fenced: bool) -> None:
    kinds = [finding.kind for finding in findings_of(look(earlier), look(later), version)]
    assert kinds == (["fenced"] if fenced else [])


@pytest.mark.parametrize(
    ("age_ms", "missing", "kind", "action"),
    [
        (MOST_TIMEOUT_MS + 1, (), "hanging", "abort --topic orders --partition 0 --start-offset 4"),
        (MOST_TIMEOUT_MS - 60_000, (), "unknown owner", "run it again in 1 min"),
        (MOST_TIMEOUT_MS + 1, (HIDDEN,), "unknown owner", HIDDEN.remedy),
    ],
)
def test_a_producer_that_no_coordinator_knows(
    age_ms: float, missing: tuple[Missing, ...], kind: str, action: str
) -> None:
    first = look(EMPTY, partitions=(HELD,))
    last = look(EMPTY, at_ms=500 + age_ms, partitions=(HELD,))._replace(missing_ids=missing)
    [finding] = findings_of(first, last)
    assert (finding.kind, finding.producer, finding.partitions) == (kind, 7, (PLACE,))
    assert action in finding.action


def test_what_hangs_names_its_producer_and_why_nothing_ends_it() -> None:
    last = look(at_ms=MOST_TIMEOUT_MS + 501, partitions=(HELD,))._replace(
        sources=("the transactional ids of 1 broker", "offsets of 2 partitions")
    )
    [finding] = findings_of(look(partitions=(HELD,)), last)
    assert finding.what.startswith("producer 7 (epoch 3) has a transaction open in orders-0 from offset 4 ")
    assert finding.what.endswith("(transaction.max.timeout.ms): nothing ends it")
    # Offsets say nothing of who coordinates a transaction.
    assert finding.ground.sources == (
        "the producers at the leader of orders-0 in two looks",
        "the transactional ids of 1 broker",
    )


def test_an_id_whose_transaction_has_ended_owns_no_open_one() -> None:
    ended = look(ONGOING._replace(state="CompleteCommit"), partitions=(HELD,))
    assert [finding.kind for finding in findings_of(ended, ended)] == ["unknown owner"]


def test_a_finding_lists_partitions_in_order() -> None:
    places = [(topic, number) for topic in ("clicks", "orders", "pay") for number in range(4)]
    last = look(ONGOING._replace(partitions=frozenset(places)), at_ms=90_000)
    [finding] = findings_of(last, last)
    assert finding.partitions == (*places,)


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (look(ONGOING, partitions=(HELD,)), look(EMPTY, partitions=(HELD,))),  # it ended in between
        (look(EMPTY, partitions=(HELD,)), look(ONGOING, partitions=(HELD,))),  # it began in between
        (look(EMPTY), look(EMPTY, partitions=(HELD,))),
        (
            look(EMPTY, partitions=(HELD._replace(producers=(OpenProducer(7, 3, 2, 0),)),)),
            look(partitions=(HELD,)),
        ),
        (look(EMPTY, partitions=(HELD,)), look(EMPTY, partitions=(HELD._replace(producers=None),))),
    ],
)
def test_what_only_one_look_shows_is_no_finding(first: Look, last: Look) -> None:
    assert findings_of(first, last) == []


DARK = look()._replace(missing_ids=(HIDDEN,))
LONG = look(ONGOING, at_ms=90_000)


@pytest.mark.parametrize(
    ("first", "last", "code"),
    [
        (look(EMPTY), look(EMPTY), 0),
        (DARK, DARK, 2),
        (DARK, look(), 2),  # what only the last look shows is in no finding that takes two
        (look(), look()._replace(missing=(HIDDEN,)), 2),
        (LONG, LONG._replace(missing_ids=(HIDDEN,)), 1),
    ],
)
def test_nothing_is_wrong_only_if_everything_was_seen(first: Look, last: Look, code: int) -> None:
    answer = judge_looks(first, last, open_ms=60_000, servers="localhost:9092", transaction_version=2)
    assert answer.exit_code == code


def test_reports_name_evidence_and_what_is_missing() -> None:
    last = look(ONGOING, at_ms=90_000, partitions=(HELD,))._replace(missing_ids=(HIDDEN,))
    answer = judge_looks(last, last, open_ms=60_000, servers="localhost:9092", transaction_version=2)
    told = json.loads(transactions_json(last, answer, None))
    assert told["missing"] == [{"what": HIDDEN.what, "remedy": HIDDEN.remedy}]
    assert told["evidence"] == ["the transactional ids of 1 broker"]
    [finding] = told["findings"]
    assert finding["evidence"] == ["its coordinator, broker 1, in the last look"]
    assert finding["assumed"] == ["ages are by the clock of this machine"]
    text = StringIO()
    print_transactions(last, answer, Console(width=200, file=text, color_system=None), full=False)
    shown = " ".join(text.getvalue().split())
    assert "1 finding 1 unknown" in shown
    assert f"unknown: {HIDDEN.what} to know it: {HIDDEN.remedy} " in shown


EVERY_KIND = {
    "open long": (look(ONGOING, at_ms=90_000),) * 2,
    "marker missing": (look(ONGOING._replace(state="PrepareCommit")),) * 2,
    "fenced": (look(ONGOING), look(EMPTY._replace(epoch=4))),
    "hanging": (look(partitions=(HELD,)), look(at_ms=2 * MOST_TIMEOUT_MS, partitions=(HELD,))),
    "unknown owner": (look(partitions=(HELD,)),) * 2,
}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_finding_names_its_evidence(kind: str) -> None:
    [finding] = findings_of(*EVERY_KIND[kind])
    assert finding.kind == kind
    # Only a transaction that is open for too long needs one look: its coordinator says when it began.
    assert ("in the last look" if kind == "open long" else "in two looks") in finding.ground.sources[0]
    assert finding.ground.assumed  # an age or the order of two looks rests on this machine's clock
