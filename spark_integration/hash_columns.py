"""Hash a binary column: in the JVM if it has the function, otherwise with NumPy on Arrow batches."""

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

if find_spec("py4j"):  # the package pyspark-client does not have it
    from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkContext

ArrowFunction: TypeAlias = Callable[[pa.Array], pa.Array]
"""A function from one Arrow array to another one of the same length."""


def column_function(
    name: str, function: ArrowFunction, input_type: pa.DataType, output_type: pa.DataType, spark_type: str
) -> Callable[..., Any]:
    """Return a function of columns that applies a function of Arrow arrays.

    The result is an Arrow UDF if this Spark has them (4.1 and newer), otherwise a pandas UDF.

    Args:
        name: the name of the function in query plans.
        function: takes an Arrow array and returns another one of the same length. It must be defined inside
            another function: only then is it pickled by value, so that executors need NumPy and PyArrow but
            not this project.
        input_type: type of the array that it gets.
        output_type: type of the array that it returns.
        spark_type: `output_type` as Spark writes it.
    """
    functions: Any = sf  # the type stubs lack both functions
    function.__name__ = name
    if hasattr(sf, "arrow_udf"):
        return functions.arrow_udf(function, spark_type)  # type: ignore[no-any-return]

    # PySpark tells the kind of a UDF from the annotations of the function, so they must stay.
    def through_pandas(values: pd.Series) -> pd.Series:
        # `from_pandas` is False, because otherwise a NaN would become a null.
        array = pa.array(values.to_numpy(), input_type, from_pandas=False)
        return function(array).to_pandas(types_mapper={output_type: pd.ArrowDtype(output_type)}.get)

    through_pandas.__name__ = name
    return functions.pandas_udf(through_pandas, spark_type)  # type: ignore[no-any-return]


# The UDFs use the kernels of `partitioning.hashing`, which must be pickled with them: executors may not have
# this project.
send_by_value("partitioning.hashing")

Kernel = Callable[[NDArray[Any], NDArray[np.uint8]], NDArray[np.int32]]
"""A hash of columns: takes the offsets (one more than keys) and bytes of all keys; returns their hashes."""


def hash_column(function: HashName, key: Column) -> Column:
    """Return the hash of each binary key, a signed 32-bit int; null for a null key.

    Args:
        function: name of the hash in `partitioning.hashing.HASHES`.
        key: a binary column.
    """
    if function == "crc32":
        # Spark's crc32 is an unsigned number in a bigint. ANSI mode refuses to cast a number above 2**31 - 1
        # to int, so the shifts extend its sign first.
        return sf.shiftright(sf.shiftleft(sf.crc32(key), 32), 32).cast("int")
    if function == "murmur2" and (by_kafka := murmur2_expression(key)) is not None:
        return by_kafka
    context = SparkContext._active_spark_context if find_spec("py4j") else None  # noqa: SLF001
    return cast(Column, _hash_function(function, is_remote(), context)(key))


@lru_cache(maxsize=32)
def _hash_function(function: HashName, remote: bool, context: object) -> Callable[..., Any]:  # noqa: ARG001
    """Return the function of columns for a hash; the same object for the same arguments.

    Spark sees that two calls are equal only if they call the same function object. So a key that is hashed
    once for its partition and once to check it is sent to Python once.

    Args:
        function: name of the hash.
        remote: whether the session is a Connect session.
        context: the active Spark context, or None. A function must not be used with another context than the
            one in which it was made, because it keeps objects of that context.
    """
    hashes = arrow_hash(HASHES[function].column)
    return column_function(function, hashes, pa.binary(), pa.int32(), "int")


def arrow_hash(kernel: Kernel) -> ArrowFunction:
    """Return a function that hashes each key of a binary Arrow array; null for a null key."""

    def hashes(keys: pa.Array) -> pa.Array:
        if not len(keys):
            return pa.array([], pa.int32())
        # If a setting of Spark says so, keys come as large binaries, whose offsets have 64 bits.
        width = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
        _, offset_buffer, data_buffer = keys.buffers()
        offsets = np.frombuffer(offset_buffer, width)[keys.offset : keys.offset + len(keys) + 1]
        values = kernel(offsets, np.frombuffer(data_buffer or b"", np.uint8))
        return pa.array(values, mask=keys.is_null().to_numpy(zero_copy_only=False))

    return hashes


KAFKA_UTILS = "org.apache.kafka.common.utils.Utils"


def murmur2_expression(key: Column) -> Column | None:
    """Return `Utils.murmur2(key)` of a binary column as an expression of the JVM; None if that is impossible.

    If kafka-clients is on Spark's class path, as with Spark's Kafka connector, this is as fast as Spark's own
    `hash`. Only this function and its helpers use Spark's private classes. If it returns None, its caller
    hashes with NumPy.

    Args:
        key: a binary column. The result is an int column, null for a null key.
    """
    # `vars` is used, not `getattr`: a Connect column takes an unknown attribute for a field of its value.
    java_column = vars(key).get("_jc")
    context: Any = None if java_column is None else SparkContext._active_spark_context  # noqa: SLF001
    if context is None:
        return None
    try:
        expression = _through_expression(context._jvm, java_column)  # noqa: SLF001
    except (Py4JError, TypeError):  # this Spark lacks a class, or has it in another form
        return None
    return cast("Column", cast(Any, type(key))(expression))


def _through_expression(jvm: Any, java_column: Any) -> Any:
    """Return a Java column that calls murmur2 on a Java column.

    Raises Py4JError or TypeError if the class path lacks kafka-clients, or if this Spark has other private
    classes.
    """
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
