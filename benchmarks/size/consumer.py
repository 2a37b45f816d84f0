"""A consumer that can process so many records a second, as a process that says how old they were.

`python -m benchmarks.size.consumer CAPACITY '{"topics": [...], "config": {...}}'` waits for `start` on stdin.
The age of a record is the time from its timestamp until it has been processed.
"""

from __future__ import annotations

import json
import sys
import time

from confluent_kafka import Consumer

from benchmarks.consumers.consumer import commands, reporter, say


def main() -> None:
    capacity, settings = float(sys.argv[1]), json.loads(sys.argv[2])
    lines = commands()
    say("ready")
    lines.get()
    say("start")
    consumer = Consumer(settings["config"])
    consumer.subscribe(settings["topics"], on_assign=reporter("assign", {}), on_revoke=reporter("revoke", {}))
    free, oldest, said = 0.0, 0.0, time.monotonic()
    while True:
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            # A moment that was lost is made up for, or the capacity would be less than it is called.
            free = max(time.monotonic() - 0.2, free) + 1 / capacity
            time.sleep(max(0.0, free - time.monotonic()))
            oldest = max(oldest, time.time() - message.timestamp()[1] / 1_000)
        if time.monotonic() - said > 0.2:
            say("aged", seconds=round(oldest, 3))
            oldest, said = 0.0, time.monotonic()


if __name__ == "__main__":
    main()
