"""A Spark session with Spark's own Kafka connector on board."""

import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from partitioning.errors import MissingDependencyError
from spark_integration.errors import ConnectorError

CONNECTOR_JARS = ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")
"""What the connector consists of, beside what Spark brings along."""


def configure_spark_with_kafka(
    builder: SparkSession.Builder,
    *,
    version: str | None = None,
    jars: Sequence[str | Path] = (),
    packages: Sequence[str] = (),
) -> SparkSession.Builder:
    """The builder, with `format("kafka")` available in the session it makes.

    Without `jars` Spark fetches the connector from Maven when the session starts: the one made for the Spark
    that is installed here. It sets `spark.jars.packages`, or with `jars` `spark.jars`, and so replaces an
    earlier value.

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
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MissingDependencyError("PySpark is not installed: pip install 'copartition[spark]'")
    for jar in Path(spec.origin).parent.joinpath("jars").glob("spark-core_*.jar"):
        if match := re.fullmatch(r"spark-core_([\d.]+)-(.+)\.jar", jar.name):
            return match[1], match[2]
    raise ConnectorError(
        "the installed PySpark has no jars (it is a Connect client): "
        "the connector belongs on the Connect server"
    )
