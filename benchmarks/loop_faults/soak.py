"""Memory, threads and files of a long loop, and of many producers: `python -m benchmarks.loop_faults.soak`.

`soak.json` keeps the samples, and `benchmarks/loop_faults.md` says what they come to.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from benchmarks.loop_faults.__main__ import SAVED
from benchmarks.loop_faults.run import fill
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.read_process_write import ProducerRecord, read_process_write
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from confluent_kafka import Message

PRODUCERS = 200
EVERY_S = 2.0


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.loop_faults.soak", description=__doc__)
    options.add_argument("--records", type=int, default=10_000_000)
    options.add_argument("--minutes", type=float, default=10, help="end before, if that takes longer")
    chosen = options.parse_args()
    with Broker() as broker:
        kafka = Kafka(broker.bootstrap_servers)
        topics = {name: kafka.create_topic(4) for name in ("source", "target", "dead_letters")}
        servers = broker.bootstrap_servers
        found = {
            "producers, each with a transaction": producers(servers, topics["target"]),
            "records": records(servers, topics, chosen.records, chosen.minutes),
        }
    SAVED.add_soak(found)


def producers(servers: str, target: str) -> dict[str, Any]:
    """Open and close producers, one after the other."""
    started, samples = time.monotonic(), []
    for number in range(1, PRODUCERS + 1):
        config = {"bootstrap.servers": servers, "transactional.id": f"soak-{number}"}
        with PartitioningProducer(config, partitioner="java") as producer:
            producer.init_transactions(30)
            producer.begin_transaction()
            producer.produce(target, b"value", b"key")
            producer.commit_transaction(30)
        samples.append(sample(number))
    return {"seconds": round(time.monotonic() - started), "samples": samples}


def records(servers: str, topics: dict[str, str], count: int, minutes: float) -> dict[str, Any]:
    """Have one process read, process and write so many records, or as many as it comes to."""
    fill(servers, topics["source"], count)
    stopping, done = Event(), 0

    def process(message: Message) -> list[ProducerRecord]:
        nonlocal done
        done += 1
        if done == count:
            stopping.set()
        return [ProducerRecord(topics["target"], message.value(), message.key())]

    def watch() -> None:
        while not stopping.wait(EVERY_S):
            samples.append(sample(done))
            if time.monotonic() - started > minutes * 60:
                stopping.set()

    started, samples = time.monotonic(), [sample(0)]
    watcher = Thread(target=watch)
    watcher.start()
    read_process_write(
        [topics["source"]],
        process,
        consumer_config={"bootstrap.servers": servers, "group.id": "soak"},
        producer_config={"bootstrap.servers": servers, "transactional.id": "soak"},
        partitioner="java",
        stopping=stopping,
    )
    samples.append(sample(done))
    seconds = round(time.monotonic() - started)
    watcher.join()
    return {"seconds": seconds, "samples": samples}


def sample(done: int) -> list[int]:
    """How much was done, and this process's resident memory in kB, threads and open files."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    files = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return [done, int(status["VmRSS"].split()[0]), int(status["Threads"]), files]


if __name__ == "__main__":
    main()
