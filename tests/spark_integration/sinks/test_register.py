import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from partitioning.errors import InvalidConfigError, MissingDependencyError
from spark_integration import register, session

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("pyspark.sql.datasource", "needs Spark 4.0 or newer"),
        pytest.param(
            "confluent_kafka", "pip install '.*\\[kafka\\]'", marks=pytest.mark.needs("data sources")
        ),
    ],
)
def test_what_is_missing_is_said(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, module: str, message: str
) -> None:
    found = session.find_spec
    monkeypatch.setattr(session, "find_spec", lambda name: None if name == module else found(name))
    with pytest.raises(MissingDependencyError, match=message):
        register(spark)


@pytest.mark.every_spark
@pytest.mark.needs("data sources")
def test_spark_finds_the_source_where_it_is_installed(spark: SparkSession) -> None:
    # Not every Connect has a call for another session.
    other = (
        spark.newSession()
        if hasattr(spark, "newSession")
        else type(spark)(f"sc://{spark.client._builder.endpoint}")
    )
    with pytest.raises(PySparkException, match="no brokers: give the option"):
        other.read.format("copartition").option("subscribe", "orders").load().collect()


def test_a_virtual_environment_that_is_not_activated_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    context = Mock(master="local[2]", pythonExec="python3")
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(session.sys, "prefix", "/an/environment")
    monkeypatch.setattr(session.sys, "executable", "/an/environment/bin/python")
    monkeypatch.setattr(session.shutil, "which", lambda _: "/an/environment/bin/python3")
    session._check_python(context)
    monkeypatch.setattr(session.shutil, "which", lambda _: "/usr/bin/python3")
    with pytest.warns(RuntimeWarning, match="Spark's workers run /usr/bin/python3, not"):
        session._check_python(context)
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")  # chosen
    session._check_python(context)
    monkeypatch.delenv("PYSPARK_PYTHON")
    context.master = "spark://host:7077"
    session._check_python(context)


class ExistingError(PySparkException):
    def getCondition(self) -> str:  # noqa: N802
        return "DATA_SOURCE_ALREADY_EXISTS"


class Registered:
    """A session as Spark 4.0 has it where the package is installed: it keeps to what it found itself."""

    def __init__(self, spark: SparkSession) -> None:
        self.read, self.dataSource, self.conf = spark.read, self, self
        self.asked = 0

    def get(self, _: str, default: None) -> None:
        return default

    def set(self, name: str, value: str) -> None:
        pass

    def register(self, source: type) -> None:
        self.asked += 1
        raise ExistingError(source.__name__)


@pytest.mark.every_spark
@pytest.mark.needs("data sources")
def test_what_spark_has_found_itself_needs_no_registering(spark: SparkSession) -> None:
    register(spark)
    register(spark)
    session = Registered(spark)
    register(session)
    assert session.asked == 1


@pytest.mark.needs("data sources")
def test_another_source_of_that_name_is_refused(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_integration import packed_source

    # By its module, which so has packed the class before it is changed.
    monkeypatch.setattr(packed_source.KafkaDataSource, "schema", lambda _: StructType())
    with pytest.raises(InvalidConfigError, match="has found another format"):
        register(Registered(spark))


@pytest.mark.live
@pytest.mark.needs("data sources")
@pytest.mark.parametrize(("missing", "found"), [("", "True"), ("confluent_kafka", "False")])
def test_the_module_that_spark_looks_for_never_fails(missing: str, found: str) -> None:
    code = (
        f"import sys; sys.modules[{missing!r}] = None; import pyspark_copartition as found; "
        "print(hasattr(found, 'DefaultSource') and found.DefaultSource.name() == 'copartition')"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == found
