"""Records what a real broker keeps of groups in `__consumer_offsets`: `python -m tools.oracle.offsets_topic`.

Two members come and go, and offsets are committed, once in a classic group and once under KIP-848. The
records of each group's partition become a file of `tests/golden/offsets_topic`, keys and values in base64.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from copartition.why.offsets_topic import read_group_records
from tests.copartition.groups.worker import Worker, read_or_nobody, settings, wait_for
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Collection

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "offsets_topic"
PROTOCOLS = ("classic", "consumer")
COMMITS = (3, 10, 4)


def life(kafka: Kafka, group: str, topic: str, protocol: str) -> None:
    """c0 joins, c1 joins, c1 leaves, c0 leaves; then offsets of partition 1 are committed, one back."""

    def member(name: str) -> Worker:
        config = {"group.protocol": protocol, "enable.auto.commit": False}
        return Worker(kafka.bootstrap_servers, group, [topic], name, **config)

    first = member("c0")
    _settle(kafka, group, {"c0"})
    second = member("c1")
    _settle(kafka, group, {"c0", "c1"})
    second.stop()
    _settle(kafka, group, {"c0"})
    first.stop()
    consumer = Consumer({**settings(kafka), "group.id": group})
    for offset in COMMITS:
        consumer.commit(offsets=[TopicPartition(topic, 1, offset)], asynchronous=False)
    consumer.close()


def _settle(kafka: Kafka, group: str, names: Collection[str]) -> None:
    wait_for(
        lambda: read_or_nobody(group, kafka)[0],
        lambda state: (
            state.status == "Stable"
            and {member.client_id for member in state.members} == names
            and (state.member >= 0).all()
        ),
    )


def main() -> None:
    """Run each protocol on a fresh broker and write what it kept."""
    GOLDEN.mkdir(exist_ok=True)
    with Broker() as broker:
        kafka = Kafka(broker.bootstrap_servers)
        for protocol in PROTOCOLS:
            topic, group = kafka.create_topic(2), f"golden-{protocol}"
            life(kafka, group, topic, protocol)
            rows = [
                [record.partition, record.offset, record.at_ms, _text(record.key), _text(record.value)]
                for record in read_group_records(group, settings(kafka))
            ]
            document = {"group": group, "topic": topic, "records": rows}
            (GOLDEN / f"{protocol}.json").write_text(json.dumps(document, indent=1) + "\n")


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


if __name__ == "__main__":
    main()
