"""A consumer group's scenario, run many times over a cluster."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from assignors import get_assignor
from assignors.errors import ScenarioError
from assignors.simulation import RunSummary, simulate_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from assignors.simulation import Scenario

COLUMNS = {"run": "bigint"} | {
    field.name: "bigint" if field.type == "int" else "double" for field in fields(RunSummary)
}


def simulate_rebalances(
    spark: SparkSession, scenario: Scenario, runs: int, *, tasks: int | None = None
) -> DataFrame:
    """A row for each run of a scenario: `run`, and the fields of `assignors.simulation.RunSummary`.

    Run i has the seed `scenario.seed + i`, so the rows are the same for any number of tasks, and when a task
    is run again. Nothing runs before the frame is used; cache it to use it twice. Executors need this
    package.

    Args:
        spark: a session, classic or Connect.
        scenario: the group and what happens to it.
        runs: how many runs, 1 or more.
        tasks: Spark tasks that share them, by default one a core. A task costs 50 to 80 ms before it does
            anything, so give it a second of work or more.

    Raises:
        ScenarioError: `runs` or `tasks` is below 1, or the seeds go beyond 2**63 - 1.
        UnknownStrategyError: there is no strategy of the scenario's name.
    """
    if runs < 1 or (tasks is not None and tasks < 1):
        raise ScenarioError(f"{runs} runs in {tasks} tasks: give at least 1 of each")
    if scenario.seed + runs > 2**63:
        raise ScenarioError(f"the seed is {scenario.seed}; with {runs} runs it must leave room below 2**63")
    get_assignor(scenario.assignor)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on executors

        types = {"bigint": pa.int64(), "double": pa.float64()}
        schema = pa.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
        for batch in batches:
            seeds = [scenario.seed + number for number in batch.column(0).to_pylist()]
            rows = [_row(scenario, result.summary) for result in simulate_seeds(scenario, seeds)]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    return spark.range(0, runs, 1, tasks).mapInArrow(run, columns)


def _row(scenario: Scenario, summary: RunSummary) -> dict[str, int | float]:
    values = {field.name: getattr(summary, field.name) for field in fields(RunSummary)}
    return {"run": summary.seed - scenario.seed, **values}
