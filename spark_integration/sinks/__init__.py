"""Writing a DataFrame to Kafka with nothing but pip packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partitioning.errors import MissingDependencyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `format("copartition")` known to this session, for `df.write` and `df.writeStream`.

    Executors need confluent-kafka and PyArrow, not this package. See `spark_integration.sinks.source` for the
    options and the guarantees.

    Raises:
        MissingDependencyError: Spark has no Python data sources (before 4.0), or the driver no
            confluent-kafka.
    """
    try:
        import confluent_kafka  # noqa: F401, PLC0415

        from spark_integration.sinks.source import KafkaSink  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name == "pyspark.sql.datasource":
            message = (
                "format('copartition') needs Spark 4.0 or newer; with an older one write with Spark's own "
                "connector, which configure_spark_with_kafka() adds"
            )
        elif error.name == "confluent_kafka":
            message = "format('copartition') needs confluent-kafka: pip install 'copartition[kafka]'"
        else:
            raise
        raise MissingDependencyError(message) from error
    spark.dataSource.register(KafkaSink)
