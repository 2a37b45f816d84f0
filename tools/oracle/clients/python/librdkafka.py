"""Where librdkafka puts each key under each `partitioner` setting, by really producing.

Time-based stickiness is off: else all records without a key share one random partition for 10 ms.
"""

import os

from confluent_kafka import KafkaError, Message, Producer
from line_protocol import answer, read_counts, read_keys, topic

SETTINGS = {
    "librdkafka": "consistent_random",
    "librdkafka-consistent": "consistent",
    "librdkafka-murmur2": "murmur2",
    "librdkafka-murmur2-random": "murmur2_random",
    "librdkafka-fnv1a": "fnv1a",
    "librdkafka-fnv1a-random": "fnv1a_random",
}


class DeliveredPartitions:
    """The partitions of delivery reports, by the number that each record carries as its value."""

    def __init__(self, records: int) -> None:
        self.partitions: list[int | None] = [None] * records

    def __call__(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise RuntimeError(str(error))
        self.partitions[int(message.value())] = message.partition()


def main() -> None:
    keys, counts = read_keys(), read_counts()
    for profile, setting in SETTINGS.items():
        config = {
            "bootstrap.servers": os.environ["KAFKA_BOOTSTRAP_SERVERS"],
            "partitioner": setting,
            "sticky.partitioning.linger.ms": 0,
        }
        producer = Producer(config)
        for count in counts:
            delivered = DeliveredPartitions(len(keys))
            for number, key in enumerate(keys):
                producer.produce(topic(count), key=key, value=str(number).encode(), on_delivery=delivered)
            producer.flush()
            answer(profile, "confluent-kafka", f"partitioner={setting}", count, delivered.partitions)


if __name__ == "__main__":
    main()
