"""A Spark session for every test here."""

import os
import shutil
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.jars import missing_tools
from tests.support.spark import start_spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Local Spark, with Spark's Kafka connector where it can be fetched."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: install Java 17, and put java on the PATH or set JAVA_HOME")
    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture
def connector(spark: SparkSession) -> None:
    """Spark's own Kafka source and sink."""
    if missing := missing_tools():
        pytest.skip(f"Spark's Kafka connector is fetched with Maven: {missing}")
