"""Errors between Spark and Kafka; docs/errors.md draws the tree."""

import re
from collections.abc import Iterator, Sequence

from pyspark.sql import Row

from copartition.check.verdict import JoinVerdict
from partitioning.errors import CopartitionError, InvalidConfigError

_RAISED = re.compile(r"\b(?:partitioning|assignors|copartition|spark_integration)\.(?:\w+\.)*(\w+): (.+)")
_IN_A_COLUMN = re.compile(r"(?:\[USER_RAISED_EXCEPTION\] |RuntimeException: )copartition (\w+): (.+)")
"""Pattern of an error that a column of ours has raised in the JVM.

The pattern includes the words before "copartition". Without them it would also match the query plan, which
the message of a failed stream contains: the plan has the texts of all errors that its columns could raise.
"""
_SQLSTATE = re.compile(r" SQLSTATE: \w{5}$")
_NOT_REGISTERED = re.compile(r"\[DATA_SOURCE_NOT_FOUND\].*\bcopartition\b")
_REFUSED = re.compile(r"\[DATATYPE_MISMATCH\.(\w+)\](.*)")
_CONCAT = re.compile(r'resolve "concat\((.+?)\)" due.*? has the type "(.+?)"\.')
# Spark 3.5 names the concatenation in its message; newer versions name the cast of the concatenation.
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
"""Spark type -> function of `spark_integration.keys` that serializes it as the Java client does."""


class SparkIntegrationError(CopartitionError):
    """Base of the errors of `spark_integration`: rows, columns or a ledger do not fit together."""


class ColumnError(SparkIntegrationError, ValueError):
    """A column is missing, has an unknown name, or has the wrong type."""


class PartitionCountError(SparkIntegrationError, ValueError):
    """A partition column was computed for another partition count than the topic has."""


class RoutingError(SparkIntegrationError, ValueError):
    """Rows are not in the partition of their keys, or not in the Spark partition of their Kafka partition.

    Attributes:
        rows: a few of these rows, each with `spark_partition`, `kafka_partition` and the whole `row`. Empty
            if a task raised the error.
    """

    def __init__(self, message: str, rows: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.rows = tuple(rows)


class NotCoPartitionedError(SparkIntegrationError, ValueError):
    """DataFrames cannot be joined by their Kafka partitions, or it is unknown whether they can.

    Attributes:
        verdict: the answer, with its reasons, remedies and the comparison of keys.
    """

    def __init__(self, message: str, verdict: JoinVerdict) -> None:
        super().__init__(message)
        self.verdict = verdict


class RecordError(SparkIntegrationError, ValueError):
    """A row cannot be a record of its topic."""


class ConnectorError(SparkIntegrationError):
    """Spark's own Kafka connector, or a part of it, is missing."""


class DataLossError(SparkIntegrationError, LookupError):
    """Offsets that were to be read do not exist any more."""


class ReadError(SparkIntegrationError):
    """The brokers do not send records: they are silent, or this user may not read the topic."""


class ExactlyOnceError(SparkIntegrationError):
    """Base of the errors of exactly-once writes: the ledger forbids this version now, or with these rows."""


class LedgerMissingError(ExactlyOnceError):
    """The ledger lacks an entry: it expired or was deleted, or another writer wrote the records."""


class LedgerAheadError(ExactlyOnceError):
    """The ledger has a later version than the one that is to be written."""


class LedgerInUseError(ExactlyOnceError):
    """Another application is a member of the ledger's group, or has committed offsets in it."""


class HalfWrittenError(ExactlyOnceError):
    """The topic has only a part of an earlier version, or of this one after all its tasks have ended."""


class RerunDiffersError(ExactlyOnceError):
    """A version that runs again has other records than before, or has them in another order."""


def error_text(kind: type[CopartitionError], message: str) -> str:
    """Return a message for `raise_error` in a column, from which `typed_error` can tell the error's class."""
    return f"copartition {kind.__name__}: {message}"


def serializing_advice(spark_type: str) -> str:
    """Return advice to users on a key that is neither text nor bytes.

    Args:
        spark_type: `simpleString` of the key's type.
    """
    function = SERIALIZERS.get(spark_type)
    if function is None:
        return "give the bytes that the producer's serializer makes, or cast it to a string if those are text"
    return f"take {function}() of spark_integration.keys, or cast it to a string if the producer writes text"


def key_type_error(column: str, spark_type: str) -> ColumnError:
    """Return the error for a key column whose type is neither string nor binary.

    Args:
        column: name of the column, or the expression that Spark names.
        spark_type: `simpleString` of its type.
    """
    return ColumnError(
        f"column {column!r} is of type {spark_type}, and Kafka hashes the bytes of a key: "
        f"{serializing_advice(spark_type)}. Do not turn ANSI mode off, in which Spark hashes other bytes"
    )


def typed_error(error: BaseException) -> CopartitionError | None:
    """Return the error of this project that is behind one of Spark's exceptions; None if there is none.

    Spark turns an error of a task, a data source or a column into an exception of its own, whose message is
    pages of traceback. This returns the original error, with its message of one line. Spark keeps only the
    text, so attributes such as `RoutingError.rows` are empty.

        try:
            df.write.format("copartition").options(**options).mode("append").save()
        except Exception as error:
            if isinstance(typed_error(error), PartitionCountError):
                ...

    Args:
        error: the exception that a write, an action or `StreamingQuery.awaitTermination` raised.
    """
    if isinstance(error, CopartitionError):
        return error
    # Spark's exception has the text of the task's traceback, but not the exception object.
    typed = _meaning(str(error))
    if typed is not None:
        typed.__cause__ = error
    return typed


def _meaning(text: str) -> CopartitionError | None:
    """Return the error of this project that the message of one of Spark's exceptions names; None for none."""
    # The search begins at the end: if an exception was raised while another one was handled, the traceback
    # has the later exception last.
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
    """Return the error for Spark's refusal of a column's type; None if the text has no refusal known here.

    Spark refuses a key of another type than text or bytes. It also refuses a row with a map if rows without a
    key are to be spread by a hash of the row.
    """
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
