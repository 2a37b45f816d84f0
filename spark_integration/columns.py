"""Compute Kafka's partition of each row as a column."""

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
"""Metadata key of a partition column: the partition count for which it was computed."""

PROFILE = "copartition.profile"
"""Metadata key of a partition column: the profile whose rule placed the keyed rows."""

KEY = "copartition.key"
"""Metadata key of a partition column: the name of the column that was hashed, if it was given by name."""

NULLS = "copartition.nulls"
"""Metadata key of a partition column: the `nulls` that `kafka_partition` got for keyless rows."""

LANES = "copartition.lanes"
"""Metadata key of a partition column: over how many Spark partitions `route` spread each Kafka partition."""

TASKS = "copartition.tasks"
"""Metadata key of a partition column: the number of Spark partitions into which `route` laid the rows."""

SOURCE = "copartition.source"
"""Metadata key of a partition column: the topics from which the rows were read, separated by commas."""

AS_IT_IS = "as it is"
"""Value of the argument `partition` with which rows are not checked: their column decides, not their keys."""


def kafka_partition(
    key: Column | str,
    num_partitions: int,
    *,
    profile: str = "java",
    nulls: Literal["spread", "error", "null"] = "spread",
    spread_by: tuple[Column | str, ...] = ("*",),
) -> Column:
    """Return the partition into which a client puts each row's key: an int column named `partition`.

    The column is computed lazily, on classic Spark and on Connect. Its metadata notes the count, the profile
    and the key. From these notes `route` and the sinks know to refuse a topic with another count, and rows
    whose key has another partition by this profile. A cast drops the metadata; on Connect `withColumn` drops
    it, too, so use `select("*", ...)`. A union keeps the metadata of its left side. Executors need NumPy and
    PyArrow, except for the crc32 profiles.

    >>> df.select("key", kafka_partition("key", 12)).first()
    Row(key='user-0', partition=7)

    Args:
        key: the column of the serialized key, or its name: binary, or a string, which stands for its UTF-8
            bytes. For keys of other types see `spark_integration.keys`.
        num_partitions: partition count of the topic, 1 to 2**31 - 1.
        profile: the client whose rule is used, a name in `partitioning.profiles.PROFILES`: "java",
            "librdkafka", "sarama" ...
        nulls: what happens to a row whose key the client does not hash: a null key and, under some profiles,
            an empty one. The client itself would choose a partition by time or at random. "spread" gives the
            row a partition by a hash of `spread_by`. That spreads rows evenly, and a row gets the same
            partition each time it is computed, so that a task that Spark runs again neither loses nor doubles
            rows. "error" fails the job. "null" leaves the choice to the producer that writes the row.
        spread_by: columns that tell rows without a key apart. By default all columns of the row, which Spark
            then has to read. Name columns if "*" has no meaning (in `groupBy`), if the row has a map, which
            Spark cannot hash, or if a column is not the same each time it is computed.

    Raises:
        UnknownStrategyError: there is no such profile.
        InvalidPartitionCountError: `num_partitions` is out of range.
        InvalidConfigError: `nulls` has another value, or `spread_by` is empty.

    Spark knows the type of the key only when it plans the query. If the key is neither text nor bytes, every
    task fails with a message that names the function of `spark_integration.keys` to use. If it is a struct,
    an array or a map, Spark itself refuses the plan (DATATYPE_MISMATCH). `typed_error` turns both into a
    ColumnError.
    """
    rule, count = find_profile(profile), checked_partition_count(num_partitions)
    key_bytes = keys.key_bytes(key)
    if rule.null == "empty":
        key_bytes = sf.coalesce(key_bytes, sf.lit(b""))
    # From here on, a null marks a row whose key the client does not hash.
    if rule.empty == "unkeyed":
        key_bytes = sf.when(sf.length(key_bytes) > 0, key_bytes)
    partition = _partition_of(hash_column(rule.hash, key_bytes), count, rule.sign)
    if rule.null == "first":
        partition = sf.when(key_bytes.isNull(), 0).otherwise(partition)
    if nulls == "spread":
        if not spread_by:
            raise InvalidConfigError("spread_by names no column; leave it out to spread by all of them")
        # A hash is used, not rand(): a task that runs again must place its rows as before. Otherwise a
        # shuffle would lose some rows and double others.
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
    """Return the partition of each hash, as `hashing.modulo.partition_of` does for one hash.

    Args:
        hashed: the hash of each key, a signed 32-bit int; a null stays null.
        count: partition count of the topic.
        sign: the client's way to make a partition of a negative hash.
    """
    # An `abs` after the remainder cannot overflow: the remainder is never the lowest 32-bit number.
    if sign == "mask":
        remainder = hashed.bitwiseAND(0x7FFFFFFF) % count
    elif sign == "unsigned":
        remainder = hashed.cast("bigint").bitwiseAND(0xFFFFFFFF) % count
    else:
        remainder = sf.abs(hashed % count)
    return remainder.cast("int")
