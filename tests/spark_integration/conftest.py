"""A Spark session for every test here."""

import os
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

from tests.support.jars import missing_tools
from tests.support.spark import start_spark
from tests.support.spark_features import FEATURES, MISSING
from tests.support.warm_python import warm_python

left_out: Counter[str] = Counter()


def pytest_configure(config: pytest.Config) -> None:
    finds = "finds what may differ between versions of Spark, or between classic and Connect"
    config.addinivalue_line("markers", f"every_spark: {finds}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs Spark, and leave out what this Spark cannot do."""
    for item in list(items):
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker("spark")
        needed = [mark.args[0] for mark in item.iter_markers("needs")]
        assert FEATURES.keys() >= set(needed), f"{item.nodeid} needs {needed}, choose from {list(FEATURES)}"
        if missing := next(filter(MISSING.get, needed), None):
            left_out[MISSING[missing]] += 1
            items.remove(item)
            config.hook.pytest_deselected(items=[item])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for reason, tests in left_out.items():
        terminalreporter.write_line(f"left out: {tests} tests, {reason}")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Local Spark, with Spark's Kafka connector where it can be fetched."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java: install Java 17, and put java on the PATH or set JAVA_HOME")
    # Compiling is two fifths of the CPU time, and Spark waits up to 10 s only for a Python to start. So the
    # Python is a warm one, except where SPARK_TEST_PYTHON names another (`cluster`, the whole matrix), and
    # nothing is compiled, except in the whole matrix. The demo, a part of CI, saves neither.
    plain = "SPARK_TEST_PYTHON" in os.environ
    compiling = plain and "SPARK_TEST_MASTER" not in os.environ
    python = nullcontext() if plain else warm_python(tmp_path_factory.mktemp("python"))
    with python as workers:
        session = start_spark(tmp_path_factory.mktemp("spark"), python=workers, compiling=compiling)
        yield session
        session.stop()


@pytest.fixture
def connector(spark: SparkSession) -> None:
    """Spark's own Kafka source and sink."""
    if missing := missing_tools():
        pytest.skip(f"Spark's Kafka connector is fetched with Maven: {missing}")
