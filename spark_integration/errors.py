"""Errors between Spark and Kafka; docs/errors.md draws the tree."""

import re
from collections.abc import Iterator, Sequence

from pyspark.sql import Row

from copartition.check.verdict import JoinVerdict
from partitioning.errors import CopartitionError, InvalidConfigError

_RAISED = re.compile(r"\b(?:partitioning|assignors|copartition|spark_integration)\.(?:\w+\.)*(\w+): (.+)")
_NOT_REGISTERED = re.compile(r"\[DATA_SOURCE_NOT_FOUND\].*\bcopartition\b")
_NO_BYTES = re.compile(r'resolve "(?:\w*CAST\()?(.+?)(?: AS BINARY\))?" due.*?cannot cast "(\w+)" to "BINARY')
_OF_A_ROW = re.compile(r"\bcopartition: (.+)")
"""Beginning of the errors that the columns of this package raise in the JVM."""


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
    for name, message in reversed(_RAISED.findall(text)):
        kind = next((kind for kind in _kinds(CopartitionError) if kind.__name__ == name), None)
        if kind is not None:
            return kind(message.rstrip())
    if _NOT_REGISTERED.search(text):
        return InvalidConfigError(
            "Spark does not know format('copartition') here: call register(spark), and in a thread of Python "
            "call it in that thread"
        )
    if match := _NO_BYTES.search(text):
        return ColumnError(
            f"{match[1]} is of type {match[2].lower()}, and Kafka hashes bytes: give a string or binary "
            "column, or serialize the key as its producer does by a function of spark_integration.keys, such "
            "as long_key. Do not turn ANSI mode off"
        )
    # Raised by `raise_error` in the JVM, where no exception of ours exists.
    if match := _OF_A_ROW.search(text):
        return RecordError(match[1].rstrip())
    return None


def _kinds(base: type[CopartitionError]) -> Iterator[type[CopartitionError]]:
    """Yield a class and all classes below it, each before its own subclasses."""
    yield base
    for kind in base.__subclasses__():
        yield from _kinds(kind)
