"""The hash of a binary column: by Spark itself where it has the function, else by NumPy in Arrow batches."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import cloudpickle
from pyspark.sql import Column
from pyspark.sql import functions as sf

import partitioning.hashing
from partitioning.hashing import HASHES

# Executors get the kernels inside the function that uses them, and need not have this project installed.
cast(Any, cloudpickle).register_pickle_by_value(partitioning.hashing)

Kernel = Callable[[NDArray[Any], NDArray[np.uint8]], NDArray[np.int32]]


def hash_column(function: str, key: Column) -> Column:
    """The signed 32-bit hash of each key, null where the key is null.

    Args:
        function: a name in `partitioning.hashing.HASHES`.
        key: a binary column.
    """
    if function == "crc32":
        # Spark gives the unsigned value as a bigint, which ANSI mode does not cast to int if it is too large.
        return sf.shiftright(sf.shiftleft(sf.crc32(key), 32), 32).cast("int")
    hashes = _arrow_function(HASHES[function].column)
    hashes.__name__ = function.replace("-", "_")
    functions: Any = sf  # the stubs have neither
    if hasattr(sf, "arrow_udf"):
        return cast(Column, functions.arrow_udf(hashes, "int")(key))
    return cast(Column, functions.pandas_udf(_pandas_function(hashes), "int")(key))


def _arrow_function(kernel: Kernel) -> Callable[[pa.Array], pa.Array]:
    # PySpark reads the annotations, and a nested function travels by value.
    def hashes(keys: pa.Array) -> pa.Array:
        if not len(keys):
            return pa.array([], pa.int32())
        width = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
        _, offset_buffer, data_buffer = keys.buffers()
        offsets = np.frombuffer(offset_buffer, width)[keys.offset : keys.offset + len(keys) + 1]
        values = kernel(offsets, np.frombuffer(data_buffer or b"", np.uint8))
        return pa.array(values, mask=keys.is_null().to_numpy(zero_copy_only=False))

    return hashes


def _pandas_function(hashes: Callable[[pa.Array], pa.Array]) -> Callable[[pd.Series], pd.Series]:
    def pandas_hashes(keys: pd.Series) -> pd.Series:
        return hashes(pa.array(keys, pa.binary())).to_pandas(types_mapper={pa.int32(): pd.Int32Dtype()}.get)

    pandas_hashes.__name__ = hashes.__name__
    return pandas_hashes
