"""Kafka's partition of a row, as a column."""

from typing import Literal

from pyspark.sql import Column
from pyspark.sql import functions as sf

from partitioning.errors import InvalidConfigError
from partitioning.hashing.modulo import SignRule
from partitioning.profiles import find_profile
from partitioning.topic_partition import checked_partition_count
from spark_integration import keys
from spark_integration.errors import RecordError, error_text
from spark_integration.hash_columns import hash_column

PARTITIONS = "copartition.partitions"
"""Metadata of a partition column: the partition count it was computed for."""

PROFILE = "copartition.profile"
"""Metadata of a partition column: the profile whose rule placed the keyed rows."""

KEY = "copartition.key"
"""Metadata of a partition column: the name of the column that was hashed, where it was given by name."""

NULLS = "copartition.nulls"
"""Metadata of a partition column: the `nulls` that `kafka_partition` got for keyless rows."""

LANES = "copartition.lanes"
"""Metadata of a partition column: over how many Spark partitions `route` spread each Kafka partition."""

TASKS = "copartition.tasks"
"""Metadata of a partition column: the number of Spark partitions into which `route` laid the rows."""

SOURCE = "copartition.source"
"""Metadata of a partition column: the topics from which the source read the rows, with commas between."""

AS_IT_IS = "as it is"
"""Value of `partition=` by which rows lie where their column `partition` says, whatever their keys are."""


def kafka_partition(
    key: Column | str,
    num_partitions: int,
    *,
    profile: str = "java",
    nulls: Literal["spread", "error", "null"] = "spread",
    spread_by: tuple[Column | str, ...] = ("*",),
) -> Column:
    """Return the partition a client puts each row's key into: an int column named `partition`.

    The result is lazy and works on classic Spark and on Connect. Its metadata holds count, profile and key:
    `route` and the sinks refuse another count, and a row in another partition than its key has by this
    profile. A cast drops the metadata, and on Connect so does `withColumn`: use `select("*", ...)`. A union
    keeps that of its left side. Executors need NumPy and PyArrow, except for the crc32 profiles.

    >>> df.select("key", kafka_partition("key", 12)).first()
    Row(key='user-0', partition=7)

    Args:
        key: the serialized key, a binary column, or a string column, which stands for its UTF-8 bytes. For
            keys of other types see `spark_integration.keys`.
        num_partitions: partitions of the topic, 1 to 2**31 - 1.
        profile: whose rule, a name in `partitioning.profiles.PROFILES`: "java", "librdkafka", "sarama" ...
        nulls: what becomes of a row whose key that client does not hash: a null one and, under some profiles,
            an empty one. The client itself would choose by time or at random. "spread" gives the row the
            partition that a hash of `spread_by` says: even, and the same each time the row is computed, so a
            task that Spark runs again neither loses nor doubles it. "error" fails the job. "null" leaves the
            choice to whoever writes.
        spread_by: columns that tell keyless rows apart, by default all columns of the row, which Spark then
            reads. Name some where "*" has no meaning (in `groupBy`), where the row has a map, which Spark
            does not hash, and where a column is not the same each time it is computed.

    Raises:
        UnknownStrategyError, InvalidPartitionCountError: no such profile; `num_partitions` is out of range.
        InvalidConfigError: `nulls` has another value, or `spread_by` is empty.

    The type of the key is known once Spark plans the query. Of a column that is neither text nor bytes every
    task fails, with a sentence that names the function of `spark_integration.keys` to take; of a struct, an
    array or a map Spark itself refuses the plan (DATATYPE_MISMATCH). `typed_error` makes both a ColumnError.
    """
    rule, count = find_profile(profile), checked_partition_count(num_partitions)
    key_bytes = keys.key_bytes(key)
    if rule.null == "empty":
        key_bytes = sf.coalesce(key_bytes, sf.lit(b""))
    # A null from here on is a row that the client does not hash.
    if rule.empty == "unkeyed":
        key_bytes = sf.when(sf.length(key_bytes) > 0, key_bytes)
    partition = _partition_of(hash_column(rule.hash, key_bytes), count, rule.sign)
    if rule.null == "first":
        partition = sf.when(key_bytes.isNull(), 0).otherwise(partition)
    if nulls == "spread":
        if not spread_by:
            raise InvalidConfigError("spread_by names no column; leave it out to spread by all of them")
        # A hash and not rand(): a task that runs again must place its rows as before, or some are lost and
        # others doubled.
        spread = sf.pmod(sf.xxhash64(*spread_by), sf.lit(count)).cast("int")
        partition = sf.coalesce(partition, spread)
    elif nulls == "error":
        fault = f"a row has no key that profile '{profile}' hashes, and nulls='error' was asked for"
        fails = sf.raise_error(sf.lit(error_text(RecordError, fault)))
        partition = sf.coalesce(partition, fails.cast("int"))
    elif nulls != "null":
        raise InvalidConfigError(f"nulls is {nulls!r}; give 'spread', 'error' or 'null'")
    notes: dict[str, int | str] = {PARTITIONS: count, PROFILE: rule.name, NULLS: nulls}
    if isinstance(key, str):
        notes[KEY] = key
    return partition.alias("partition", metadata=notes)


def _partition_of(hashed: Column, count: int, sign: SignRule) -> Column:
    """Return the columnar `hashing.modulo.partition_of`, in the JVM.

    `hashed` is a signed int, null stays null.
    """
    if sign == "mask":
        remainder = hashed.bitwiseAND(0x7FFFFFFF) % count
    elif sign == "unsigned":
        remainder = hashed.cast("bigint").bitwiseAND(0xFFFFFFFF) % count
    else:
        remainder = sf.abs(hashed % count)
    return remainder.cast("int")
