"""aiokafka: a callable decides, one for each topic."""

from partitioning.clients.placing import TopicCallable
from partitioning.interface import Partitioner


# aiokafka calls with the key, all partitions and those with a leader, and says neither topic nor value.
class AiokafkaPartitioner(TopicCallable):
    """For aiokafka: `AIOKafkaProducer(partitioner=AiokafkaPartitioner("orders", "java"))`.

    >>> place = AiokafkaPartitioner("orders", "java")
    >>> place(b"order-43", range(12), range(12)) == partition_for_key(b"order-43", 12)
    True
    """

    # Of its own, so that an error about a missing argument names the class that was called.
    def __init__(self, topic: str, partitioner: str | Partitioner, *, value_bytes: int = 1024) -> None:
        super().__init__(topic, partitioner, value_bytes=value_bytes)
