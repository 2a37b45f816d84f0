"""Writing a DataFrame to Kafka with nothing but pip packages."""

from importlib.util import find_spec

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from partitioning.errors import MissingDependencyError
from spark_integration.errors import SinkConfigError


def register(spark: SparkSession) -> None:
    """Make `format("copartition")` known to this session, for reading and writing, batch and stream.

    Executors need confluent-kafka and PyArrow, not this package. See `spark_integration.sinks.source` for the
    sink's options and guarantees, `spark_integration.reading.source` for the source's.

    Raises:
        MissingDependencyError: Spark has no Python data sources (before 4.0), or the driver no
            confluent-kafka.
        SinkConfigError: Spark has found another `format("copartition")` in its own Python, and keeps to that.
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
    # Not before what it needs is there.
    from spark_integration.reading.source import KafkaDataSource  # noqa: PLC0415

    try:
        spark.dataSource.register(KafkaDataSource)
    except PySparkException as error:
        # Spark 4.0 lets nothing replace what it has found itself, as it does where this package is installed.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        options = {"bootstrap.servers": "any", "subscribe": "any"}
        found = spark.read.format("copartition").options(**options).load().schema
        if found != KafkaDataSource(options).schema():
            raise SinkConfigError(
                "Spark has found another format('copartition') than this one: install the same version of "
                "copartition for the driver and for Spark's Python, and no other of that name"
            ) from error
