"""Whether executors have what a task needs; where they have not, Spark would say so in a trace of Java's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import cloudpickle

from partitioning.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession


def check_executors(spark: SparkSession, task: Callable[..., object], strategies: Iterable[str]) -> None:
    """Have one executor read a task and look its strategies up.

    Raises:
        MissingDependencyError: it cannot.
    """
    faults = lacking(cloudpickle.dumps(task), sorted(strategies))  # type: ignore[no-untyped-call]
    for row in spark.range(0, 1, 1, 1).mapInArrow(faults, "fault string").collect():
        raise MissingDependencyError(
            f"executors cannot run this ({row.fault}): send them this package with ship(spark), or install "
            "what is installed here on them, this package in its version and those of its plug-ins, with "
            "entry points in copartition.assignors"
        )


def lacking(
    task: bytes, strategies: list[str]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What keeps an executor from running this task: a row, or none. It runs where this package is not."""

    def faults(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle  # noqa: PLC0415 - on executors

        import pyarrow as pa  # noqa: PLC0415

        for _ in batches:
            try:
                pickle.loads(task)  # noqa: S301 - Spark will read the same bytes
                from assignors import get_assignor  # noqa: PLC0415

                for name in strategies:
                    get_assignor(name)
            except Exception as error:  # noqa: BLE001 - whatever it is, the driver is told
                yield pa.RecordBatch.from_pydict({"fault": [f"{type(error).__name__}: {error}"]})

    return faults
