"""What two looks at transactions say, without a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from copartition.transactions.looks import (
    MOST_TIMEOUT_MS,
    Finding,
    Look,
    OpenProducer,
    PartitionLook,
    Transaction,
    findings,
)

PLACE = ("orders", 0)
ONGOING = Transaction("billing-1", 7, 3, "Ongoing", 60_000, 0, 1, frozenset({PLACE}))
EMPTY = ONGOING._replace(state="Empty", started_ms=None, partitions=frozenset())
HELD = PartitionLook(*PLACE, end=10, stable=4, committed=None, producers=(OpenProducer(7, 3, 4, 500),))


def look(
    *transactions: Transaction, at_ms: float = 1_000, partitions: tuple[PartitionLook, ...] = ()
) -> Look:
    return Look(at_ms, transactions, partitions, ())


def judge(first: Look, last: Look, version: int | None = 2, **settings: Any) -> list[Finding]:
    given = {"open_ms": 60_000, "servers": "localhost:9092", **settings}
    return findings(first, last, transaction_version=version, **given)


@pytest.mark.parametrize(("at_ms", "kinds"), [(60_000, []), (60_001, ["open long"])])
def test_a_transaction_is_open_for_too_long_beyond_the_limit(at_ms: float, kinds: list[str]) -> None:
    last = look(ONGOING, at_ms=at_ms, partitions=(HELD,))
    assert [each.kind for each in judge(last, last)] == kinds


@pytest.mark.parametrize(
    ("at_ms", "text"),
    [(90_000, "is over; broker 1 aborts it within"), (61_000, "is over"), (50_000, "aborts it in 10.0 s")],
)
def test_it_says_when_the_coordinator_aborts(at_ms: float, text: str) -> None:
    last = look(ONGOING, at_ms=at_ms, partitions=(HELD,))
    [finding] = judge(last, last, open_ms=1_000)
    assert text in finding.action
    assert "wait for 6 offsets behind it" in finding.what


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_a_marker_is_missing_only_where_two_looks_agree(state: str) -> None:
    decided = ONGOING._replace(state=state)
    assert [each.kind for each in judge(look(decided), look(decided, at_ms=2_000))] == ["marker missing"]
    assert judge(look(ONGOING), look(decided, at_ms=2_000)) == []
    assert judge(look(), look(decided)) == []


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
        (ONGOING, EMPTY._replace(state="CompleteCommit", epoch=4), 2, False),
    ],
)
def test_who_is_fenced(earlier: Transaction, later: Transaction, version: int | None, fenced: bool) -> None:
    kinds = [each.kind for each in judge(look(earlier), look(later), version)]
    assert kinds == (["fenced"] if fenced else [])


@pytest.mark.parametrize(
    ("age_ms", "unanswered", "kind"),
    [
        (MOST_TIMEOUT_MS + 1, (), "hanging"),
        (MOST_TIMEOUT_MS, (), "unknown owner"),
        (MOST_TIMEOUT_MS + 1, ("the transactions of broker 2",), "unknown owner"),
    ],
)
def test_a_producer_that_no_coordinator_knows(age_ms: float, unanswered: tuple[str, ...], kind: str) -> None:
    first = look(EMPTY, partitions=(HELD,))
    last = look(EMPTY, at_ms=500 + age_ms, partitions=(HELD,))._replace(unanswered=unanswered)
    [finding] = judge(first, last)
    assert (finding.kind, finding.producer, finding.partitions) == (kind, 7, (PLACE,))
    ended = "abort --topic orders --partition 0 --start-offset 4" in finding.action
    assert ended == (kind == "hanging")


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
    assert judge(first, last) == []
