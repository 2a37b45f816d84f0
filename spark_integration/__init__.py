"""Kafka's partition of every row of a DataFrame: compute it, route by it, write to it.

The names are loaded when first used, so `import spark_integration` needs no PySpark.

In the examples of docstrings `spark` is a session, `df` has columns `key` (user-0 to user-99) and `value`,
`records` is what Spark's Kafka source reads after Java wrote them to a topic of 12 partitions, and `config`
leads to a cluster with such a topic "orders" and an empty one "orders-18"; `folder` is an empty folder. In
`scenario` one of two consumers crashes after a minute.

In the order of use: `kafka_partition` adds a column, `route` lays rows out by it, and `write_exactly_once`,
`format("copartition")` after `register`, or Spark's own connector after `checked_for_topic` write them.
`reshape_copy`, `map_positions` and `prove` move a topic to another partition count, rule or key.
`audit` and `co_partitioned` look at records that are there already; `partition_profile` at rows that are not
written yet.

`_NAMES` lists the public names by the module that has them. A name is looked up when it is first asked for,
so a driver that only computes a column loads no client of Kafka, and a missing package is named with the name
that needs it.
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

# In the order in which people need them; errors of all packages are in `partitioning.errors`.
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
    """List the public names, loaded or not, and none of what this module imports."""
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})


def __getattr__(name: str) -> Any:
    """Return a public name from its module.

    Args:
        name: one of `__all__`, or "__version__".

    Raises:
        AttributeError: there is no such name.
        MissingDependencyError: its module needs PySpark, PyArrow or pandas, which is not installed.
    """
    if name == "__version__":
        return version()
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOME[name]}")
    except ModuleNotFoundError as error:
        # Only what the extra brings: any other missing module is a fault of the installation and shown as it
        # is.
        package = (error.name or "").partition(".")[0]
        if package not in {"pyspark", "pyarrow", "pandas"}:
            raise
        raise MissingDependencyError(
            f"spark_integration.{name} needs {package}; install it with: {install_command('spark')}"
        ) from error
    return getattr(module, name)
