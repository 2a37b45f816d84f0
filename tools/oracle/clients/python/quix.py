"""Where quix-streams puts each key with its own settings, by really producing."""

import os

from librdkafka import DeliveredPartitions
from line_protocol import answer, read_counts, read_keys, topic
from quixstreams.kafka.producer import Producer


def main() -> None:
    keys, counts = read_keys(), read_counts()
    producer = Producer(broker_address=os.environ["KAFKA_BOOTSTRAP_SERVERS"])
    for count in counts:
        delivered = DeliveredPartitions(len(keys))
        for number, key in enumerate(keys):
            producer.produce(topic(count), key=key, value=str(number).encode(), on_delivery=delivered)
        producer.flush()
        answer("quix", "quixstreams", "Producer.produce", count, delivered.partitions)


if __name__ == "__main__":
    main()
