"""A member of a share group, as a process that says on stdout what it gets and what becomes of it.

`python -m benchmarks.share_groups.member SETTINGS`, JSON, waits for `start` on stdin. Each record takes
`process_ms`; a record whose value is a number takes so many milliseconds instead, one whose value is
`release`, `reject` or `crash` ends so. Acknowledgements go out with the next poll, or, `each`, one by one.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING, Any

from confluent_kafka import AcknowledgeType, ShareConsumer

from benchmarks.consumers.consumer import commands, say

if TYPE_CHECKING:
    from confluent_kafka import KafkaException, Message, TopicPartition

ENDS = {"release": AcknowledgeType.RELEASE, "reject": AcknowledgeType.REJECT}


def report_acknowledgements(offsets: dict[TopicPartition, set[int]], error: KafkaException | None) -> None:
    """Say what the broker answered to acknowledgements."""
    for partition, numbers in offsets.items():
        code = None if error is None else error.args[0].name()
        say("acknowledged", partition=partition.partition, offsets=sorted(numbers), error=code)


def process(message: Message, process_ms: float) -> AcknowledgeType:
    """Take the record's time, and say how it ends."""
    value = (message.value() or b"").decode()
    if value == "crash":
        time.sleep(process_ms / 1_000)
        os._exit(1)
    time.sleep((float(value) if value[:1].isdigit() else process_ms) / 1_000)
    return ENDS.get(value, AcknowledgeType.ACCEPT)


def main() -> None:
    settings: dict[str, Any] = json.loads(sys.argv[1])
    lines = commands()
    say("ready")
    lines.get()
    say("start")
    consumer = ShareConsumer({**settings["config"], "share.acknowledgement.mode": "explicit"})
    consumer.set_acknowledgement_commit_callback(report_acknowledgements)
    consumer.subscribe(settings["topics"])
    while lines.empty():
        messages = [message for message in consumer.poll(0.5) if message.error() is None]
        if messages:
            say(
                "polled",
                records=[
                    [message.partition(), message.offset(), message.delivery_count()] for message in messages
                ],
            )
        for message in messages:
            end = process(message, settings["process_ms"])
            consumer.acknowledge(message, end)
            if settings["each"]:
                say("processed", offsets=[message.offset()])
                consumer.commit_sync()
        if messages and not settings["each"]:
            say("processed", offsets=[message.offset() for message in messages])
    consumer.close()


if __name__ == "__main__":
    main()
