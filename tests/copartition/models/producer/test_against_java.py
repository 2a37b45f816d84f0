"""The batching model against a real Java producer on a real broker: figures of tests/golden/producer."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from copartition.models import BatchingSettings, BrokerTimes, simulate_batching
from partitioning import get_partitioner, partition_batch
from partitioning.strategy import seeded_source

FIGURES = Path(__file__).parents[3] / "golden" / "producer" / "figures.jsonl"
MEASURED = [json.loads(line) for line in FIGURES.read_text().splitlines()]


def name_of(measured: dict[str, Any]) -> str:
    return "-".join(f"{value}" for value in measured["case"].values())


@pytest.mark.slow
@pytest.mark.parametrize("measured", MEASURED, ids=name_of)
def test_records_per_batch_agree_within_a_tenth(measured: dict[str, Any]) -> None:
    case = measured["case"]
    records, partitions = case["records"], case["partitions"]
    placed, key_bytes, unkeyed = np.full(records, -1), -1, None
    if case["placement"] == "keyed":
        keys = [b"user-%05d" % (row * 7919 % 10007) for row in range(records)]
        placed, key_bytes = partition_batch(keys, partitions), len(keys[0])
    elif case["placement"] == "round-robin":
        unkeyed = get_partitioner("round-robin").for_topic("t")
    else:
        sticky = get_partitioner("sticky", batch_size=case["batch_size"], random=seeded_source(1))
        unkeyed = sticky.for_topic("t")
    result = simulate_batching(
        np.arange(records) * 1000 / case["records_per_second"],
        case["value_bytes"],
        placed,
        leaders=[0] * partitions,
        brokers=[BrokerTimes(latency_ms=2)],
        unkeyed=unkeyed,
        key_bytes=key_bytes,
        settings=BatchingSettings(
            batch_size=case["batch_size"],
            linger_ms=case["linger_ms"],
            max_in_flight_requests_per_connection=case["max_in_flight_requests_per_connection"],
        ),
    )
    quietest = measured["runs"][0]
    assert result.records_per_batch == pytest.approx(quietest["records_per_batch"], rel=0.1)


def test_every_placement_was_measured() -> None:
    assert {measured["case"]["placement"] for measured in MEASURED} == {"keyed", "unkeyed", "round-robin"}
