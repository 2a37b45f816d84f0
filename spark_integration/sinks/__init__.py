"""Writing a DataFrame to Kafka with nothing but pip packages."""

import os
import shutil
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from partitioning.errors import InvalidConfigError, MissingDependencyError

if TYPE_CHECKING:
    from pyspark import SparkContext


def register(spark: SparkSession) -> None:
    """Make `format("copartition")` known to this session, for reading and writing, batch and stream.

    Call it in each thread of Python that writes, too: there classic Spark asks no session for the format
    (DATA_SOURCE_NOT_FOUND) until one is made the thread's, which this does and an `InheritableThread` does
    not.

    Executors need confluent-kafka and PyArrow, not this package. See `spark_integration.sinks.source` for the
    sink's options and guarantees, `spark_integration.reading.source` for the source's.

    Raises:
        MissingDependencyError: Spark has no Python data sources (before 4.0), or the driver no
            confluent-kafka.
        InvalidConfigError: Spark has found another `format("copartition")` in its own Python, and keeps
            it.

    Warns:
        RuntimeWarning: Spark's workers will run another Python than that of the virtual environment.
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
    if type(spark).__module__ == "pyspark.sql.session":  # classic
        spark.createDataFrame([], "nothing int")  # makes the session this thread's
        _check_python(spark.sparkContext)
    # Not before what it needs is there.
    from spark_integration.reading.source import KafkaDataSource  # noqa: PLC0415

    try:
        spark.dataSource.register(KafkaDataSource)
    except PySparkException as error:
        # Spark 4.0 lets nothing replace what it has found itself, as it does where this package is installed.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        options = {"bootstrap.servers": "any", "subscribe": "any"}
        schema = spark.read.format("copartition").options(**options).load().schema
        if schema != KafkaDataSource(options).schema():
            raise InvalidConfigError(
                "Spark has found another format('copartition') than this one: install the same version of "
                "copartition for the driver and for Spark's Python, and no other of that name"
            ) from error


def _check_python(context: "SparkContext") -> None:
    """Warn if nobody chose the workers' Python, and it is not that of the virtual environment in use."""
    executable = shutil.which(context.pythonExec)
    in_environment = sys.prefix != sys.base_prefix and "PYSPARK_PYTHON" not in os.environ
    if not in_environment or executable is None or not str(context.master).startswith("local"):
        return
    if Path(executable).parent != Path(sys.executable).parent:
        warnings.warn(
            f"Spark's workers run {executable}, not this Python's environment in {sys.prefix}, and may lack "
            "what it has: activate it, or set PYSPARK_PYTHON to sys.executable before the session is made",
            RuntimeWarning,
            stacklevel=3,
        )
