"""The process of the lab exactly-once: reads ten, writes ten, commits where reading goes on, and is killed.

`python loop.py SERVERS SOURCE TARGET RECORDS TRANSACTIONS DIES`: it kills itself in the round `DIES`, after
what it made is written and before where it stopped reading is committed; 0 for never.
"""

from __future__ import annotations

import os
import signal
import sys

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

BATCH = 10
PATIENCE_S = 60.0


def committed_offset(consumer: Consumer, source: str) -> int:
    """Where the loop goes on; the group's coordinator may still load."""
    while True:
        try:
            return max(consumer.committed([TopicPartition(source, 0)], PATIENCE_S)[0].offset, 0)
        except KafkaException as error:
            if not (error.args[0].retriable() or error.args[0].name() == "NOT_COORDINATOR"):
                raise


def main(servers: str, source: str, target: str, records: str, transactions: str, dies: str) -> None:
    """Run the loop until it has read all."""
    settings = {"bootstrap.servers": servers, "log_level": 0}
    consumer = Consumer(settings | {"group.id": target, "enable.auto.commit": False})
    in_transactions = transactions == "yes"
    extra = {"transactional.id": target} if in_transactions else {"enable.idempotence": True}
    producer = Producer(settings | extra)
    if in_transactions:
        producer.init_transactions(PATIENCE_S)  # fences the one before, and aborts what it left open
    at, rounds = committed_offset(consumer, source), 0
    consumer.assign([TopicPartition(source, 0, at)])
    while at < int(records):
        messages = consumer.consume(BATCH, PATIENCE_S)
        if in_transactions:
            producer.begin_transaction()
        for message in messages:
            producer.produce(target, (message.value() or b"") + b" processed")
        producer.flush(PATIENCE_S)
        at, rounds = at + len(messages), rounds + 1
        if rounds == int(dies):
            os.kill(os.getpid(), signal.SIGKILL)
        goes_on = [TopicPartition(source, 0, at)]
        if in_transactions:
            producer.send_offsets_to_transaction(goes_on, consumer.consumer_group_metadata(), PATIENCE_S)
            producer.commit_transaction(PATIENCE_S)
        else:
            consumer.commit(offsets=goes_on, asynchronous=False)
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
