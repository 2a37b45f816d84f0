"""Serialize keys as the Java client does, as binary columns for `kafka_partition` and for the sinks.

Kafka hashes the serialized key. The number 21 as a long, as an int and as text are three different keys,
usually in three different partitions. A key of a schema registry (Avro, JSON Schema, Protobuf) begins with
the id of its schema, so it must be serialized by that registry's own serializer first.

`partitioning.serializers` makes the same bytes for a single key.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as sf

from partitioning.serializers import UUID_PATTERN, big_endian
from spark_integration.errors import (
    SERIALIZERS,
    ColumnError,
    RecordError,
    error_text,
    serializing_advice,
)
from spark_integration.hash_columns import ArrowFunction, column_function
from spark_integration.shipping import send_by_value

send_by_value("partitioning.serializers")  # a UDF below uses `big_endian` of it


def key_bytes(column: Column | str) -> Column:
    """Return the bytes of a string or binary column; if the column has another type, tasks that read it fail.

    If the column is a struct, an array or a map, Spark itself refuses to plan the query.
    """
    value = _column(column)
    advice = sf.lit(serializing_advice("any other"))
    for spark_type in SERIALIZERS:
        own = sf.lit(serializing_advice(spark_type))
        advice = sf.when(sf.typeof(value) == spark_type, own).otherwise(advice)
    # `concat` turns other types into text, so that the query can be planned and a task fails with our advice.
    # A direct cast of a number to binary would be refused by Spark with the advice to turn ANSI mode off, and
    # then other bytes would be hashed. `try_cast` would turn a variant into null, and so into a missing key.
    return _require_type(
        "kafka_partition", value, ("string", "binary"), sf.concat(value).cast("binary"), advice
    )


def string_key(column: Column | str) -> Column:
    """Return the UTF-8 bytes of a string column, as `StringSerializer` writes them."""
    value = _column(column)
    return _require_type("string_key", value, ("string",), value.cast("binary"))


def short_key(column: Column | str) -> Column:
    """Return a tinyint or smallint column as two bytes, big-endian, as `ShortSerializer` writes it."""
    return _integer("short_key", column, ("tinyint", "smallint"), 2)


def integer_key(column: Column | str) -> Column:
    """Return an int column or a narrower one as four bytes, big-endian, as `IntegerSerializer` writes it."""
    return _integer("integer_key", column, ("tinyint", "smallint", "int"), 4)


def long_key(column: Column | str) -> Column:
    """Return a bigint column or a narrower one as eight bytes, big-endian, as `LongSerializer` writes it."""
    return _integer("long_key", column, ("tinyint", "smallint", "int", "bigint"), 8)


def float_key(column: Column | str) -> Column:
    """Return a float column as four bytes, big-endian, as `FloatSerializer` writes it."""
    return _floating("float_key", column, ("float",), pa.float32())


def double_key(column: Column | str) -> Column:
    """Return a double or float column as eight bytes, big-endian, as `DoubleSerializer` writes it.

    Every NaN becomes the same key.
    """
    return _floating("double_key", column, ("float", "double"), pa.float64())


def uuid_key(column: Column | str) -> Column:
    """Return the bytes of a text column of UUIDs, 36 characters each, as `UUIDSerializer` writes them.

    Letters become lower case. A task fails at a text that is no UUID.
    """
    value = _column(column)
    fault = sf.raise_error(sf.concat(sf.lit(error_text(RecordError, "uuid_key() takes UUIDs, not ")), value))
    checked = sf.when(value.isNull() | value.rlike(f"^{UUID_PATTERN}$"), sf.lower(value)).otherwise(fault)
    return _require_type("uuid_key", value, ("string",), checked.cast("binary"))


def _integer(name: str, column: Column | str, types: tuple[str, ...], size: int) -> Column:
    """Return the big-endian bytes of an integer column; null for null.

    Args:
        name: name of the public function, for messages.
        column: the column or its name.
        types: the Spark types that it may have.
        size: number of bytes of a key.
    """
    value = _column(column)
    # The mask keeps the lowest `size` bytes, the number in two's complement. Without it the hex of a
    # negative number would always have the eight bytes of a bigint.
    unsigned = value.cast("bigint").bitwiseAND(2 ** (8 * size) - 1) if size < 8 else value.cast("bigint")
    return _require_type(name, value, types, sf.unhex(sf.lpad(sf.hex(unsigned), 2 * size, "0")))


def _floating(name: str, column: Column | str, types: tuple[str, ...], arrow_type: pa.DataType) -> Column:
    """Return the big-endian bytes of a floating-point column; null for null.

    Args:
        name: name of the public function, for messages and query plans.
        column: the column or its name.
        types: the Spark types that it may have.
        arrow_type: float32 or float64, the type that is serialized.
    """
    value = _column(column)
    number = value.cast("float" if arrow_type == pa.float32() else "double")
    to_bytes = column_function(name, _big_endian(arrow_type), arrow_type, pa.binary(), "binary")
    # In pandas a null is a NaN, and the bytes of that NaN would be returned. So nulls are put back here.
    return _require_type(name, value, types, sf.when(value.isNotNull(), to_bytes(number)))


def _big_endian(arrow_type: pa.DataType) -> ArrowFunction:
    """Return a function that serializes an Arrow array of numbers, big-endian; a null as if it were 0."""
    size = arrow_type.bit_width // 8

    def to_bytes(numbers: pa.Array) -> pa.Array:
        values = numbers.fill_null(0).to_numpy(zero_copy_only=False)
        offsets = np.arange(0, size * (len(values) + 1), size, dtype=np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(big_endian(values, size))]
        return pa.Array.from_buffers(pa.binary(), len(values), buffers)

    to_bytes.__annotations__ = {"numbers": pa.Array, "return": pa.Array}
    return to_bytes


def _require_type(
    name: str, value: Column, types: tuple[str, ...], serialized: Column, advice: Column | None = None
) -> Column:
    """Return the serialized column; if the column has another type, tasks fail at their first row.

    Args:
        name: name of the public function, for the message.
        value: the column before it is serialized.
        types: the Spark types that it may have.
        serialized: the binary column to return.
        advice: the end of the message; None for the advice to cast the column.
    """
    # Spark knows the type when it plans the query and removes the comparison, so rows cost nothing more.
    fault = sf.concat(
        sf.lit(error_text(ColumnError, f"{name}() takes {' or '.join(types)}, not ")),
        sf.typeof(value),
        sf.lit(": "),
        sf.lit("cast it") if advice is None else advice,
    )
    return sf.when(sf.typeof(value).isin(*types), serialized).otherwise(sf.raise_error(fault).cast("binary"))


def _column(column: Column | str) -> Column:
    """Return the column of this name; a column is returned unchanged."""
    return sf.col(column) if isinstance(column, str) else column
