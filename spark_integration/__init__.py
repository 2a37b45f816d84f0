"""Compute Kafka's partition of every row of a DataFrame, lay the rows out by it, and write them to Kafka.

In the order of use: `kafka_partition` adds a column, and `route` lays the rows out by it. Then
`write_exactly_once`, or `format("copartition")` after `register`, or Spark's own connector after
`checked_for_topic` writes them. `reshape_copy`, `map_positions` and `prove` move a topic to another partition
count, rule or key. `audit` and `co_partitioned` examine records of existing topics. `partition_profile`
examines rows that are not written yet. `simulate_rebalances` and `simulate_grid` simulate a group many times.

The modules:

- `columns` computes the partition, `hash_columns` the hash, and `keys` the bytes of a key. `routing` lays the
  rows out.
- `sinks` writes, `reading` reads, and `reshaping` copies a topic by another rule.
- `auditing` finds who wrote a topic, `co_partitioning` compares topics, and `profile` looks at rows before
  they are written. `simulation` simulates groups.
- `session` makes Kafka known to Spark. `shipping` and `packed_source` send this package to executors, and
  `errors` has the errors that all of these raise.

In the examples of docstrings `spark` is a session. `df` has 100 rows with columns `key` (user-0 to user-99)
and `value`. `records` has the records that Spark's Kafka source reads after the Java producer wrote these
rows to a topic of 12 partitions. `config` has the settings to reach a cluster with such a topic "orders" and
an empty topic "orders-18" of 18 partitions. `folder` is an empty folder. In `scenario` one of two consumers
crashes after a minute.

`_NAMES` lists the public names by the module that has them. A module is loaded when one of its names is first
used. So `import spark_integration` needs no PySpark, a driver that only computes a column loads no Kafka
client, and the error about a missing package tells which name needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partitioning.errors import MissingDependencyError
from partitioning.kit.packages import install_command, version

if TYPE_CHECKING:
    from spark_integration.auditing.plan import audit as audit
    from spark_integration.auditing.plan import audit_verdict as audit_verdict
    from spark_integration.co_partitioning import assert_co_partitioned as assert_co_partitioned
    from spark_integration.co_partitioning import co_partitioned as co_partitioned
    from spark_integration.columns import kafka_partition as kafka_partition
    from spark_integration.errors import *  # noqa: F403 - all that are listed below
    from spark_integration.profile import PartitionProfile as PartitionProfile
    from spark_integration.profile import partition_profile as partition_profile
    from spark_integration.reshaping.copying import CopyRound as CopyRound
    from spark_integration.reshaping.copying import reshape_copy as reshape_copy
    from spark_integration.reshaping.positions import MappedPosition as MappedPosition
    from spark_integration.reshaping.positions import map_positions as map_positions
    from spark_integration.reshaping.proof import Proof as Proof
    from spark_integration.reshaping.proof import prove as prove
    from spark_integration.routing import assert_routed as assert_routed
    from spark_integration.routing import route as route
    from spark_integration.session import configure_spark_with_kafka as configure_spark_with_kafka
    from spark_integration.session import register as register
    from spark_integration.simulation import simulate_grid as simulate_grid
    from spark_integration.simulation import simulate_rebalances as simulate_rebalances
    from spark_integration.sinks.cluster import partition_count as partition_count
    from spark_integration.sinks.connector import checked_for_topic as checked_for_topic
    from spark_integration.sinks.exactly_once.foreach_batch import write_exactly_once as write_exactly_once

    __version__: str

# The modules are in the order in which people need them. Errors that other packages raise, too, are missing
# here: they are in `partitioning.errors`.
_NAMES = {
    "columns": ("kafka_partition",),
    "routing": ("route", "assert_routed"),
    "auditing.plan": ("audit", "audit_verdict"),
    "co_partitioning": ("co_partitioned", "assert_co_partitioned"),
    "session": ("register", "configure_spark_with_kafka"),
    "sinks.exactly_once.foreach_batch": ("write_exactly_once",),
    "sinks.cluster": ("partition_count",),
    "sinks.connector": ("checked_for_topic",),
    "reshaping.copying": ("reshape_copy", "CopyRound"),
    "reshaping.positions": ("map_positions", "MappedPosition"),
    "reshaping.proof": ("prove", "Proof"),
    "profile": ("partition_profile", "PartitionProfile"),
    "simulation": ("simulate_rebalances", "simulate_grid"),
    "errors": (
        "SparkIntegrationError",
        "ColumnError",
        "ConnectorError",
        "DataLossError",
        "ExactlyOnceError",
        "HalfWrittenError",
        "LedgerAheadError",
        "LedgerInUseError",
        "LedgerMissingError",
        "NotCoPartitionedError",
        "PartitionCountError",
        "ReadError",
        "RecordError",
        "RerunDiffersError",
        "RoutingError",
    ),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = list(_HOME)


def __dir__() -> list[str]:
    """List the public names, loaded or not, and none of the names that this module imports."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def __getattr__(name: str) -> Any:
    """Return a public name from its module.

    Args:
        name: one of `__all__`, or "__version__".

    Raises:
        AttributeError: there is no such name.
        MissingDependencyError: the name's module needs PySpark, PyArrow or pandas, which is not installed.
    """
    if name == "__version__":
        return version()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOME[name]}")
    except ModuleNotFoundError as error:
        # The message about the extra is only for packages that the extra "spark" installs. Any other missing
        # module is a fault of the installation, so its error is shown unchanged.
        package = (error.name or "").partition(".")[0]
        if package not in {"pyspark", "pyarrow", "pandas"}:
            raise
        raise MissingDependencyError(
            f"spark_integration.{name} needs {package}; install it with: {install_command('spark')}"
        ) from error
    return getattr(module, name)
