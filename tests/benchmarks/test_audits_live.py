"""Topics like those of `benchmarks/audits`, written to a real broker now and read by the audit itself."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from benchmarks.audits.cells import Cell, Phase
from benchmarks.audits.comparing import AuditBesideTruth
from benchmarks.audits.reading import read
from benchmarks.audits.recording import as_table
from benchmarks.audits.truth import Written, broken
from benchmarks.audits.writing import write
from copartition.audit.cluster import audit_topic
from copartition.audit.topic_audit import Selection
from copartition.check.cluster import check_topics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker import Kafka

pytestmark = pytest.mark.slow

# Clients that this project's own environment has.
CELLS = [
    Cell("live", (Phase(6, {"kafka-python": 10}),)),
    Cell("live", (Phase(6, {"aiokafka": 10}),), "two schema ids"),
    Cell("live", (Phase(6, {"librdkafka": 10}), Phase(10, {"librdkafka": 10}))),
    Cell("live", (Phase(6, {"librdkafka": 5, "kafka-python": 5}),)),
    Cell("live", (Phase(6, {"librdkafka-murmur2-random": 10}),), transactional=True),
]
EVERYTHING = Selection(full=True)
COMMITTED = replace(EVERYTHING, committed=True)


@pytest.fixture(scope="module")
def topics(broker: Kafka) -> Iterator[dict[str, Written]]:
    ends = write(CELLS, broker.bootstrap_servers)
    yield {
        cell.topic: Written.of(
            cell, as_table(cell.topic, read(broker.bootstrap_servers, cell.topic)), ends[cell.topic]
        )
        for cell in CELLS
    }
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for done in admin.delete_topics([*ends]).values():
        done.result()


@pytest.fixture(scope="module")
def config(broker: Kafka) -> dict[str, str]:
    return {"bootstrap.servers": broker.bootstrap_servers}


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.topic)
def test_who_wrote_a_topic_is_named(topics: dict[str, Written], config: dict[str, str], cell: Cell) -> None:
    audit = audit_topic(cell.topic, config, COMMITTED if cell.transactional else EVERYTHING)
    assert audit.coverage.read == len(topics[cell.topic].keyed)
    assert AuditBesideTruth(topics[cell.topic], audit).faults == []


@pytest.mark.parametrize("pair", [*combinations(CELLS, 2)], ids=range(10))
def test_a_join_gets_the_right_verdict(
    topics: dict[str, Written], config: dict[str, str], pair: tuple[Cell, Cell]
) -> None:
    one, other = (topics[cell.topic] for cell in pair)
    found = check_topics([cell.topic for cell in pair], config, COMMITTED)
    assert found.verdict.answer == ("no" if broken(one, other) else "yes")
