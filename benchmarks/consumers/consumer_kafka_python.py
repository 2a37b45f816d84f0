"""What consumer.py is, with kafka-python, as far as heartbeats need it: it starts, and polls until killed."""

from __future__ import annotations

import json
import sys

from kafka import KafkaConsumer

from benchmarks.consumers.consumer import say


def main() -> None:
    settings = json.loads(sys.argv[1])
    say("ready")
    sys.stdin.readline()
    say("start")
    config = {name.replace(".", "_"): value for name, value in settings["config"].items()}
    consumer = KafkaConsumer(*settings["topics"], **config)
    while True:
        consumer.poll(timeout_ms=100)


if __name__ == "__main__":
    main()
