"""aiokafka: a callable decides, one for each topic."""

from partitioning.clients.topic_callable import TopicCallable


class AiokafkaPartitioner(TopicCallable):
    """For aiokafka: `AIOKafkaProducer(partitioner=AiokafkaPartitioner("orders", "java"))`."""
