"""aiokafka: a callable decides, one for each topic."""

from partitioning.clients.placing import TopicCallable


# aiokafka calls with the key, all partitions and those with a leader, and says neither topic nor value.
class AiokafkaPartitioner(TopicCallable):
    """For aiokafka: `AIOKafkaProducer(partitioner=AiokafkaPartitioner("orders", "java"))`."""
