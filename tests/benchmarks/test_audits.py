"""Audits and joins against what real clients wrote on a real broker, as `benchmarks/audits` recorded it."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.audits.__main__ import COMPARED, written
from benchmarks.audits.asking import audit, audit_apart
from benchmarks.audits.cells import CELLS, RECORDS
from benchmarks.audits.comparing import AuditBesideTruth
from benchmarks.audits.page import judge_joins, topic_rows
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.audits.truth import Written

TOPICS = [cell.topic for cell in CELLS]
JOINS = 500
"""How many pairs are looked at here; `--compare` looks at all."""


@cache
def topics() -> dict[str, Written]:
    """The topics by name, read when the first test needs them."""
    return {topic.cell.topic: topic for topic in written()}


@pytest.fixture(scope="module")
def named() -> list[AuditBesideTruth]:
    return [AuditBesideTruth(topic, audit(topic)) for topic in topics().values()]


def placed_by_known_rules(written: Written) -> Iterator[bool]:
    """Of each phase whose writers all have a rule: whether the rules place all its records."""
    for number in range(len(written.cell.phases)):
        rules = written.writers(number)
        if None not in rules:
            placed = np.logical_or.reduce([written.explains(rule) for rule in rules if rule])
            yield bool(placed[written.keyed & (written.phase == number)].all())


@pytest.mark.parametrize("topic", sample(TOPICS, 8))
def test_profiles_say_where_real_clients_put_every_record(topic: str) -> None:
    assert all(placed_by_known_rules(topics()[topic]))


def test_the_rules_of_most_phases_are_known() -> None:
    known = [len(list(placed_by_known_rules(topics()[topic]))) for topic in sample(TOPICS, 8)]
    phases = sum(len(topics()[topic].cell.phases) for topic in sample(TOPICS, 8))
    assert phases / 2 < sum(known)


@pytest.mark.sampled
@pytest.mark.parametrize("batch", [None, 500, 100])
@pytest.mark.parametrize("topic", sample(TOPICS, 24, before_ci=4))
def test_who_wrote_a_topic_is_named_where_its_records_tell(topic: str, batch: int | None) -> None:
    written = topics()[topic]
    assert AuditBesideTruth(written, audit(written, batch)).faults == []


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_so_it_is_where_partitions_are_counted_apart(topic: str) -> None:
    written = topics()[topic]
    assert AuditBesideTruth(written, audit_apart(written)).faults == []


@pytest.mark.slow
def test_no_join_gets_a_wrong_verdict(named: list[AuditBesideTruth]) -> None:
    equal = [
        pair
        for pair in combinations(named, 2)
        if pair[0].topic.num_partitions == pair[1].topic.num_partitions
    ]
    said = list(judge_joins(Random(17).sample(equal, JOINS)))
    assert [verdict for verdict in said if verdict.answer == ("yes" if verdict.broken else "no")] == []
    assert {verdict.answer for verdict in said} == {"yes", "no", "unknown"}


@pytest.mark.slow
def test_the_page_has_what_is_said_of_each_topic(named: list[AuditBesideTruth]) -> None:
    assert "\n".join(topic_rows(named)) in COMPARED.read_text()


def test_compaction_and_aborted_transactions_left_gaps() -> None:
    gaps = {
        cell.topic: RECORDS * len(cell.phases) - len(topics()[cell.topic].keyed)
        for cell in CELLS
        if cell.compacted or cell.transactional
    }
    assert len(gaps) == 4
    assert min(gaps.values()) >= 300
