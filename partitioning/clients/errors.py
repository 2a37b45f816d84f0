"""What can go wrong between a strategy's decision and the broker's acknowledgement, and when a topic is read.

PartitioningError
 |- UnknownTopicError       the cluster has no such topic, or hides it from us  (also LookupError)
 |- AccessError             we may not use a group or a transactional id      (also PermissionError)
 |   `- TopicAccessError    we may not read, write or describe a topic
 |- TopicChangedError       a topic was deleted or made anew while it was read
 |- BrokerUnreachableError  no broker answers                                   (also ConnectionError)
 |- RegistryError           a schema registry does not answer, or refuses us     (also ConnectionError)
 |- MisplacedRecordError    a strategy chose a partition that does not exist    (also ValueError)
 |- DeliveryError           records that nobody watched were not acknowledged
 |- FencedError             another process has our transactional id or our place in the group
 |- GaveUpError             a batch was aborted too often, the cluster was silent, or a consumer went back
 `- UnsupportedBrokerError  brokers are older than a feature that is needed
"""

from partitioning.errors import PartitioningError


class UnknownTopicError(PartitioningError, LookupError):
    """The cluster has no such topic, or hides it from us."""


class AccessError(PartitioningError, PermissionError):
    """We may not use a group, a transactional id or a topic."""


class TopicAccessError(AccessError):
    """We may not read, write or describe a topic."""


class TopicChangedError(PartitioningError):
    """A topic was deleted or made anew while it was read, so that nothing is to be said of it."""


class BrokerUnreachableError(PartitioningError, ConnectionError):
    """No broker answers."""


class RegistryError(PartitioningError, ConnectionError):
    """A schema registry does not answer, or refuses us."""


class MisplacedRecordError(PartitioningError, ValueError):
    """A strategy chose a partition that the topic does not have."""


class DeliveryError(PartitioningError):
    """Records without a delivery callback were not acknowledged."""


class FencedError(PartitioningError):
    """Another process has our transactional id or our place in the group, or a transaction took too long."""


class GaveUpError(PartitioningError):
    """A batch was aborted too often, the cluster was silent for too long, or the consumer went back."""


class UnsupportedBrokerError(PartitioningError):
    """Brokers are older than a feature that is needed."""
