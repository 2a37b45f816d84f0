"""A writer as a process: `python -m benchmarks.reshape.writers CLIENT SERVERS TOPIC RULE FIRST RATE KEYS`.

It writes numbered records of skewed keys, first as many at once as `FIRST` says, then `RATE` a second until a
line comes on stdin. It says `ready` after the first ones and, at its end, how many it has written. `RULE` is
librdkafka's `partitioner`; kafka-python has one rule, Java's.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
import warnings
from pathlib import Path
from random import Random
from typing import Any

from confluent_kafka import Producer

from tests.support import jars
from tests.support.broker import POM, dies_with_us


def main() -> None:
    client, servers, topic, rule, first, rate, keys = sys.argv[1:]
    send, flush = _librdkafka(servers, rule) if client == "librdkafka" else _kafka_python(servers)
    chance, sent = Random(client), 0
    while sent < int(first) or not select.select([sys.stdin], [], [], 0)[0]:
        key = b"user-%d" % int(int(keys) * chance.random() ** 3)
        send(topic, b"%s:%d" % (client.encode(), sent), key)
        sent += 1
        if sent == int(first):
            flush()
            print("ready", flush=True)
        if sent >= int(first):
            time.sleep(1 / int(rate))
    flush()
    print(sent, flush=True)


def _librdkafka(servers: str, rule: str) -> tuple[Any, Any]:
    settings = {"bootstrap.servers": servers, "partitioner": rule, "enable.idempotence": True, "linger.ms": 5}
    producer = Producer({**settings, "delivery.timeout.ms": 600_000, "log_level": 0})

    def send(topic: str, value: bytes, key: bytes) -> None:
        while True:
            try:
                producer.produce(topic, value, key)
            except BufferError:
                producer.poll(0.1)
            else:
                producer.poll(0)
                return

    def flush() -> None:
        assert producer.flush(600) == 0

    return send, flush


def _kafka_python(servers: str) -> tuple[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import KafkaProducer  # noqa: PLC0415 - only here, for its warning

    producer = KafkaProducer(bootstrap_servers=servers, delivery_timeout_ms=600_000)
    return lambda topic, value, key: producer.send(topic, value=value, key=key), producer.flush


class Writer:
    """A writer's process, here seen from outside."""

    def __init__(self, client: str, servers: str, topic: str, rule: str, sizes: tuple[int, int, int]) -> None:
        numbers = [str(size) for size in sizes]
        if client == "java":
            source = Path(__file__).with_name("Writer.java")
            command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars.fetch(POM)}/*"]
            command += [str(source), servers, topic, *numbers]
        else:
            command = [
                sys.executable,
                "-m",
                "benchmarks.reshape.writers",
                client,
                servers,
                topic,
                rule,
                *numbers,
            ]
        self.client = client
        self._process = subprocess.Popen(
            [*dies_with_us(), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def await_first(self) -> None:
        """Wait until the first records are written."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == "ready", f"{self.client} died"

    def drain(self) -> int:
        """End it after its last record is acknowledged, and return how many it has written."""
        out, _ = self._process.communicate("end\n")
        assert self._process.returncode == 0, f"{self.client} died"
        return int(out.split()[-1])

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    main()
