"""A Spark session for every test here: classic, or Connect with SPARK_TEST_MODE=connect."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable

LOGGING = """
rootLogger.level = off
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
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
    home = tmp_path_factory.mktemp("spark")
    session = spark_builder(home).getOrCreate()
    yield session
    session.stop()


def spark_builder(home: Path) -> SparkSession.Builder:
    logging = home / "log4j2.properties"
    logging.write_text(LOGGING)
    builder = (
        SparkSession.builder.appName("copartition tests")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.sql.session.timeZone", "America/New_York")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.driver.memory", "1g")
        .config(
            "spark.driver.extraJavaOptions",
            f"-Dlog4j2.configurationFile={logging.as_uri()} -Dderby.system.home={home}",
        )
    )
    if os.environ.get("SPARK_TEST_MODE") == "connect":
        return builder.remote("local[2]")
    return builder.master("local[2]")
