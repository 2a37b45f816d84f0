"""Really produces with three Python clients; arguments are PROFILE, SERVERS and a transactional id, if any.

Records come on stdin, a line each of topic, key and value (hex, or "-" for null). At a line "flush" all of
them are sent, and "done" comes back. With a transactional id "begin", "commit" and "abort" are lines, too.
"""

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import Any

from librdkafka import SETTINGS

Record = tuple[str, bytes | None, bytes | None]
Send = Callable[[Iterable[Record]], None]


def confluent_kafka(servers: str, setting: str, transactional_id: str | None) -> tuple[Send, Any]:
    """Sends through librdkafka, and its producer."""
    from confluent_kafka import Producer

    config: dict[str, Any] = {"bootstrap.servers": servers, "partitioner": setting, "linger.ms": 0}
    if transactional_id is not None:
        config["transactional.id"] = transactional_id
    producer = Producer(config)
    if transactional_id is not None:
        producer.init_transactions(30)

    def send(records: Iterable[Record]) -> None:
        refused = []
        for topic, key, value in records:
            producer.produce(topic, value, key, on_delivery=lambda error, _: error and refused.append(error))
        if producer.flush(30) or refused:
            raise RuntimeError(f"not all was delivered: {refused[:3]}")

    return send, producer


def kafka_python(servers: str) -> Send:
    """Sends through kafka-python."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=servers)

    def send(records: Iterable[Record]) -> None:
        futures = [producer.send(topic, key=key, value=value) for topic, key, value in records]
        producer.flush()
        for future in futures:
            future.get(30)

    return send


def aiokafka(servers: str) -> Send:
    """Sends through aiokafka, in an event loop of its own."""
    import atexit

    from aiokafka import AIOKafkaProducer

    loop = asyncio.new_event_loop()

    async def start() -> Any:
        producer = AIOKafkaProducer(bootstrap_servers=servers)
        await producer.start()
        return producer

    async def sent(records: Iterable[Record]) -> None:
        futures = [await producer.send(topic, key=key, value=value) for topic, key, value in records]
        await asyncio.gather(*futures)

    producer = loop.run_until_complete(start())
    atexit.register(lambda: loop.run_until_complete(producer.stop()))
    return lambda records: loop.run_until_complete(sent(records))


def decode(text: str) -> bytes | None:
    """The bytes of a field of a line."""
    return None if text == "-" else bytes.fromhex(text)


def main() -> None:
    profile, servers, *transactional_id = sys.argv[1:]
    transactions: Any = None
    if profile == "kafka-python":
        send = kafka_python(servers)
    elif profile == "aiokafka":
        send = aiokafka(servers)
    else:
        setting = {**SETTINGS, "librdkafka-random": "random"}[profile]
        send, transactions = confluent_kafka(servers, setting, *(transactional_id or [None]))
    steps = {"begin": "begin_transaction", "commit": "commit_transaction", "abort": "abort_transaction"}
    records: list[Record] = []
    for line in sys.stdin:
        words = line.split()
        if words == ["flush"]:
            send(records)
            records = []
            sys.stdout.write("done\n")
            sys.stdout.flush()
        elif len(words) == 1:
            getattr(transactions, steps[words[0]])()
        else:
            topic, key, value = words
            records.append((topic, decode(key), decode(value)))


if __name__ == "__main__":
    main()
