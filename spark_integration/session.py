"""A Spark session that knows Kafka: by `format("copartition")`, or by Spark's own connector."""

import os
import re
import shutil
import sys
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from partitioning.errors import InvalidConfigError, MissingDependencyError
from partitioning.kit.packages import install_command
from spark_integration.errors import ConnectorError

_REGISTERED = "copartition.registered"
"""Setting of a session that knows the format, "true". A clone, as a stream makes, has both."""

CONNECTOR_JARS = ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")
"""Jars of the connector, beside what Spark brings along."""


def configure_spark_with_kafka(
    builder: SparkSession.Builder,
    *,
    version: str | None = None,
    jars: Sequence[str | Path] = (),
    packages: Sequence[str] = (),
) -> SparkSession.Builder:
    """Make `format("kafka")` available in the session that the builder makes; return the builder.

    Without `jars` Spark fetches the connector from Maven when the session starts: the one made for the Spark
    that is installed here. It sets `spark.jars.packages`, or with `jars` `spark.jars`, and so replaces an
    earlier value.

    >>> from pyspark.sql import SparkSession
    >>> spark = configure_spark_with_kafka(SparkSession.builder.appName("orders")).getOrCreate()
    >>> spark.conf.get("spark.jars.packages").split(":")[1]
    'spark-sql-kafka-0-10_2.13'

    Args:
        builder: of a classic session. A Connect server brings its own jars.
        version: the connector's version, where that of the installed Spark is not to be had.
        jars: paths or URLs of the connector's four jars (and of others), for machines without access to
            Maven.
        packages: further Maven coordinates.

    Raises:
        ConnectorError: jars were given and one of the four is not among them or is no file, or the installed
            PySpark is a Connect client, without jars from which to tell the version.
        MissingDependencyError: PySpark is not installed.
    """
    if jars:
        names = [str(jar) for jar in jars]
        _check_jars(names)
        builder = builder.config("spark.jars", ",".join(names))
        return builder.config("spark.jars.packages", ",".join(packages)) if packages else builder
    scala, spark = _installed_spark()
    coordinates = f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{version or spark}"
    return builder.config("spark.jars.packages", ",".join([coordinates, *packages]))


def _check_jars(jars: Sequence[str]) -> None:
    """Raise ConnectorError unless all jars of the connector are given and local ones exist."""
    missing = [stem for stem in CONNECTOR_JARS if not any(Path(jar).name.startswith(stem) for jar in jars)]
    if missing:
        raise ConnectorError(
            f"the connector is not complete, {', '.join(missing)} is missing among the jars: give all of "
            f"{', '.join(CONNECTOR_JARS)}"
        )
    absent = [jar for jar in jars if "://" not in jar and not Path(jar).is_file()]
    if absent:
        raise ConnectorError(f"no such file: {', '.join(absent)}")


def _installed_spark() -> tuple[str, str]:
    """Scala's and Spark's version of the installed PySpark, as its jars are named."""
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingDependencyError(f"PySpark is not installed: {install_command('spark')}")
    # The jar's name has both versions; `pyspark.__version__` does not say Scala's.
    for jar in Path(spec.origin).parent.joinpath("jars").glob("spark-core_*.jar"):
        if match := re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name):
            return match[1], match[2]
    raise ConnectorError(
        "the installed PySpark has no jars (it is a Connect client): "
        "the connector belongs on the Connect server"
    )


def register(spark: SparkSession) -> None:
    """Make `format("copartition")` known to this session, for reading and writing, batch and stream.

    Call it in each thread of Python that writes, too: there classic Spark asks no session for the format
    (DATA_SOURCE_NOT_FOUND) until one is made the thread's, which this does and an `InheritableThread` does
    not.

    Executors need confluent-kafka and PyArrow, not this package. `docs/spark-sink.md` has the
    sink's options and guarantees, `docs/spark.md` the source's options.

    >>> register(spark)
    >>> spark.read.format("copartition").options(**config, subscribe="orders").load().columns[:4]
    ['key', 'value', 'topic', 'partition']

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
            f"format('copartition') needs confluent-kafka: {install_command('kafka')}"
        )
    if type(spark).__module__ == "pyspark.sql.session":  # classic
        spark.createDataFrame([], "nothing int")  # makes the session this thread's
        _check_python(spark.sparkContext)
    if spark.conf.get(_REGISTERED, None) == "true":
        return  # once more Spark would warn that one has replaced the other
    # After the checks: it needs what they look for.
    from spark_integration.packed_source import PackedSource  # noqa: PLC0415
    from spark_integration.reading.source import KafkaDataSource  # noqa: PLC0415

    try:
        spark.dataSource.register(PackedSource)
    except PySparkException as error:
        # Spark 4.0 lets nothing replace what it has found itself, as it does where this package is installed.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
        options = {"bootstrap.servers": "any", "subscribe": "any"}
        schema = spark.read.format("copartition").options(**options).load().schema
        if schema.simpleString() != KafkaDataSource(options).schema().simpleString():
            raise InvalidConfigError(
                "Spark has found another format('copartition') than this one: install the same version of "
                "copartition for the driver and for Spark's Python, and no other of that name"
            ) from error
    spark.conf.set(_REGISTERED, "true")


def _check_python(context: "SparkContext") -> None:
    """Warn if nobody chose the workers' Python, and it is not that of the virtual environment in use."""
    executable = shutil.which(context.pythonExec)
    # Only a local master: what runs on other machines cannot be seen from here.
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
