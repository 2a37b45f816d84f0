"""Local Spark for tests and benchmarks: classic, or Connect with SPARK_TEST_MODE=connect.

SPARK_TEST_MASTER names another master than local[2], SPARK_TEST_PYTHON the Python of Spark's workers,
SPARK_TEST_EVENTS a folder for event logs.
"""

import os
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from spark_integration.session import _installed_spark
from tests.support.broker import free_ports
from tests.support.jars import fetch, missing_tools

CONNECTOR = Path(__file__).parent / "connector"

# A folder of settings serves classic and Connect alike: a Connect client may not set most of these.
SETTINGS = """
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.driver.memory {memory}
spark.sql.shuffle.partitions 4
spark.sql.session.timeZone America/New_York
spark.sql.warehouse.dir {home}/warehouse
spark.driver.extraJavaOptions -Dderby.system.home={home} {java}
spark.jars {jars}
spark.connect.grpc.binding.port {port}
"""
# Most plans of tests run for less time than Spark takes to compile them, and most JVMs of tests for less time
# than the second of Java's compilers needs to pay.
INTERPRETED = """
spark.sql.codegen.wholeStage false
spark.sql.codegen.factoryMode NO_CODEGEN
spark.executor.extraJavaOptions {short}
"""
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
EVENTS = """
spark.eventLog.enabled true
spark.eventLog.dir file:{events}
spark.eventLog.compress false
"""
# Connect logs what a client asks for, and so the options of a read or a write; docs/spark.md tells of this.
REDACTION = """
spark.redaction.string.regex (?i)"kafka[.]s[^"]*"[^"]*".*
"""
LOGGING = """
# Spark takes a configuration without an appender for none.
appender.console.type = Console
appender.console.name = console
rootLogger.level = off
rootLogger.appenderRef.stdout.ref = console
"""


def connector_jars() -> list[Path]:
    """Spark's Kafka connector for the Spark that is installed; empty without Maven."""
    if missing_tools():
        return []
    _, version = _installed_spark()
    own = CONNECTOR / f"spark-{version.rpartition('.')[0]}.xml"
    return sorted(fetch(own if own.exists() else CONNECTOR / "newest.xml").glob("*.jar"))


def start_spark(
    home: Path, memory: str = "1g", python: Path | None = None, *, compiling: bool = True
) -> SparkSession:
    """A session on two cores that writes nothing outside `home`.

    Args:
        home: a folder of its own.
        memory: the JVM's.
        python: the Python of Spark's workers; by default SPARK_TEST_PYTHON, else this one.
        compiling: whether plans are compiled, and by both of Java's compilers, as they are by default; it
            pays for what runs for long.
    """
    jars = ",".join(map(str, connector_jars()))
    (port,) = free_ports(1)
    java = "" if compiling else SHORT_LIVED
    settings = SETTINGS.format(home=home, memory=memory, jars=jars, port=port, java=java)
    settings += "" if compiling else INTERPRETED.format(short=SHORT_LIVED)
    if events := os.environ.get("SPARK_TEST_EVENTS"):
        settings += EVENTS.format(events=events)
        settings += REDACTION if os.environ.get("SPARK_TEST_MODE") == "connect" else ""
    (home / "spark-defaults.conf").write_text(settings)
    (home / "log4j2.properties").write_text(LOGGING)
    os.environ["SPARK_CONF_DIR"] = str(home)
    os.environ["PYSPARK_PYTHON"] = str(python or os.environ.get("SPARK_TEST_PYTHON", sys.executable))
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    master = os.environ.get("SPARK_TEST_MASTER", "local[2]")
    builder = SparkSession.builder.appName("copartition tests")
    if os.environ.get("SPARK_TEST_MODE") == "connect":
        _connect_to(port)
        return builder.remote(master).getOrCreate()
    return builder.master(master).getOrCreate()


def write_stream(df: DataFrame, servers: str, topic: str, checkpoint: Path, **more: str) -> None:
    """Stream what is there into the pip-only sink, and stop."""
    options = {"kafka.bootstrap.servers": servers, "topic": topic, "checkpointLocation": str(checkpoint)}
    writer = df.writeStream.format("copartition").options(**options, **more).trigger(availableNow=True)
    writer.start().awaitTermination()


def _connect_to(port: int) -> None:
    """Have a local Connect client look for its server at a port of its own: two runs may be under way."""
    from pyspark.sql.connect.client import core

    channels = getattr(core, "DefaultChannelBuilder", core.ChannelBuilder)  # its name before Spark 4.0
    channels.default_port = staticmethod(lambda: port)
