"""aiokafka: a callable decides, one for each topic."""

from partitioning.clients.placing import TopicCallable


class AiokafkaPartitioner(TopicCallable):
    """For aiokafka: `AIOKafkaProducer(partitioner=AiokafkaPartitioner("orders", "java"))`."""
