"""A digest of records in their order, whatever batches they come in."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_NO_TIME = -(2**63)


class Content:
    """The records of one partition so far: how many they are, and a digest of exactly these.

    Of each column the lengths are hashed for themselves and the bytes for themselves: whole columns at a
    time, without a loop over records, and with the same result wherever a batch is cut. A column that is
    missing is one of nulls.
    """

    def __init__(self) -> None:
        self.records = 0
        self._streams: dict[str, Any] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Take note of the next records."""
        import pyarrow as pa  # noqa: PLC0415 - executors unpickle this class by value

        kinds = {
            "key": pa.binary(),
            "value": pa.binary(),
            "headers": pa.list_(pa.struct({"key": pa.string(), "value": pa.binary()})),
            "timestamp": pa.timestamp("us"),
        }
        for name, kind in kinds.items():
            present = name in batch.schema.names
            self._add(name, batch.column(name) if present else pa.nulls(batch.num_rows, kind))
        self.records += batch.num_rows

    def digest(self) -> str:
        """Of the records so far."""
        whole = sha256()
        for name in sorted(self._streams):
            whole.update(name.encode() + b"=" + self._streams[name].digest())
        return whole.hexdigest()

    def _add(self, name: str, column: pa.Array) -> None:
        import numpy as np  # noqa: PLC0415 - as above
        import pyarrow as pa  # noqa: PLC0415
        import pyarrow.compute as pc  # noqa: PLC0415

        if pa.types.is_timestamp(column.type):
            self._hash(name, column.cast(pa.int64()).fill_null(_NO_TIME).to_numpy())
            return
        nested = pa.types.is_nested(column.type)
        lengths = (pc.list_value_length if nested else pc.binary_length)(column)
        self._hash(f"{name}.length", lengths.cast(pa.int64()).fill_null(-1).to_numpy())
        present = column.drop_null() if column.null_count else column
        if nested:
            for field in ("key", "value"):
                self._add(f"{name}.{field}", pc.struct_field(present.flatten(), field))
            return
        _, offsets, data = present.buffers()
        if not len(present) or data is None:
            self._hash(f"{name}.data", b"")
            return
        wide = pa.types.is_large_binary(column.type) or pa.types.is_large_string(column.type)
        ends = np.frombuffer(offsets, np.int64 if wide else np.int32)[present.offset :]
        self._hash(f"{name}.data", memoryview(data)[ends[0] : ends[len(present)]])

    def _hash(self, name: str, data: Any) -> None:
        self._streams.setdefault(name, sha256()).update(data)
