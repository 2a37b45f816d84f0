"""Places records of aiokafka producers: one callable for each topic."""

from typing import TYPE_CHECKING

from partitioning.clients.placing import TopicCallable
from partitioning.interface import Partitioner

if TYPE_CHECKING:
    from aiokafka.partitioner import DefaultPartitioner
else:
    # aiokafka accepts any callable. Only its type annotation names a class of its own, which is not needed at
    # run time and so is not imported.
    DefaultPartitioner = object


# aiokafka passes the key, all partitions, and the partitions with a leader, but neither the topic nor the
# value.
class AiokafkaPartitioner(TopicCallable, DefaultPartitioner):  # type: ignore[misc]
    """Places the records of one topic by any strategy, for a producer of aiokafka.

    Give it to the producer: `AIOKafkaProducer(partitioner=AiokafkaPartitioner("orders", "java"))`.

    >>> place = AiokafkaPartitioner("orders", "java")
    >>> place(b"order-43", range(12), range(12)) == partition_for_key(b"order-43", 12)
    True
    """

    # The constructor is defined again so that the error for a missing argument names this class.
    def __init__(self, topic: str, partitioner: str | Partitioner, *, value_bytes: int = 1024) -> None:
        super().__init__(topic, partitioner, value_bytes=value_bytes)
