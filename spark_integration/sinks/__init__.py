"""Writing a DataFrame to Kafka with nothing but pip packages."""

from importlib.util import find_spec

from pyspark.sql import SparkSession

from partitioning.errors import MissingDependencyError


def register(spark: SparkSession) -> None:
    """Make `format("copartition")` known to this session, for `df.write` and `df.writeStream`.

    Executors need confluent-kafka and PyArrow, not this package. See `spark_integration.sinks.source` for the
    options and the guarantees.

    Raises:
        MissingDependencyError: Spark has no Python data sources (before 4.0), or the driver no
            confluent-kafka.
    """
    if find_spec("pyspark.sql.datasource") is None:
        raise MissingDependencyError(
            "format('copartition') needs Spark 4.0 or newer; with an older one write with Spark's own "
            "connector, which configure_spark_with_kafka() adds"
        )
    if find_spec("confluent_kafka") is None:
        raise MissingDependencyError(
            "format('copartition') needs confluent-kafka: pip install 'copartition[kafka]'"
        )
    from spark_integration.sinks.source import KafkaSink  # noqa: PLC0415 - not before what it needs is there

    spark.dataSource.register(KafkaSink)
