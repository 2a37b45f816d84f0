"""What many runs say together."""

import math
import threading
import time

import numpy as np
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from spark_integration import percentiles, progress
from spark_integration.errors import ColumnError

PAUSES = [0.1, 4.0, 2.5, 99.0, 1e9, 7.0]


@pytest.fixture
def runs(spark: SparkSession) -> DataFrame:
    """Two cells of six runs; those of records have no value in one of them, and no end in the other."""
    rows = [
        (members, run, 7 + run, pause * members, run % 3, math.inf if members == 4 and run < 4 else None)
        for members in (10, 4)
        for run, pause in enumerate(PAUSES)
    ]
    return spark.createDataFrame(
        rows,
        "members long, run long, seed long, longest_pause_ms double, rebalances long, recovery_ms double",
    )


@pytest.mark.every_spark
def test_percentiles_are_exact_and_values_that_runs_had(runs: DataFrame) -> None:
    rows = {(row.members, row.figure): row for row in percentiles(runs).collect()}
    for members in (4, 10):
        row = rows[members, "longest_pause_ms"]
        expected = np.percentile(np.array(PAUSES) * members, [50, 95], method="inverted_cdf")
        assert [row.median, row.p95] == expected.tolist()
        assert row.runs == 6


def test_cells_and_figures_come_in_order_and_those_without_values_not(runs: DataFrame) -> None:
    rows = [(row.members, row.figure) for row in percentiles(runs).collect()]
    assert rows == [
        (4, "rebalances"),
        (4, "longest_pause_ms"),
        (4, "recovery_ms"),
        (10, "rebalances"),
        (10, "longest_pause_ms"),
    ]


def test_what_never_ends_is_infinite(runs: DataFrame) -> None:
    (row,) = percentiles(runs).where("figure = 'recovery_ms'").collect()
    assert row == Row(members=4, figure="recovery_ms", runs=4, median=math.inf, p95=math.inf)


def test_cells_are_those_that_are_asked_for(runs: DataFrame) -> None:
    (row,) = percentiles(runs, by=[]).where("figure = 'longest_pause_ms'").collect()
    assert row.runs == 12


@pytest.mark.parametrize(
    ("columns", "by", "message"),
    [
        (["members", "run"], None, "no figure of a run, only members, run"),
        (
            ["members", "rebalances"],
            ["assignor"],
            r"columns of the frame \(members, rebalances\), not 'assignor'",
        ),
        (["members", "rebalances"], "members", "not 'members'"),
    ],
)
def test_percentiles_of_what_is_not_there_are_refused(
    runs: DataFrame, columns: list[str], by: list[str] | None, message: str
) -> None:
    with pytest.raises(ColumnError, match=message):
        percentiles(runs.select(*columns), by=by)


@pytest.mark.every_spark
@pytest.mark.needs("progress")
def test_progress_counts_finished_tasks(spark: SparkSession) -> None:
    def rest(batches):
        for batch in batches:
            time.sleep(0.3)
            yield batch

    told: list[tuple[int, int]] = []
    with progress(spark, lambda *counts: told.append(counts)):
        spark.range(0, 6, 1, 6).mapInArrow(rest, "id long").collect()
    assert told == sorted(told)
    assert {tasks for _, tasks in told} == {6}
    assert len(told) > 1
    assert progress.__name__ not in {thread.name for thread in threading.enumerate()}
