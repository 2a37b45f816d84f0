"""A producer that faults strike, each at a drawn call of `produce`.

`python -m benchmarks.wrapper_faults.worker FOLDER NAME`: `plan.json` in the folder says what to do. It
produces until all faults have struck and the records are there, flushes, and ends. A process that was killed
is started again, and its next life has keys of its own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaProducer
from aiokafka.helpers import create_ssl_context
from kafka import KafkaProducer

from benchmarks.faults import hits
from benchmarks.faults.striking import Striking
from benchmarks.wrapper_faults.diary import Diary, is_watched, place_of
from partitioning.clients.aiokafka import AiokafkaPartitioner
from partitioning.clients.confluent import PartitioningProducer
from partitioning.clients.confluent_aio import PartitioningAIOProducer
from partitioning.clients.java_settings import librdkafka_security
from partitioning.clients.kafka_python import KafkaPythonPartitioner
from partitioning.errors import DeliveryError

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Callable, Iterator

    from confluent_kafka import KafkaError, Message

MOST = 200_000
PAUSE_S = 0.001
VALUE = b"." * 100


class Life:
    """One life of the process: the records it produces, and what callbacks say of them."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.plan = json.loads((folder / "plan.json").read_text())
        self._striking = Striking(folder, self.plan, name)
        self.name = f"{name}-{(folder / f'born-{name}').stat().st_size}"
        self.diary = Diary(folder, self.name)
        self._struck = 0
        self._reports = 0
        self._recovered_at = 0

    def records(self) -> Iterator[tuple[int, str, bytes]]:
        """Number, key and value of each record to produce; a fault may strike before the next one."""
        for record in range(MOST):
            if record >= self.plan["records"] and hits.count(self._folder) == len(self.plan["faults"]):
                return
            key, number = place_of(record)
            self.diary.note("produced", record)
            yield record, f"{self.name}-{key}", b"%d %s" % (number, VALUE)
            self._striking.open = record // 2 + 1 - self._reports
            # Faults strike a producer that has recovered from the one before.
            if self._reports >= self._recovered_at:
                before = hits.count(self._folder)
                self._striking.reach("produce")
                if hits.count(self._folder) > before:
                    self._recovered_at = record // 2 + 1

    def report(self, record: int, error: KafkaError | None, _: Message | None = None) -> None:
        """A record with a callback was delivered, or is lost."""
        self._reports += 1
        self.diary.note("failed" if error else "delivered", record)


def produce(life: Life) -> None:
    """With `PartitioningProducer`; `flush` and `poll` raise what is lost without a callback."""
    producer = PartitioningProducer(life.plan["producer"], partitioner="java")

    def serve(call: Any) -> int:
        try:
            return int(call())
        except DeliveryError as error:
            life.diary.note(
                "raised", int(str(error).split()[0].replace(",", ""))
            )  # its text begins with how many
            return serve(call)

    for record, key, value in life.records():
        callback = partial(life.report, record) if is_watched(record) else None
        producer.produce(life.plan["topic"], value, key, on_delivery=callback)
        serve(partial(producer.poll, 0))
        time.sleep(PAUSE_S)
    if serve(producer.flush) == 0:
        life.diary.note("ended", 0)
    producer.close()


async def produce_async(life: Life) -> None:
    """With `PartitioningAIOProducer`, whose futures all have a watcher here."""
    waiting: set[Future[Message]] = set()
    async with PartitioningAIOProducer(life.plan["producer"], partitioner="java", batch_size=20) as producer:
        for record, key, value in life.records():
            future = await producer.produce(life.plan["topic"], value, key)
            waiting.add(future)
            future.add_done_callback(partial(_note_end, life, record))
            future.add_done_callback(waiting.discard)
            await asyncio.sleep(PAUSE_S)
        await producer.flush()
        await asyncio.gather(*waiting, return_exceptions=True)
    life.diary.note("ended", 0)


def produce_kafka_python(life: Life) -> None:
    """With kafka-python, whose futures call back in a thread of the client's."""
    producer = KafkaProducer(
        **rename_settings(life.plan["producer"], "delivery_timeout_ms"),
        partitioner=KafkaPythonPartitioner("java"),
    )
    for record, key, value in life.records():
        future = producer.send(life.plan["topic"], value, key.encode())
        future.add_callback(lambda _, record=record: _note_report(life, record, None))
        future.add_errback(lambda error, record=record: _note_report(life, record, error))
        time.sleep(PAUSE_S)
    producer.flush()
    life.diary.note("ended", 0)
    producer.close()


async def produce_aiokafka(life: Life) -> None:
    """With aiokafka, whose futures all have a watcher here."""
    config = rename_settings(life.plan["producer"], "request_timeout_ms")
    if "ssl_cafile" in config:
        config["ssl_context"] = create_ssl_context(cafile=config.pop("ssl_cafile"))
    partitioner = AiokafkaPartitioner(life.plan["topic"], "java")
    async with AIOKafkaProducer(**config, partitioner=partitioner) as producer:
        for record, key, value in life.records():
            future = await producer.send(life.plan["topic"], value, key.encode())
            future.add_done_callback(partial(_note_end, life, record))
            await asyncio.sleep(PAUSE_S)
        await producer.flush()
    life.diary.note("ended", 0)


RENAMED = {
    "ssl.ca.location": "ssl_cafile",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "topic.metadata.refresh.interval.ms": "metadata_max_age_ms",
}


def rename_settings(config: dict[str, Any], timeout: str) -> dict[str, Any]:
    """librdkafka's settings in the names of clients in Python, with the one that bounds a record's time."""
    names = RENAMED | {"message.timeout.ms": timeout}
    plain = librdkafka_security(config)
    own = {names.get(name, name.replace(".", "_")): value for name, value in plain.items()}
    if "delivery_timeout_ms" in own:
        own["request_timeout_ms"] = own["delivery_timeout_ms"] - 500
    return own


def _note_end(life: Life, record: int, future: Future[Any]) -> None:
    _note_report(life, record, future.exception())


def _note_report(life: Life, record: int, failed: BaseException | None) -> None:
    if is_watched(record):
        life.report(record, failed)  # type: ignore[arg-type] # only whether there is one
    elif failed is not None:
        life.diary.note("raised", 1)


PRODUCERS: dict[str, Callable[[Life], Any]] = {
    "asyncio": produce_async,
    "kafka-python": produce_kafka_python,
    "aiokafka": produce_aiokafka,
}


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    life = Life(Path(sys.argv[1]), sys.argv[2])
    with life.diary:
        running = PRODUCERS.get(life.plan["writer"], produce)(life)
        if asyncio.iscoroutine(running):
            asyncio.run(running)


if __name__ == "__main__":
    main()
