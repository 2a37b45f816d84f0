"""Where the two Python clients' own default partitioners put each key."""

from aiokafka.partitioner import DefaultPartitioner as AiokafkaPartitioner
from kafka.partitioner import DefaultPartitioner as KafkaPythonPartitioner
from line_protocol import answer, read_counts, read_keys


class Cluster:
    """What kafka-python's partitioner asks of its metadata."""

    def __init__(self, count: int) -> None:
        self.partitions = set(range(count))

    def topics(self) -> set[str]:
        return {"topic"}

    def partitions_for_topic(self, _topic: str) -> set[int]:
        return self.partitions

    def available_partitions_for_topic(self, _topic: str) -> set[int]:
        return self.partitions


def main() -> None:
    keys, counts = read_keys(), read_counts()
    for count in counts:
        everyone, cluster = list(range(count)), Cluster(count)
        kafka_python, aiokafka = KafkaPythonPartitioner(), AiokafkaPartitioner()
        answer(
            "kafka-python",
            "kafka-python",
            "DefaultPartitioner.partition",
            count,
            [kafka_python.partition("topic", key, key, None, None, cluster) for key in keys],
        )
        answer(
            "aiokafka",
            "aiokafka",
            "DefaultPartitioner.__call__",
            count,
            [aiokafka(key, everyone, everyone) for key in keys],
        )


if __name__ == "__main__":
    main()
