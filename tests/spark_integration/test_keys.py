"""Key encodings, against the serializers of the Java client as confluent-kafka and struct spell them."""

import math
import struct
import uuid

import pytest
from confluent_kafka.serialization import DoubleSerializer, IntegerSerializer, StringSerializer
from pyspark.sql import SparkSession

from spark_integration import hash_columns, keys

INTS = [0, 1, -1, 21, 2**31 - 1, -(2**31)]
DOUBLES = [0.0, -0.0, 1.5, -1e300, 5e-324, math.inf, -math.inf]
FLOATS = [0.0, -0.0, 1.5, -1.0000000150474662e30, math.inf]
SOME_UUID = "0A1b2c3D-0000-4fff-8abc-0123456789AB"


def serialized(spark: SparkSession, serializer, values: list, spark_type: str) -> list[bytes | None]:
    rows = spark.createDataFrame([(value,) for value in values], f"value {spark_type}").coalesce(1)
    return [row.key and bytes(row.key) for row in rows.select(serializer("value").alias("key")).collect()]


@pytest.mark.every_spark
@pytest.mark.parametrize(
    ("serializer", "spark_type", "values", "java"),
    [
        (keys.string_key, "string", ["", "key", "한글"], StringSerializer()),
        (keys.short_key, "smallint", [0, 1, -1, 2**15 - 1, -(2**15)], struct.Struct(">h").pack),
        (keys.short_key, "tinyint", [-128, 127], struct.Struct(">h").pack),
        (keys.integer_key, "int", INTS, IntegerSerializer()),
        (keys.integer_key, "smallint", [-5, 5], IntegerSerializer()),
        (keys.long_key, "bigint", [*INTS, 2**63 - 1, -(2**63)], struct.Struct(">q").pack),
        (keys.long_key, "int", INTS, struct.Struct(">q").pack),
        (keys.float_key, "float", FLOATS, struct.Struct(">f").pack),
        (keys.double_key, "double", DOUBLES, DoubleSerializer()),
        (keys.double_key, "float", [1.5, -0.0], DoubleSerializer()),
        (keys.uuid_key, "string", [SOME_UUID], lambda text: str(uuid.UUID(text)).encode()),
    ],
)
def test_keys_are_what_the_java_serializers_make_of_them(
    spark: SparkSession, serializer, spark_type: str, values: list, java
) -> None:
    expected = [java(value) for value in values]
    assert serialized(spark, serializer, [*values, None], spark_type) == [*expected, None]


@pytest.mark.every_spark
@pytest.mark.parametrize("through", ["arrow", "pandas"])
def test_every_nan_is_javas(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, through: str) -> None:
    if through == "pandas":
        monkeypatch.delattr(hash_columns.sf, "arrow_udf", raising=False)
    negative_nan = struct.unpack(">d", bytes.fromhex("fff8000000000001"))[0]
    found = serialized(spark, keys.double_key, [math.nan, negative_nan, None, 2.5], "double")
    canonical = bytes.fromhex("7ff8000000000000")
    assert found == [canonical, canonical, None, struct.pack(">d", 2.5)]


@pytest.mark.parametrize(
    ("serializer", "spark_type", "value", "message"),
    [
        (keys.integer_key, "bigint", 1, r"integer_key\(\) takes tinyint or smallint or int, not bigint"),
        (keys.short_key, "int", 1, r"short_key\(\) takes tinyint or smallint, not int"),
        (keys.long_key, "string", "1", r"long_key\(\) takes .*, not string"),
        (keys.string_key, "binary", bytearray(b"1"), r"string_key\(\) takes string, not binary"),
        (keys.double_key, "int", 1, r"double_key\(\) takes float or double, not int"),
        (keys.uuid_key, "string", "1-2-3", r"uuid_key\(\) takes UUIDs, not 1-2-3"),
    ],
)
def test_a_column_of_another_type_fails_the_job(
    spark: SparkSession, serializer, spark_type: str, value: object, message: str
) -> None:
    with pytest.raises(Exception, match=message):
        serialized(spark, serializer, [value], spark_type)
