"""The examples in the docstrings of the public names run."""

import re
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pyspark.sql import SparkSession

import spark_integration
from copartition import Scenario
from partitioning import partition_for_key
from tests.support.broker import Kafka
from tests.support.docstrings import assert_shown, examples

pytestmark = [pytest.mark.needs(feature) for feature in ("data sources", "classic", "time")]

TEXTS = {
    name: "\n".join(examples("spark_integration", name))
    for name, home in spark_integration._HOME.items()
    if home != "errors"
}
ON_A_CLUSTER = [name for name, text in TEXTS.items() if re.search(r"\bconfig\b", text)]
CRASH = {"event": "crash", "at_ms": "1 min", "consumer": "worker-1"}
PACKAGES = "spark.jars.packages"
WIDER = '"orders-18"'
"""An empty topic beside "orders"."""


@pytest.fixture(scope="module")
def names(spark: SparkSession) -> dict[str, Any]:
    """What the examples use; the docstring of the package says what it is."""
    ends: Counter[int] = Counter()
    records = []
    for number in range(100):
        key = f"user-{number}"
        partition = partition_for_key(key.encode(), 12)
        records.append((key, str(number), partition, ends[partition]))
        ends[partition] += 1
    columns = "key string, value string, partition int, offset bigint"
    rows = spark.createDataFrame(records, columns).coalesce(1)
    return {
        **{name: getattr(spark_integration, name) for name in TEXTS},
        "spark": spark,
        "df": rows.select("key", "value"),
        "records": rows.select("key", "partition", "offset"),
        "scenario": Scenario.from_dict({"topics": {"orders": 4}, "consumers": 2, "events": [CRASH]}),
    }


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in ON_A_CLUSTER])
def test_the_examples_of_a_public_name_run(name: str, names: dict[str, Any]) -> None:
    assert_shown(TEXTS[name], names)
    if PACKAGES in TEXTS[name]:
        names["spark"]._jsparkSession.sessionState().conf().unsetConf(PACKAGES)


# What these functions do is tested where each has its own tests.
@pytest.mark.slow
@pytest.mark.parametrize("name", ON_A_CLUSTER)
def test_the_examples_of_a_public_name_run_on_a_cluster(
    name: str, names: dict[str, Any], broker: Kafka, tmp_path: Path
) -> None:
    # The broker is everybody's: topics and writers have names of their own.
    text = TEXTS[name].replace('"orders"', repr(broker.create_topic(12))).replace('"shop"', f'"{uuid4()}"')
    if WIDER in text:
        text = text.replace(WIDER, repr(broker.create_topic(18)))
    folder = str(tmp_path / "checkpoint")
    assert_shown(text, {**names, "config": {"bootstrap.servers": broker.bootstrap_servers}, "folder": folder})
