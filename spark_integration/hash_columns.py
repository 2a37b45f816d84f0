"""The hash of a binary column: in the JVM where it has the function, else by NumPy in Arrow batches."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import cloudpickle
from pyspark.sql import Column
from pyspark.sql import functions as sf

import partitioning.hashing
from partitioning.hashing import HASHES, HashName
from spark_integration.jvm_engine import murmur2_expression
from spark_integration.python_functions import ArrowFunction, column_function

# Executors get the kernels inside the function that uses them, and need not have this project installed.
cast(Any, cloudpickle).register_pickle_by_value(partitioning.hashing)

Kernel = Callable[[NDArray[Any], NDArray[np.uint8]], NDArray[np.int32]]


def hash_column(function: HashName, key: Column) -> Column:
    """The signed 32-bit hash of each key, null where the key is null.

    Args:
        function: a name in `partitioning.hashing.HASHES`.
        key: a binary column.
    """
    if function == "crc32":
        # Spark gives the unsigned value as a bigint, which ANSI mode does not cast to int if it is too large.
        return sf.shiftright(sf.shiftleft(sf.crc32(key), 32), 32).cast("int")
    if function == "murmur2" and (by_kafka := murmur2_expression(key)) is not None:
        return by_kafka
    hashes = arrow_hash(HASHES[function].column)
    return cast(Column, column_function(function, hashes, pa.binary(), pa.int32(), "int")(key))


def arrow_hash(kernel: Kernel) -> ArrowFunction:
    """The hash of each key of a binary array, null where the key is null."""

    def hashes(keys: pa.Array) -> pa.Array:
        if not len(keys):
            return pa.array([], pa.int32())
        width = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
        _, offset_buffer, data_buffer = keys.buffers()
        offsets = np.frombuffer(offset_buffer, width)[keys.offset : keys.offset + len(keys) + 1]
        values = kernel(offsets, np.frombuffer(data_buffer or b"", np.uint8))
        return pa.array(values, mask=keys.is_null().to_numpy(zero_copy_only=False))

    return hashes
