"""A Spark session for every test here: classic, or Connect with SPARK_TEST_MODE=connect."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_integration.session import _installed_spark
from tests.support.jars import fetch, missing_tools

HERE = Path(__file__).parent

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

# A folder of settings serves classic and Connect alike: a Connect client may not set most of these.
SETTINGS = """
spark.ui.enabled false
spark.ui.showConsoleProgress false
spark.driver.memory 1g
spark.sql.shuffle.partitions 4
spark.sql.session.timeZone America/New_York
spark.sql.warehouse.dir {home}/warehouse
spark.driver.extraJavaOptions -Dderby.system.home={home}
spark.jars {jars}
"""
LOGGING = """
# Spark takes a configuration without an appender for none.
appender.console.type = Console
appender.console.name = console
rootLogger.level = off
rootLogger.appenderRef.stdout.ref = console
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Local Spark on two cores that writes nothing outside a temporary folder."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: install Java 17, and put java on the PATH or set JAVA_HOME")
    session = start(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def connector(spark: SparkSession) -> None:
    """Spark's own Kafka source and sink."""
    if missing := missing_tools():
        pytest.skip(f"Spark's Kafka connector is fetched with Maven: {missing}")


def connector_jars() -> list[Path]:
    """Spark's Kafka connector for the Spark that is installed; empty without Maven."""
    if missing_tools():
        return []
    scala, _ = _installed_spark()
    return sorted(fetch(HERE / "connector" / f"scala-{scala}.xml").glob("*.jar"))


def start(home: Path) -> SparkSession:
    jars = ",".join(map(str, connector_jars()))
    (home / "spark-defaults.conf").write_text(SETTINGS.format(home=home, jars=jars))
    (home / "log4j2.properties").write_text(LOGGING)
    os.environ["SPARK_CONF_DIR"] = str(home)
    builder = SparkSession.builder.appName("copartition tests")
    if os.environ.get("SPARK_TEST_MODE") == "connect":
        return builder.remote("local[2]").getOrCreate()
    return builder.master("local[2]").getOrCreate()
