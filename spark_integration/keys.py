"""Keys as the Java client's serializers make them: binary columns for `kafka_partition` and for the sinks.

`partitioning.serializers` makes the same bytes of one key.

What Kafka hashes is the serialized key: the number 21 as a long, as an int and as text are three keys in
three partitions. A key serialized with a schema registry (Avro, JSON Schema, Protobuf) begins with the
schema's id, so it has to be serialized by that registry's own serializer first.
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

send_by_value("partitioning.serializers")  # `big_endian`, inside the function that uses it


def key_bytes(column: Column | str) -> Column:
    """Return the bytes of a string or binary column; for any other type a column that fails each task.

    Spark itself refuses a struct, an array or a map, as it plans the query.
    """
    value = _column(column)
    advice = sf.lit(serializing_advice("any other"))
    for spark_type in SERIALIZERS:
        own = sf.lit(serializing_advice(spark_type))
        advice = sf.when(sf.typeof(value) == spark_type, own).otherwise(advice)
    # By `concat` other types become text. A cast to binary would be refused with the advice to turn ANSI mode
    # off, in which Spark hashes the bytes of a number; and `try_cast` makes nulls, and so keyless rows, of a
    # variant.
    return _require_type(
        "kafka_partition", value, ("string", "binary"), sf.concat(value).cast("binary"), advice
    )


def string_key(column: Column | str) -> Column:
    """`StringSerializer`: the UTF-8 bytes of a string column."""
    value = _column(column)
    return _require_type("string_key", value, ("string",), value.cast("binary"))


def short_key(column: Column | str) -> Column:
    """`ShortSerializer`: two bytes, big-endian, of a tinyint or smallint column."""
    return _integer("short_key", column, ("tinyint", "smallint"), 2)


def integer_key(column: Column | str) -> Column:
    """`IntegerSerializer`: four bytes, big-endian, of an int column or a narrower one."""
    return _integer("integer_key", column, ("tinyint", "smallint", "int"), 4)


def long_key(column: Column | str) -> Column:
    """`LongSerializer`: eight bytes, big-endian, of a bigint column or a narrower one."""
    return _integer("long_key", column, ("tinyint", "smallint", "int", "bigint"), 8)


def float_key(column: Column | str) -> Column:
    """`FloatSerializer`: four bytes, big-endian, of a float column."""
    return _floating("float_key", column, ("float",), pa.float32())


def double_key(column: Column | str) -> Column:
    """`DoubleSerializer`: eight bytes, big-endian, of a double or float column; every NaN is the same key."""
    return _floating("double_key", column, ("float", "double"), pa.float64())


def uuid_key(column: Column | str) -> Column:
    """`UUIDSerializer`: the 36 characters, in lower case, of a string of a UUID; fails on other text."""
    value = _column(column)
    fault = sf.raise_error(sf.concat(sf.lit(error_text(RecordError, "uuid_key() takes UUIDs, not ")), value))
    checked = sf.when(value.isNull() | value.rlike(f"^{UUID_PATTERN}$"), sf.lower(value)).otherwise(fault)
    return _require_type("uuid_key", value, ("string",), checked.cast("binary"))


def _integer(name: str, column: Column | str, types: tuple[str, ...], size: int) -> Column:
    """Return the big-endian bytes of an integer column.

    Args:
        name: of the function that people call, for messages.
        column: the column or its name.
        types: the types that it may have.
        size: bytes of the key.
    """
    value = _column(column)
    # Two's complement of this many bytes: -1 as an int is ffffffff, and the hex of a bigint would be twice as
    # long.
    unsigned = value.cast("bigint").bitwiseAND(2 ** (8 * size) - 1) if size < 8 else value.cast("bigint")
    return _require_type(name, value, types, sf.unhex(sf.lpad(sf.hex(unsigned), 2 * size, "0")))


def _floating(name: str, column: Column | str, types: tuple[str, ...], arrow_type: pa.DataType) -> Column:
    """Return the big-endian bytes of a floating-point column, by a function on Arrow arrays."""
    value = _column(column)
    number = value.cast("float" if arrow_type == pa.float32() else "double")
    to_bytes = column_function(name, _big_endian(arrow_type), arrow_type, pa.binary(), "binary")
    # pandas takes a null for NaN, so nulls are put back here.
    return _require_type(name, value, types, sf.when(value.isNotNull(), to_bytes(number)))


def _big_endian(arrow_type: pa.DataType) -> ArrowFunction:
    """Return a function from an Arrow array of numbers to their big-endian bytes.

    A null becomes the bytes of 0.
    """
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
    """Return the serialized column, or an error at the first row if the column has none of the types."""
    # A column's type is known when the query is planned, so this costs nothing as rows pass.
    fault = sf.concat(
        sf.lit(error_text(ColumnError, f"{name}() takes {' or '.join(types)}, not ")),
        sf.typeof(value),
        sf.lit(": "),
        sf.lit("cast it") if advice is None else advice,
    )
    return sf.when(sf.typeof(value).isin(*types), serialized).otherwise(sf.raise_error(fault).cast("binary"))


def _column(column: Column | str) -> Column:
    """Return a column by its name, or as it is."""
    return sf.col(column) if isinstance(column, str) else column
