"""Errors between Spark and Kafka; docs/errors.md draws the tree."""

import re
from collections.abc import Iterator, Sequence

from pyspark.sql import Row

from copartition.check.verdict import JoinVerdict
from partitioning.errors import CopartitionError, InvalidConfigError

_RAISED = re.compile(r"\b(?:partitioning|assignors|copartition|spark_integration)\.(?:\w+\.)*(\w+): (.+)")
_IN_A_COLUMN = re.compile(r"(?:\[USER_RAISED_EXCEPTION\] |RuntimeException: )copartition (\w+): (.+)")
"""An error that a column of ours raised in the JVM. Its text alone is in the plans of failed streams, too."""
_SQLSTATE = re.compile(r" SQLSTATE: \w{5}$")
_NOT_REGISTERED = re.compile(r"\[DATA_SOURCE_NOT_FOUND\].*\bcopartition\b")
_REFUSED = re.compile(r"\[DATATYPE_MISMATCH\.(\w+)\](.*)")
_CONCAT = re.compile(r'resolve "concat\((.+?)\)" due.*? has the type "(.+?)"\.')
# Spark 3.5 names the text and not the cast of it.
_NO_BYTES = re.compile(
    r'resolve "(?:CAST\()?concat\((.+?)\)(?: AS BINARY\))?" due.*?cannot cast "(.+?)" to "BINARY'
)

SERIALIZERS = {
    "tinyint": "short_key",
    "smallint": "short_key",
    "int": "integer_key",
    "bigint": "long_key",
    "float": "float_key",
    "double": "double_key",
}
"""Function of `spark_integration.keys` that serializes a Spark type as the Java client's serializer does."""


class SparkIntegrationError(CopartitionError):
    """Rows, columns or a ledger do not fit."""


class ColumnError(SparkIntegrationError, ValueError):
    """A column that is missing, misspelt or of the wrong type."""


class PartitionCountError(SparkIntegrationError, ValueError):
    """A partition column that was computed for another partition count."""


class RoutingError(SparkIntegrationError, ValueError):
    """Rows that are not where Kafka would put them.

    Attributes:
        rows: a few of them, each with `spark_partition`, `kafka_partition` and the whole `row`.
    """

    def __init__(self, message: str, rows: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class NotCoPartitionedError(SparkIntegrationError, ValueError):
    """DataFrames that cannot be joined by their Kafka partitions, or of which that is unknown.

    Attributes:
        verdict: the answer with its reasons, the ways out and the comparison of keys.
    """

    def __init__(self, message: str, verdict: JoinVerdict) -> None:
        super().__init__(message)
        self.verdict = verdict


class RecordError(SparkIntegrationError, ValueError):
    """A row that cannot be a record of its topic."""


class ConnectorError(SparkIntegrationError):
    """Spark's own Kafka connector is missing, or a part of it."""


class DataLossError(SparkIntegrationError, LookupError):
    """Offsets that were to be read and are gone."""


class ReadError(SparkIntegrationError):
    """Records that the brokers do not send, or may not send us."""


class ExactlyOnceError(SparkIntegrationError):
    """A write that would follow, or repeat, what the ledger says in another way than it may."""


class LedgerMissingError(ExactlyOnceError):
    """No ledger although there were versions before: it expired, was forgotten, or the topic is another."""


class LedgerAheadError(ExactlyOnceError):
    """The ledger holds a later version than the one to be written."""


class LedgerInUseError(ExactlyOnceError):
    """Another application is in the ledger's group, or has committed to it."""


class HalfWrittenError(ExactlyOnceError):
    """A version before this one is in only in part."""


class RerunDiffersError(ExactlyOnceError):
    """A version comes again with other records, or in another order."""


def error_text(kind: type[CopartitionError], message: str) -> str:
    """Return the text with which a column fails its task, so that `typed_error` finds the class again."""
    return f"copartition {kind.__name__}: {message}"


def serializing_advice(spark_type: str) -> str:
    """Return what to do with a key of a Spark type, by its `simpleString`, that is neither text nor bytes."""
    function = SERIALIZERS.get(spark_type)
    if function is None:
        return "give the bytes that the producer's serializer makes, or cast it to a string if those are text"
    return f"take {function}() of spark_integration.keys, or cast it to a string if the producer writes text"


def key_type_error(column: str, spark_type: str) -> ColumnError:
    """Return the error of a key column of another type than string and binary."""
    return ColumnError(
        f"column {column!r} is of type {spark_type}, and Kafka hashes the bytes of a key: "
        f"{serializing_advice(spark_type)}. Do not turn ANSI mode off, in which Spark hashes other bytes"
    )


def typed_error(error: BaseException) -> CopartitionError | None:
    """Return the error of these packages behind an error of Spark's; None if none of them raised it.

    Spark turns what a task, a data source or a column raises into an exception of its own, with pages of
    traceback as its message. This gives the exception that was raised, whose message is one line: what is
    wrong, and what to do.

        try:
            df.write.format("copartition").options(**options).mode("append").save()
        except Exception as error:
            if isinstance(typed_error(error), PartitionCountError):
                ...

    Args:
        error: what a write, an action or `StreamingQuery.awaitTermination` raised.
    """
    if isinstance(error, CopartitionError):
        return error
    # Spark's exceptions keep the text of a task's traceback, and nothing else of what was raised there.
    typed = _meaning(str(error))
    if typed is not None:
        typed.__cause__ = error
    return typed


def _meaning(text: str) -> CopartitionError | None:
    """Return the error that a text of Spark's is about; None if it is about none of ours."""
    # What is raised while another exception is handled comes last, and it is what the task ended with.
    for name, message in (*reversed(_RAISED.findall(text)), *_IN_A_COLUMN.findall(text)):
        kind = next((kind for kind in _kinds(CopartitionError) if kind.__name__ == name), None)
        if kind is not None:
            return kind(_SQLSTATE.sub("", message.rstrip()))
    if _NOT_REGISTERED.search(text):
        return InvalidConfigError(
            "Spark does not know format('copartition') here: call register(spark), and in a thread of Python "
            "call it in that thread"
        )
    return _of_a_type(text)


def _of_a_type(text: str) -> ColumnError | None:
    """Return what Spark's refusal of a type means here; None if it is none of a key or of a hashed row."""
    match = _REFUSED.search(text)
    if match is None:
        return None
    kind, reason = match.groups()
    if kind == "HASH_MAP_TYPE":
        return ColumnError(
            "the rows have a map (or a variant), which Spark cannot hash, and by the hash of the whole row "
            "rows without a key are spread: name the columns that tell them apart, for example "
            "kafka_partition('key', 12, spread_by=('value',)), or give nulls='error' or nulls='null'"
        )
    if found := _NO_BYTES.search(reason) or _CONCAT.search(reason):
        return key_type_error(found[1], found[2].lower())
    return None


def _kinds(base: type[CopartitionError]) -> Iterator[type[CopartitionError]]:
    """Yield a class and all classes below it, each before its own subclasses."""
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)
