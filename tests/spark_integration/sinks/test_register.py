import pytest
from pyspark.sql import SparkSession

from partitioning.errors import MissingDependencyError
from spark_integration import register, sinks


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("pyspark.sql.datasource", "needs Spark 4.0 or newer"),
        ("confluent_kafka", "pip install 'copartition\\[kafka\\]'"),
    ],
)
def test_what_is_missing_is_said(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, module: str, message: str
) -> None:
    found = sinks.find_spec
    monkeypatch.setattr(sinks, "find_spec", lambda name: None if name == module else found(name))
    if module == "confluent_kafka" and found("pyspark.sql.datasource") is None:
        pytest.skip("this Spark lacks Python data sources in the first place")
    with pytest.raises(MissingDependencyError, match=message):
        register(spark)
