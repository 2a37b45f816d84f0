"""What a Spark write is given: options, columns, and rows that no topic has a place for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from spark_integration.sinks.options import read_sink_options
from spark_integration.sinks.records import NO_PARTITION, TYPES, as_batches, check_columns, records
from tools.fuzz.mutation import NUMBERS

if TYPE_CHECKING:
    from random import Random

try:
    import pyarrow as pa
except ModuleNotFoundError:
    pa = None

NAMES = [
    "topic",
    "Topic",
    "topics",
    "partitions",
    "bootstrap.servers",
    "kafka.bootstrap.servers",
    "KAFKA.bootstrap.servers",
    "kafka.",
    "kafka.acks",
    "kafka.transactional.id",
    "kafka.message.timeout.ms",
    "kafka.sasl.password",
    "path",
    "checkpointLocation",
    "",
    "\0",
    "²",
]
VALUES = ["", " ", "localhost:9092", "orders", "true", "\x1b[2J", "\ud800", *map(bytes.decode, NUMBERS)]
VARIABLES = ["KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SASL_PASSWORD", "KAFKA_SASL_", "KAFKA_", "HOME"]

COLUMNS = [*TYPES, "Value", "offset", ""]
COLUMN_TYPES = sorted({kind for kinds in TYPES.values() for kind in kinds} | {"bigint", "void", ""})

COUNTS = {"orders": 3, "payments": 1, "": 2}
TOPICS = [*COUNTS, "missing", None]
PARTITIONS = [None, 0, 1, 2, 3, -1, 2**31 - 1, -(2**31)]
BYTES = [None, b"", b"k", b"\xff" * 9]
MICROSECONDS = [None, 1_767_225_600_000_000, 999, 0, -1, 253_402_300_799_999_999, 2**63 - 1, -(2**63)]
HEADERS = [None, [], [("a", b"1")], [("a", None), ("a", b"")], [(None, b"1")]]


def make_options(rng: Random) -> tuple[dict[str, str], dict[str, str]]:
    def some(names: list[str]) -> dict[str, str]:
        return {rng.choice(names): rng.choice(VALUES) for _ in range(rng.randrange(5))}

    return some(NAMES), some(VARIABLES)


def check_options(case: tuple[dict[str, str], dict[str, str]]) -> None:
    options, environment = case
    found = read_sink_options(options, environment)
    assert found.config["bootstrap.servers"]
    assert found.partitions is None or 1 <= found.partitions < 2**31
    secrets = {value for name, value in found.config.items() if "password" in name and len(value) > 3}
    shown = "\0".join(
        value for name, value in options.items() if "password" not in name
    )  # may have the same text
    assert not any(secret in repr(found) and secret not in shown for secret in secrets)


def make_columns(rng: Random) -> tuple[dict[str, str], str | None]:
    columns = {rng.choice(COLUMNS): rng.choice(COLUMN_TYPES) for _ in range(rng.randrange(5))}
    for name in rng.sample([*TYPES], 3):
        columns[name] = rng.choice(TYPES[name])
    return columns, rng.choice(TOPICS)


def check_write_columns(case: tuple[dict[str, str], str | None]) -> None:
    columns, topic = case
    check_columns(columns, topic=topic)
    assert "value" in columns
    assert all(kind in TYPES[name] for name, kind in columns.items())


def make_rows(rng: Random) -> tuple[dict[str, list[Any]], str | None, int | None]:
    length = rng.choice((0, 1, 2, 3, 17))
    wild = rng.random() < 0.5

    def column(sound: list[Any], hostile: list[Any]) -> list[Any]:
        return [rng.choice(hostile if wild and rng.random() < 0.2 else sound) for _ in range(length)]

    columns = {
        "value": column(BYTES, BYTES),
        "key": column(BYTES, BYTES),
        "topic": column(["orders"], TOPICS),
        "partition": column([None, 0, 1, 2], PARTITIONS),
        "timestamp": column(MICROSECONDS[:2], MICROSECONDS),
        "headers": column(HEADERS[:4], HEADERS),
    }
    kept = {name: values for name, values in columns.items() if name == "value" or rng.random() < 0.7}
    topic = None if "topic" in kept else rng.choice([*COUNTS])
    return kept, topic, rng.choice((None, 3, 3, 1, 2**31 - 1))


def check_rows(case: tuple[dict[str, list[Any]], str | None, int | None]) -> None:
    if pa is None:
        return
    columns, topic, computed_for = case
    batch = _batch(columns)
    (same,) = as_batches(iter([batch]))
    found = list(zip(*records(same, COUNTS, topic, computed_for), strict=False))
    asked = columns.get("partition", [None] * batch.num_rows)
    assert sorted(record[3] for record in found) == sorted(
        NO_PARTITION if partition is None else partition for partition in asked
    )
    assert sorted(map(repr, (record[1] for record in found))) == sorted(map(repr, columns["value"]))
    for place, _, _, partition, *rest in found:
        assert -1 <= partition < COUNTS[place]
        assert not rest or rest[2] >= 0


def _batch(columns: dict[str, list[Any]]) -> pa.RecordBatch:
    types = {
        "value": pa.binary(),
        "key": pa.binary(),
        "topic": pa.string(),
        "partition": pa.int32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "headers": pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])),
    }
    headers = columns.get("headers")
    if headers is not None:
        named = [pairs and [{"key": key, "value": value} for key, value in pairs] for pairs in headers]
        columns = columns | {"headers": named}
    return pa.record_batch({name: pa.array(values, types[name]) for name, values in columns.items()})


TARGETS = {
    "sink-options": (make_options, check_options),
    "sink-columns": (make_columns, check_write_columns),
    "sink-rows": (make_rows, check_rows),
}
