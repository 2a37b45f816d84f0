"""aiokafka: a callable decides, one for each topic."""

from typing import TYPE_CHECKING

from partitioning.clients.placing import TopicCallable
from partitioning.interface import Partitioner

if TYPE_CHECKING:
    from aiokafka.partitioner import DefaultPartitioner
else:
    # aiokafka takes any callable, and only its annotation asks for its own class: no need to import it.
    DefaultPartitioner = object


# aiokafka calls with the key, all partitions and those with a leader, and says neither topic nor value.
class AiokafkaPartitioner(TopicCallable, DefaultPartitioner):  # type: ignore[misc]
    """For aiokafka: `AIOKafkaProducer(partitioner=AiokafkaPartitioner("orders", "java"))`.

    >>> place = AiokafkaPartitioner("orders", "java")
    >>> place(b"order-43", range(12), range(12)) == partition_for_key(b"order-43", 12)
    True
    """

    # Of its own, so that an error about a missing argument names the class that was called.
    def __init__(self, topic: str, partitioner: str | Partitioner, *, value_bytes: int = 1024) -> None:
        super().__init__(topic, partitioner, value_bytes=value_bytes)
