"""A driver: `python -m benchmarks.reshape.job FOLDER` answers each line of stdin with one of JSON.

A line is the JSON of what to `do` and of the topics that it is done `on`: "copy", which answers with each
round before the end, "write" and "connector" with Spark's own connector, "prove", and "command", which runs
`copartition reshape` with more arguments in this process, as a person would.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from benchmarks.reshape.cpu import cpu_s
from copartition.reshape.command import reshape
from spark_integration import CopyRound, kafka_partition, prove, register, reshape_copy
from spark_integration.errors import typed_error
from tests.support.spark import start_spark
from tests.support.warm_python import warm_python


def main() -> None:
    # In local mode a task that failed is tried again only where the master says so.
    os.environ["SPARK_TEST_MASTER"] = "local[2,4]"
    # The JVM and Spark's workers get a stdout of their own, else whoever waits for an answer of a Python that
    # was killed would wait for them to end, too.
    sys.stdout = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(2, 1)
    folder = Path(sys.argv[1])
    folder.mkdir()
    # A busy machine needs more than the 10 s for which Spark waits for a Python to start.
    (folder / "python").mkdir()
    with warm_python(folder / "python") as python:
        serve(start_spark(folder, memory="2g", python=python))


def serve(spark: SparkSession) -> None:
    """Do what the lines say."""
    register(spark)
    say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        begin, cpu = time.monotonic(), cpu_s(os.getpid())
        try:
            answer = DO[asked["do"]](spark, asked["on"], asked)
        except Exception as error:  # noqa: BLE001 - it is said, and asked again
            answer = {"failed": str(typed_error(error) or error)[:2000]}
        took = {"s": time.monotonic() - begin, "cpu_s": cpu_s(os.getpid()) - cpu, "load": os.getloadavg()[0]}
        say(answer | {"done": asked["do"]} | took)


def say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def write(spark: SparkSession, settings: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Write numbered records with Spark's own connector, placed by the rule of the old topic's writers."""
    ids = spark.range(asked["first"], asked["first"] + asked["count"], 1, 2)
    key = sf.concat(sf.lit("user-"), sf.floor(settings["keys"] * sf.pow(sf.rand(7), 3)).cast("string"))
    value = sf.concat(sf.lit("spark:"), sf.col("id").cast("string"))
    rows = ids.select(key.alias("key"), value.alias("value"))
    place = kafka_partition("key", settings["old_count"], profile=settings["old_profile"])
    writer = rows.select("*", place).write.format("kafka").option("topic", settings["old"])
    writer.option("kafka.bootstrap.servers", settings["servers"]).mode("append").save()
    return {}


def copy(spark: SparkSession, settings: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    begin = time.monotonic()

    def after(done: CopyRound) -> None:
        nonlocal begin
        say(
            {
                "round": done.number,
                "copied": done.copied,
                "behind": done.behind,
                "s": time.monotonic() - begin,
            }
        )
        if asked.get("also_write") and done.behind > asked["until_behind"]:
            write(spark, settings, {"first": 10**9 + 10**6 * done.number, "count": asked["also_write"]})
        begin = time.monotonic()

    last = reshape_copy(
        spark,
        settings["old"],
        settings["new"],
        config={"bootstrap.servers": settings["servers"]},
        checkpoint=settings["checkpoint"],
        profile=settings["new_profile"],
        until_behind=asked["until_behind"],
        on_round=after,
    )
    return {"ends": last.ends}


def connector_copy(spark: SparkSession, settings: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Copy once with Spark's own source and sink: at least once, without order or timestamps."""
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", settings["servers"])
    rows = (
        source.option("subscribe", settings["old"])
        .option("startingOffsets", "earliest")
        .option("includeHeaders", "true")
        .option("kafka.isolation.level", "read_committed")
        .load()
    )
    writer = rows.select("key", "value", "headers").writeStream.format("kafka")
    writer = writer.option("kafka.bootstrap.servers", settings["servers"]).option("topic", asked["topic"])
    query = writer.option("checkpointLocation", asked["checkpoint"]).trigger(availableNow=True).start()
    query.awaitTermination()
    return {}


def command(_spark: SparkSession, settings: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """Run the command; it takes the session that is there. Fails unless its exit code is 0."""
    arguments = [settings["old"], "--to", settings["new"], "--partitions", str(settings["new_count"])]
    arguments += ["--profile", settings["new_profile"], "-b", settings["servers"], *asked["options"]]
    result = CliRunner().invoke(reshape, arguments)
    if result.exit_code:
        return {"failed": f"exit code {result.exit_code}: {result.stderr}{result.exception}"}
    return {"printed": result.stdout}


def check(spark: SparkSession, settings: dict[str, Any], _asked: dict[str, Any]) -> dict[str, Any]:
    proof = prove(
        spark,
        settings["old"],
        settings["new"],
        config={"bootstrap.servers": settings["servers"]},
        profile=settings["new_profile"],
    )
    names = (
        "records",
        "keys",
        "lost",
        "doubled",
        "changed",
        "unmatched",
        "out_of_order",
        "misplaced",
        "strays",
    )
    return {
        "holds": proof.holds,
        "examples": proof.examples,
        **{name: getattr(proof, name) for name in names},
    }


DO = {"write": write, "copy": copy, "connector": connector_copy, "command": command, "prove": check}

if __name__ == "__main__":
    main()
