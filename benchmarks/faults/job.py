"""A Spark driver that writes numbered records: `python -m benchmarks.faults.job NAME MASTER`.

It does what a careful user does: a write that fails is repeated with the same version, a stream that fails
is started again from its checkpoint, and so is the whole driver. Each line of its input is the folder of a
run, whose `plan.json` says what to write; a file `ended` in its own folder there says how it went.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from spark_integration import kafka_partition, register, route

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ATTEMPTS = 60
MEET_WITHIN_S = 90


def main(name: str, master: str) -> None:
    spark = SparkSession.builder.master(master).appName("faults").getOrCreate()
    register(spark)
    for line in sys.stdin:
        folder = Path(line.strip())
        job = _Job(spark, folder, folder / name, json.loads((folder / "plan.json").read_text()))
        job.own.mkdir(exist_ok=True)
        outcome = job.own / "outcome"
        try:
            job.stream() if job.plan["stream"] else job.writes()
            outcome.write_text("finished")
        except Exception as error:  # noqa: BLE001 - whoever gave out the run tells it
            outcome.write_text(f"failed: {error}"[:500])
        outcome.rename(job.own / "ended")


@dataclass
class _Job:
    """One run, as one driver has its part in it.

    Attributes:
        spark: the session.
        folder: of the run.
        own: of this driver there.
        plan: of the run.
    """

    spark: SparkSession
    folder: Path
    own: Path
    plan: dict[str, Any]

    def writes(self) -> None:
        """Write version after version, those that an earlier process has finished left out."""
        rows = self.plan["rows"]
        for version in range(self.plan["batches"]):
            if self._finish_file(version).exists():
                continue
            self._meet(version)
            numbers = self.spark.range(version * rows, (version + 1) * rows, 1, 2)
            for attempt in range(ATTEMPTS):
                try:
                    self._write(numbers.withColumnRenamed("id", "value"), version)
                    break
                except PySparkException as error:
                    self._note(error)
                    if attempt == ATTEMPTS - 1:
                        raise
                    time.sleep(0.5)
            self._finish_file(version).touch()

    def stream(self) -> None:
        """Write micro-batch after micro-batch: the source gives out the same numbers when one is repeated.

        Nothing sorts the rows of a stream that goes straight into the sink. There one task reads them, so
        that after the shuffle they come in the same order each time.
        """
        straight = self.plan["straight"]
        numbers = self.spark.readStream.format("rate-micro-batch").options(
            rowsPerBatch=self.plan["rows"],
            numPartitions=1 if straight else 2,
            startTimestamp=0,
            advanceMillisPerBatch=1,
        )
        last = self._finish_file(self.plan["batches"] - 1)
        for _ in range(ATTEMPTS):
            if straight:
                wanted = numbers.load().where(sf.col("value") < self.plan["batches"] * self.plan["rows"])
                writing = self._route(wanted).drop("order").writeStream.format("copartition")
                writing = writing.options(**self._options(exactlyOnce="true"))
            else:
                writing = numbers.load().writeStream.foreachBatch(self._micro_batch)
            query = writing.option("checkpointLocation", str(self.own / "checkpoint")).start()
            try:
                while query.isActive and not last.exists():
                    time.sleep(0.1)
                    if (
                        straight
                        and (query.lastProgress or {"batchId": -1})["batchId"] >= self.plan["batches"] - 1
                    ):
                        last.touch()
                if last.exists():
                    query.stop()
                    return
                query.awaitTermination()
            except PySparkException as error:
                self._note(error)
        raise RuntimeError(f"the stream did not end after {ATTEMPTS} attempts")

    def _micro_batch(self, batch: DataFrame, version: int) -> None:
        if version < self.plan["batches"]:
            self._write(batch.select("value"), version)
            self._finish_file(version).touch()

    def _write(self, numbers: DataFrame, version: int) -> None:
        # A task that has several partitions writes one after the other.
        records = self._route(numbers).sortWithinPartitions("partition", "order").drop("order")
        options = self._options(txnVersion=str(version))
        records.write.format("copartition").options(**options).mode("append").save()

    def _options(self, **once: str) -> dict[str, str]:
        """Those of the sink, and those of exactly once if that is asked for."""
        options = {"kafka.bootstrap.servers": self.plan["servers"], "topic": self.plan["topic"]}
        return options | {"txnAppId": self.plan["topic"], **once} if self.plan["exactly_once"] else options

    def _route(self, numbers: DataFrame) -> DataFrame:
        plan, number = self.plan, sf.col("value")
        keyed = numbers.select(
            sf.concat(sf.lit("key-"), number % plan["keys"]).alias("key"),
            sf.concat(sf.floor(number / plan["keys"]), sf.lit(" " + "x" * plan["padding"])).alias("value"),
            number.alias("order"),
        )
        placed = keyed.withColumn("partition", kafka_partition("key", plan["partitions"]))
        return route(placed, plan["partitions"], tasks=plan["tasks"])

    def _meet(self, version: int) -> None:
        """Wait until every driver is about to write this version, or takes too long."""
        name = f"begun-{version:03}"
        (self.own / name).touch()
        deadline = time.monotonic() + MEET_WITHIN_S
        while len([*self.folder.glob(f"*/{name}")]) < self.plan["drivers"] and time.monotonic() < deadline:
            time.sleep(0.01)

    def _finish_file(self, version: int) -> Path:
        """The file that says that this driver has written a version."""
        return self.own / f"finished-{version:03}"

    def _note(self, error: PySparkException) -> None:
        """Keep why a write failed, in one line."""
        lines = [line.strip() for line in str(error).splitlines() if "Error: " in line] or [str(error)[:300]]
        with (self.own / "errors.txt").open("a") as errors:
            errors.write(lines[-1] + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
