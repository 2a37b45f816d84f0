"""What can go wrong between Spark and Kafka.

SparkIntegrationError
 |- ColumnError            a column that is missing, misspelt or of the wrong type      (also ValueError)
 |- PartitionCountError    a column that was computed for another partition count      (also ValueError)
 |- RoutingError           rows that are not where Kafka would put them                (also ValueError)
 |- RecordError            a row that cannot be a record of its topic                  (also ValueError)
 |- ConnectorError         Spark's own Kafka connector is missing, or a part of it
 |- SinkConfigError        an option that is missing, unknown or meaningless           (also ValueError)
 |- BrokerUnreachableError no broker answers, or it refuses us                         (also ConnectionError)
 |- UnknownTopicError      a topic the cluster does not have                           (also LookupError)
 `- DeliveryError          records that were not acknowledged by the broker
"""

from collections.abc import Sequence

from pyspark.sql import Row


class SparkIntegrationError(Exception):
    """Base of every error this package raises on purpose."""


class ColumnError(SparkIntegrationError, ValueError):
    """A column that is missing, misspelt or of the wrong type."""


class PartitionCountError(SparkIntegrationError, ValueError):
    """A partition column that was computed for another partition count."""


class RoutingError(SparkIntegrationError, ValueError):
    """Rows that are not where Kafka would put them.

    Attributes:
        rows: a few of them, each with `spark_partition`, `kafka_partition` and the whole `row`.
    """

    def __init__(self, message: str, rows: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class RecordError(SparkIntegrationError, ValueError):
    """A row that cannot be a record of its topic."""


class ConnectorError(SparkIntegrationError):
    """Spark's own Kafka connector is missing, or a part of it."""


class SinkConfigError(SparkIntegrationError, ValueError):
    """An option of the sink that is missing, unknown or meaningless."""


class BrokerUnreachableError(SparkIntegrationError, ConnectionError):
    """No broker answers in time, or it refuses us."""


class UnknownTopicError(SparkIntegrationError, LookupError):
    """A topic the cluster does not have, or does not show us."""


class DeliveryError(SparkIntegrationError):
    """Records that the broker did not acknowledge."""
