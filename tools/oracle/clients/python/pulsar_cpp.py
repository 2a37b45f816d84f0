"""Where Pulsar's C++ client routes each key, by sending to a broker of our own.

Any std::string is a key in C++, and the message builder of its Python binding takes bytes for it. (The Python
API above that takes text only, and sends an empty text as no key.)
"""

import _pulsar
import pulsar
from line_protocol import answer, read_counts, read_keys, topic
from pulsar_broker import Broker


def message(key: bytes | None) -> _pulsar.Message:
    builder = _pulsar.MessageBuilder().content(b"")
    if key is not None:
        builder.partition_key(key)
    return builder.build()


def main() -> None:
    keys, counts = read_keys(), read_counts()
    with Broker() as broker:
        client = pulsar.Client(broker.url, logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
        for count in counts:
            producer = client.create_producer(
                topic(count), lazy_start_partitioned_producers=True, batching_enabled=False
            )
            partitions = [producer._producer.send(message(key)).partition() for key in keys]
            answer("pulsar-cpp", "pulsar-client", "Producer::send", count, partitions)
        client.close()


if __name__ == "__main__":
    main()
