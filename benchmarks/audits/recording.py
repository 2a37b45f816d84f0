"""What was written, kept: the records in a Parquet file, and beside it which phase wrote what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.audits.reading import read
from benchmarks.audits.writing import SETTINGS, write
from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.audits.cells import Cell
    from benchmarks.audits.reading import Columns

RECORDED = Path(__file__).parent / "recorded.parquet"
MEASURED = Path(__file__).parent / "measured.json"
SCHEMA = pa.schema(
    [
        ("topic", pa.dictionary(pa.int16(), pa.string())),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp_ms", pa.int64()),
        ("key", pa.binary()),
    ]
)


def record(cells: Sequence[Cell]) -> None:
    """Have the clients write these topics, and keep all that is in them."""
    with Broker(SETTINGS) as broker:
        ends = write(cells, broker.bootstrap_servers)
        read_all = {cell.topic: read(broker.bootstrap_servers, cell.topic) for cell in cells}
    pq.write_table(
        pa.concat_tables(as_table(topic, columns) for topic, columns in read_all.items()),
        RECORDED,
        compression="zstd",
        compression_level=19,
        use_dictionary=["topic", "partition", "key"],
        column_encoding={"offset": "DELTA_BINARY_PACKED", "timestamp_ms": "DELTA_BINARY_PACKED"},
    )
    lines = (f"{json.dumps(topic)}: {json.dumps(ends[topic])}" for topic in ends)
    MEASURED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def as_table(topic: str, columns: Columns) -> pa.Table:
    """The records of a topic as they are kept."""
    return pa.table([pa.array([topic] * len(columns.offset), SCHEMA.types[0]), *columns], schema=SCHEMA)


def record_topics() -> dict[str, pa.Table]:
    """The records of each topic, by partition and offset."""
    table = pq.read_table(RECORDED, schema=SCHEMA)
    return {
        topic: table.filter(pc.equal(table["topic"], topic)).combine_chunks()
        for topic in table["topic"].unique().to_pylist()
    }


def phase_ends() -> dict[str, list[list[int]]]:
    """The end offsets of each topic's partitions after each of its phases."""
    ends: dict[str, Any] = json.loads(MEASURED.read_text())
    return ends
