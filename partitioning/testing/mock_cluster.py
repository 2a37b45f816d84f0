"""Runs a Kafka cluster without a JVM: the mock cluster inside librdkafka, which ctypes calls."""

import ctypes
import os
import weakref
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Self

from partitioning.errors import (
    ClusterError,
    InvalidConfigError,
    InvalidPartitionCountError,
    MissingDependencyError,
)
from partitioning.kit.packages import needs

_PRODUCER = 0  # RD_KAFKA_PRODUCER, of the C type rd_kafka_type_t
_CONF_OK = 0  # RD_KAFKA_CONF_OK, of the C type rd_kafka_conf_res_t
_ERROR_TEXT_BYTES = 512
_MOST_REPLICAS = 3
_MOST_PARTITIONS = 100_000  # all are allocated at once, and librdkafka aborts the process if memory ends


class MockClusterError(ClusterError):
    """librdkafka refused an operation on its mock cluster."""


class MockCluster:
    """A Kafka cluster on loopback TCP ports, gone when it is closed; use it as a context manager.

    Clients in this process and in others on the machine reach it at `bootstrap_servers`. It answers producers
    (including idempotent ones), fetches, consumer groups and offset commits. It differs from a real cluster:

    - A partition keeps at most 5 MiB and 100,000 records. Older ones are dropped without an error, so count
      the records that you read back, or read while writing.
    - A topic that was not created appears with 4 partitions as soon as a client asks for it.
    - There is no controller: AdminClient calls that create, grow, delete or describe topics or groups fail.
    - Transactions begin and commit, but offsets sent to one are not kept and aborted records stay readable.
    - kafka-python needs `api_version=(2, 0)`. Groups of two or more kafka-python or aiokafka consumers never
      become stable.
    - Java clients and @platformatic/kafka cannot read its metadata: give them a real broker.

    >>> with MockCluster(brokers=3) as cluster:
    ...     len(cluster.bootstrap_servers.split(","))
    3

    Args:
        brokers: how many brokers it has.

    Raises:
        MissingDependencyError: confluent-kafka is not installed, or its librdkafka has no mock cluster.
        InvalidConfigError: `brokers` is below 1.
        MockClusterError: librdkafka cannot start the cluster.
    """

    def __init__(self, brokers: int = 1) -> None:
        if brokers < 1:
            raise InvalidConfigError(f"a mock cluster needs at least 1 broker, not {brokers}")
        self._library = _librdkafka()
        client = _client(self._library)
        self._cluster = self._library.rd_kafka_mock_cluster_new(client, brokers)
        if not self._cluster:
            self._library.rd_kafka_destroy(client)
            raise MockClusterError(f"librdkafka could not start a mock cluster of {brokers} brokers")
        # The finalizer also closes the cluster if this object is collected or the interpreter ends.
        self._close = weakref.finalize(self, _destroy, self._library, self._cluster, client, os.getpid())
        self._replicas = min(brokers, _MOST_REPLICAS)
        self.bootstrap_servers: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def create_topic(self, name: str, partitions: int) -> None:
        """Create a topic with this many partitions, ready to be written when this returns.

        Raises:
            InvalidPartitionCountError: `partitions` is outside 1 .. 100,000.
            MockClusterError: the topic exists, or the cluster is closed.
        """
        if not 1 <= partitions <= _MOST_PARTITIONS:
            raise InvalidPartitionCountError(
                f"topic {name!r} cannot have {partitions} partitions in a mock cluster: "
                f"give 1 .. {_MOST_PARTITIONS:,}"
            )
        # The memory of a closed cluster is freed, so a call would crash the process.
        if not self._close.alive:
            raise MockClusterError(f"topic {name!r} cannot be created: the mock cluster is closed")
        error = self._library.rd_kafka_mock_topic_create(
            self._cluster, name.encode(), partitions, self._replicas
        )
        if error:
            text = self._library.rd_kafka_err2str(error).decode()
            raise MockClusterError(f"topic {name!r} with {partitions} partitions cannot be created: {text}")

    def close(self) -> None:
        """Stop the cluster and free its ports; a second call does nothing."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _client(library: ctypes.CDLL) -> int:
    """Return a quiet librdkafka client; a mock cluster lives inside one."""
    text = ctypes.create_string_buffer(_ERROR_TEXT_BYTES)
    config = library.rd_kafka_conf_new()
    if library.rd_kafka_conf_set(config, b"log_level", b"0", text, _ERROR_TEXT_BYTES) != _CONF_OK:
        library.rd_kafka_conf_destroy(config)
        raise MockClusterError(f"librdkafka refuses log_level=0: {text.value.decode()}")
    client: int | None = library.rd_kafka_new(_PRODUCER, config, text, _ERROR_TEXT_BYTES)
    if client is None:
        library.rd_kafka_conf_destroy(config)
        raise MockClusterError(f"librdkafka could not start: {text.value.decode()}")
    return client


def _destroy(library: ctypes.CDLL, cluster: int, client: int, owner: int) -> None:
    if os.getpid() != owner:  # a forked child has none of librdkafka's threads, and would wait for them
        return
    library.rd_kafka_mock_cluster_destroy(cluster)
    library.rd_kafka_destroy(client)


@cache
def _librdkafka() -> ctypes.CDLL:
    """Return the librdkafka that confluent-kafka uses, with signatures for the functions called here."""
    with needs("MockCluster", "kafka"):
        from confluent_kafka import cimpl  # noqa: PLC0415 - optional
    for path in _candidates(cimpl):
        try:
            library = ctypes.CDLL(path)
            _declare(library)
        except (OSError, AttributeError):
            continue
        return library
    raise MissingDependencyError(
        f"the librdkafka of {cimpl.__file__} has no mock cluster (rd_kafka_mock_cluster_new): "
        "take confluent-kafka's own wheel: "
        "pip install --force-reinstall --only-binary confluent-kafka confluent-kafka"
    )


def _candidates(extension: ModuleType) -> list[str]:
    """Return the paths of the files in which librdkafka's functions may be found, the best one first.

    A lookup in the extension module also searches the libraries that it is linked to: the wheel's own
    librdkafka, or the system's. Only Windows searches nothing but the named file; for it the wheel's own
    libraries follow.
    """
    assert extension.__file__ is not None
    package = Path(extension.__file__).parent
    bundled = sorted(package.parent.glob("confluent_kafka.libs/*rdkafka*"))
    return [extension.__file__, *map(str, bundled)]


def _declare(library: ctypes.CDLL) -> None:
    """Give librdkafka's functions their C signatures.

    Raises:
        AttributeError: this library lacks one of the functions.
    """
    # Without a signature ctypes passes and returns 32-bit integers, which cuts pointers in half.
    pointer, text, number, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t
    for name, result, arguments in (
        ("rd_kafka_conf_new", pointer, []),
        ("rd_kafka_conf_set", number, [pointer, text, text, text, size]),
        ("rd_kafka_conf_destroy", None, [pointer]),
        ("rd_kafka_new", pointer, [number, pointer, text, size]),
        ("rd_kafka_destroy", None, [pointer]),
        ("rd_kafka_err2str", text, [number]),
        ("rd_kafka_mock_cluster_new", pointer, [pointer, number]),
        ("rd_kafka_mock_cluster_bootstraps", text, [pointer]),
        ("rd_kafka_mock_cluster_destroy", None, [pointer]),
        ("rd_kafka_mock_topic_create", number, [pointer, text, number, number]),
    ):
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
