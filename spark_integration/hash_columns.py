"""The hash of a binary column: in the JVM where it has the function, else by NumPy in Arrow batches."""

from collections.abc import Callable
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, TypeAlias, cast

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.utils import is_remote

from partitioning.hashing import HASHES, HashName
from spark_integration.shipping import send_by_value

if find_spec("py4j"):  # the package pyspark-client comes without
    from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkContext

ArrowFunction: TypeAlias = Callable[[pa.Array], pa.Array]


def column_function(
    name: str, function: ArrowFunction, input_type: pa.DataType, output_type: pa.DataType, spark_type: str
) -> Callable[..., Any]:
    """Return a function of Arrow arrays as one of columns.

    Arrow-native where Spark has that, else through pandas.

    The function must be nested in another: it then travels to executors by value, which need NumPy and
    PyArrow and not this project. `name` is what query plans call it; `spark_type` is `output_type` as Spark
    spells it.

    Args:
        name: what query plans call it.
        function: from one Arrow array to another of the same length.
        input_type: of the array that it gets.
        output_type: of the array that it returns.
        spark_type: `output_type` as Spark spells it.
    """
    functions: Any = sf  # the stubs have neither
    function.__name__ = name
    if hasattr(sf, "arrow_udf"):
        return functions.arrow_udf(function, spark_type)  # type: ignore[no-any-return]

    # PySpark reads the annotations of either.
    def through_pandas(values: pd.Series) -> pd.Series:
        array = pa.array(values.to_numpy(), input_type, from_pandas=False)  # or a NaN would become a null
        return function(array).to_pandas(types_mapper={output_type: pd.ArrowDtype(output_type)}.get)

    through_pandas.__name__ = name
    return functions.pandas_udf(through_pandas, spark_type)  # type: ignore[no-any-return]


send_by_value("partitioning.hashing")  # the kernels, inside the function that uses them

Kernel = Callable[[NDArray[Any], NDArray[np.uint8]], NDArray[np.int32]]


def hash_column(function: HashName, key: Column) -> Column:
    """Hash each binary key, signed 32-bit, by a name in `partitioning.hashing.HASHES`; null for null."""
    if function == "crc32":
        # Spark gives the unsigned value as a bigint, which ANSI mode does not cast to int if it is too large.
        return sf.shiftright(sf.shiftleft(sf.crc32(key), 32), 32).cast("int")
    if function == "murmur2" and (by_kafka := murmur2_expression(key)) is not None:
        return by_kafka
    context = SparkContext._active_spark_context if find_spec("py4j") else None  # noqa: SLF001
    return cast(Column, _hash_function(function, is_remote(), context)(key))


@lru_cache(maxsize=32)
def _hash_function(function: HashName, remote: bool, context: object) -> Callable[..., Any]:  # noqa: ARG001
    """Return one function of columns for each hash, session kind and Spark context.

    Only calls of the same function are the same to Spark: a key that is hashed for its partition and again to
    check it goes to Python once. A function keeps what it was given by the context that it was made in.
    """
    hashes = arrow_hash(HASHES[function].column)
    return column_function(function, hashes, pa.binary(), pa.int32(), "int")


def arrow_hash(kernel: Kernel) -> ArrowFunction:
    """Return the hash of each key of a binary array, null where the key is null."""

    def hashes(keys: pa.Array) -> pa.Array:
        if not len(keys):
            return pa.array([], pa.int32())
        # Spark can be set to send binaries with 64-bit offsets.
        width = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
        _, offset_buffer, data_buffer = keys.buffers()
        offsets = np.frombuffer(offset_buffer, width)[keys.offset : keys.offset + len(keys) + 1]
        values = kernel(offsets, np.frombuffer(data_buffer or b"", np.uint8))
        return pa.array(values, mask=keys.is_null().to_numpy(zero_copy_only=False))

    return hashes


KAFKA_UTILS = "org.apache.kafka.common.utils.Utils"


def murmur2_expression(key: Column) -> Column | None:
    """`Utils.murmur2(key)` of a binary column as int, null where the key is; None if Spark cannot do it.

    This alone touches Spark's private classes, and nothing depends on it: where kafka-clients is on Spark's
    class path (Spark's Kafka connector brings it) the expression is as fast as Spark's own `hash`.
    """
    # Looked up without `getattr`: a Connect column would take the name for a field of its own.
    java_column = vars(key).get("_jc")
    context: Any = None if java_column is None else SparkContext._active_spark_context  # noqa: SLF001
    if context is None:
        return None
    try:
        expression = _through_expression(context._jvm, java_column)  # noqa: SLF001
    except (Py4JError, TypeError):  # a class that is not there, or that looks different in this Spark
        return None
    return cast("Column", cast(Any, type(key))(expression))


def _through_expression(jvm: Any, java_column: Any) -> Any:
    """Return the Java column of murmur2 over a Java column."""
    sql = jvm.org.apache.spark.sql
    murmur2_class = jvm.org.apache.spark.util.Utils.classForName(KAFKA_UTILS, True, False)
    spark_4 = sql.classic.ExpressionUtils
    if isinstance(spark_4, JavaClass):
        return spark_4.column(_static_invoke(jvm, murmur2_class, spark_4.expression(java_column)))
    return sql.Column(_static_invoke(jvm, murmur2_class, java_column.expr()))


def _static_invoke(jvm: Any, murmur2_class: Any, key: Any) -> Any:
    """Return Spark's expression that calls `Utils.murmur2` on a key expression.

    Args:
        jvm: the gateway's view of the JVM.
        murmur2_class: Kafka's class, loaded by Spark's class loader.
        key: the key's expression, of type binary.
    """
    static_invoke = jvm.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
    to_seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    keys = jvm.java.util.ArrayList()
    keys.add(key)
    propagates_null, returns_null, deterministic = True, False, True
    arguments = [
        murmur2_class,
        jvm.org.apache.spark.sql.types.DataTypes.IntegerType,
        "murmur2",
        to_seq(keys),
        to_seq(jvm.java.util.ArrayList()),
        propagates_null,
        returns_null,
        deterministic,
    ]
    try:
        return static_invoke(
            *arguments, jvm.scala.Option.empty()
        )  # a scalar function of the catalog, since 4.0
    except Py4JError:
        return static_invoke(*arguments)
