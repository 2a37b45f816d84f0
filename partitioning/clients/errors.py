"""What can go wrong between a strategy's decision and the broker's acknowledgement.

PartitioningError
 |- UnknownTopicError       the cluster has no such topic, or hides it from us  (also LookupError)
 |- BrokerUnreachableError  no broker answers                                   (also ConnectionError)
 |- MisplacedRecordError    a strategy chose a partition that does not exist    (also ValueError)
 `- DeliveryError           records that nobody watched were not acknowledged
"""

from partitioning.errors import PartitioningError


class UnknownTopicError(PartitioningError, LookupError):
    """The cluster has no such topic, or hides it from us."""


class BrokerUnreachableError(PartitioningError, ConnectionError):
    """No broker answers."""


class MisplacedRecordError(PartitioningError, ValueError):
    """A strategy chose a partition that the topic does not have."""


class DeliveryError(PartitioningError):
    """Records without a delivery callback were not acknowledged."""
