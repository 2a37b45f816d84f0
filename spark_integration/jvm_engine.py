"""murmur2 by kafka-clients itself, as a native expression of Spark.

The only place that touches Spark's private classes, and nothing depends on it: where kafka-clients is on
Spark's class path (Spark's Kafka connector brings it) the expression is as fast as Spark's own `hash`;
elsewhere, and on Connect, the answer is None and Python hashes.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

if find_spec("py4j"):  # the package pyspark-client comes without
    from py4j.java_gateway import JavaClass  # type: ignore[import-untyped]
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark import SparkContext

if TYPE_CHECKING:
    from pyspark.sql import Column

KAFKA_UTILS = "org.apache.kafka.common.utils.Utils"


def murmur2_expression(key: Column) -> Column | None:
    """`Utils.murmur2(key)` as an int column, null where the key is; None if Spark cannot do it.

    Args:
        key: a binary column.
    """
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
    """The Java column of murmur2 over a Java column."""
    sql = jvm.org.apache.spark.sql
    murmur2_class = jvm.org.apache.spark.util.Utils.classForName(KAFKA_UTILS, True, False)
    spark_4 = sql.classic.ExpressionUtils
    if isinstance(spark_4, JavaClass):
        return spark_4.column(_static_invoke(jvm, murmur2_class, spark_4.expression(java_column)))
    return sql.Column(_static_invoke(jvm, murmur2_class, java_column.expr()))


def _static_invoke(jvm: Any, murmur2_class: Any, key: Any) -> Any:
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
