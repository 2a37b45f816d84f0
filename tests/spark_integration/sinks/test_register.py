import pytest
from pyspark.sql import SparkSession

from partitioning.errors import MissingDependencyError
from spark_integration import register, sinks


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("pyspark.sql.datasource", "needs Spark 4.0 or newer"),
        pytest.param(
            "confluent_kafka",
            "pip install 'copartition\\[kafka\\]'",
            marks=pytest.mark.needs("data sources"),
        ),
    ],
)
def test_what_is_missing_is_said(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, module: str, message: str
) -> None:
    found = sinks.find_spec
    monkeypatch.setattr(sinks, "find_spec", lambda name: None if name == module else found(name))
    with pytest.raises(MissingDependencyError, match=message):
        register(spark)
