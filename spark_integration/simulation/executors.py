"""Whether executors have what a task needs; where they have not, Spark would say so in a trace of Java's."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark import cloudpickle

from partitioning.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession


class Fault(NamedTuple):
    """What an executor could not do.

    Attributes:
        number: the number that it was tried with.
        text: the error's class and message.
    """

    number: int
    text: str

    def missing(self) -> MissingDependencyError:
        """The error where the driver itself can do it."""
        return MissingDependencyError(
            f"executors cannot run this ({self.text}): send them this package with ship(spark), or install "
            "what is installed here on them, this package in its version and those of its plug-ins, with "
            "entry points in copartition.assignors"
        )


def first_fault(
    spark: SparkSession, task: Callable[..., object], attempt: Callable[[int], object], numbers: int
) -> Fault | None:
    """Have executors read a task, and attempt something with each number from 0; the lowest that fails."""
    pickled = cloudpickle.dumps((task, attempt))  # type: ignore[no-untyped-call]
    rows = spark.range(0, numbers).mapInArrow(faults_of(pickled), "number bigint, text string").collect()
    return min((Fault(row.number, row.text) for row in rows), default=None)


def faults_of(pickled: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The first fault of each task (a pickled task to be read, and what to attempt), or none.

    It runs where this package is not.
    """

    def faults(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle  # noqa: PLC0415 - on executors

        import pyarrow as pa  # noqa: PLC0415

        attempt = None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    attempt = attempt or pickle.loads(pickled)[1]  # noqa: S301 - Spark will read the same
                    attempt(number)
                except Exception as error:  # noqa: BLE001 - whatever it is, the driver reports it
                    text = f"{type(error).__name__}: {error}"
                    yield pa.RecordBatch.from_pydict({"number": [number], "text": [text]})
                    return

    return faults
