"""Make Kafka known to a Spark session: by `format("copartition")`, or by Spark's own connector."""

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
"""Setting that is "true" in a session that knows the format.

A stream clones its session; the clone has the setting and knows the format.
"""

CONNECTOR_JARS = ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")
"""The beginnings of the names of the connector's jars, which Spark itself does not have."""


def configure_spark_with_kafka(
    builder: SparkSession.Builder,
    *,
    version: str | None = None,
    jars: Sequence[str | Path] = (),
    packages: Sequence[str] = (),
) -> SparkSession.Builder:
    """Make `format("kafka")` available in the session that the builder makes; return the builder.

    Without `jars`, Spark fetches the connector for the installed Spark from Maven when the session starts.
    This sets `spark.jars.packages`, or `spark.jars` if `jars` are given, and replaces an earlier value.

    >>> from pyspark.sql import SparkSession
    >>> spark = configure_spark_with_kafka(SparkSession.builder.appName("orders")).getOrCreate()
    >>> spark.conf.get("spark.jars.packages").split(":")[1]
    'spark-sql-kafka-0-10_2.13'

    Args:
        builder: the builder of a classic session. A Connect server has its own jars.
        version: version of the connector; None for that of the installed Spark. Name one if there is no
            connector of that version.
        jars: paths or URLs of the connector's four jars, and of further ones, for machines without access to
            Maven.
        packages: further Maven coordinates, "group:artifact:version".

    Raises:
        ConnectorError: `jars` lacks one of the four jars or names a file that does not exist; or the
            installed PySpark is a Connect client, which has no jars that tell Spark's version.
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
    """Raise ConnectorError if a jar of the connector is missing, or a local path is not a file."""
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
    """Return the versions of Scala and Spark of the installed PySpark, from the name of one of its jars.

    Raises:
        MissingDependencyError: PySpark is not installed.
        ConnectorError: the installed PySpark has no jars.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingDependencyError(f"PySpark is not installed: {install_command('spark')}")
    # The jar's name has both versions. `pyspark.__version__` does not tell Scala's.
    for jar in Path(spec.origin).parent.joinpath("jars").glob("spark-core_*.jar"):
        if match := re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name):
            return match[1], match[2]
    raise ConnectorError(
        "the installed PySpark has no jars (it is a Connect client): "
        "the connector belongs on the Connect server"
    )


def register(spark: SparkSession) -> None:
    """Make `format("copartition")` known to this session, to read and write batches and streams.

    Call it in each Python thread that reads or writes. In a new thread classic Spark has no active session,
    so it does not find the format (DATA_SOURCE_NOT_FOUND). This function makes the session the thread's
    active one; an `InheritableThread` does not.

    Executors need confluent-kafka and PyArrow, but not this package. `docs/spark-sink.md` has the options and
    guarantees for writing, `docs/spark.md` the options for reading.

    >>> register(spark)
    >>> spark.read.format("copartition").options(**config, subscribe="orders").load().columns[:4]
    ['key', 'value', 'topic', 'partition']

    Raises:
        MissingDependencyError: this Spark has no Python data sources (before 4.0), or the driver has no
            confluent-kafka.
        InvalidConfigError: Spark has found another `format("copartition")` in its own Python, and does not
            let it be replaced.

    Warns:
        RuntimeWarning: Spark's workers will run another Python than that of the active virtual environment.
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
        spark.createDataFrame([], "nothing int")  # a side effect: this is the thread's active session now
        _check_python(spark.sparkContext)
    if spark.conf.get(_REGISTERED, None) == "true":
        return  # a second registration would make Spark warn that it has replaced the first one
    # These modules are imported after the checks, because they need the packages that the checks look for.
    from spark_integration.packed_source import PackedSource  # noqa: PLC0415
    from spark_integration.reading.source import KafkaDataSource  # noqa: PLC0415

    try:
        spark.dataSource.register(PackedSource)
    except PySparkException as error:
        # If this package is installed for Spark's own Python, Spark finds the format by itself, and Spark 4.0
        # refuses another format of the same name. That is fine if both are the same version.
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
    """Warn if PYSPARK_PYTHON is not set and the workers' Python is not the active virtual environment's."""
    executable = shutil.which(context.pythonExec)
    # This warns only if the master is local, because the Python of other machines cannot be seen from here.
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
