"""One consumer in a process of its own, that says on stdout what happens to it: one JSON object a line.

`python consumer.py '{"topics": [...], "config": {...}}'` waits for commands on stdin: `start`, `busy SECONDS`
(the application does not poll for so long), `unsubscribe`, `subscribe` and `close`. Partitions of a topic in
`"first"`, which is optional, are numbered from the number that stands there. `"batch"` and `"revoke"`, which
are optional, are the seconds that the application works on what a poll gave, and on a revocation. Times are
`time.monotonic()`, which all processes of a Linux machine share. Nothing is imported that is not needed, as
many of these start at once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from queue import Empty, SimpleQueue
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition


def say(event: str, **details: Any) -> None:
    print(json.dumps({"t": round(time.monotonic(), 4), "event": event, **details}), flush=True)


def commands() -> SimpleQueue[str]:
    """The lines of stdin, which another thread waits for; when they are over, so is the process."""
    lines: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            lines.put(line.strip())
        os._exit(0)  # whoever started it has gone

    threading.Thread(target=listen, daemon=True).start()
    return lines


def reporter(event: str, first: dict[str, int], seconds: float = 0) -> Any:
    """A rebalance callback that says which partitions it was called with, and works for some seconds."""

    def callback(_: Consumer, partitions: list[TopicPartition]) -> None:
        numbers = (partition.partition + first.get(partition.topic, 0) for partition in partitions)
        say(event, partitions=sorted(numbers))
        time.sleep(seconds)

    return callback


def note_commit(error: KafkaError | None, _: list[TopicPartition]) -> None:
    say("commit", error=error.name() if error else None)


def read(consumer: Consumer, numbers_from: dict[str, int], seconds: float = 0) -> None:
    """Take what there is, say which offsets they were, and work on them for some seconds."""
    first = consumer.poll(0.1)
    if first is None:
        return
    offsets: dict[int, list[int]] = {}
    for message in (first, *consumer.consume(1000, 0)):
        if (error := message.error()) is not None:
            say("error", error=error.name(), text=error.str())
        else:
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            offsets.setdefault(partition + numbers_from.get(topic, 0), [offset, offset])[1] = offset
    if offsets:
        say("read", offsets=offsets)
        time.sleep(seconds)


def main() -> None:
    settings = json.loads(sys.argv[1])
    lines = commands()
    say("ready")
    if lines.get() != "start":
        return
    say("start")
    consumer = Consumer({**settings["config"], "on_commit": note_commit})
    first = settings.get("first", {})

    def subscribe() -> None:
        consumer.subscribe(
            settings["topics"],
            on_assign=reporter("assign", first),
            on_revoke=reporter("revoke", first, settings.get("revoke", 0)),
            on_lost=reporter("lost", first),
        )

    subscribe()
    while True:
        try:
            command, _, argument = lines.get_nowait().partition(" ")
        except Empty:
            read(consumer, first, settings.get("batch", 0))
            continue
        say(command)
        match command:
            case "close":
                consumer.close()
                say("closed")
                return
            case "unsubscribe":
                consumer.unsubscribe()
            case "subscribe":
                subscribe()
            case _:
                time.sleep(float(argument))
                say("free")


if __name__ == "__main__":
    main()
