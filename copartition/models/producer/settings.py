"""Define the producer's settings for batching, and check the bounds of all its settings."""

from dataclasses import dataclass

from partitioning.errors import InvalidConfigError

INT_MAX = 2**31 - 1
"""The greatest `int` of Java."""
LONG_MAX = 2**63 - 1
"""The greatest `long` of Java."""

LATEST_MS = 2**53
"""The latest time and the longest latency: beyond it a float cannot hold every whole millisecond."""


def check_bounds(name: str, value: float, lowest: float, highest: float) -> None:
    """Raise `InvalidConfigError` unless the value is a number from `lowest` to `highest`; NaN is refused."""
    if not lowest <= value <= highest:
        raise InvalidConfigError(f"{name} is {value}; give {lowest} to {highest}")


def check_fields(settings: object, lowest: float, highest: float, *names: str) -> None:
    """Check the bounds of the fields with these names as `check_bounds` does; messages use the same names."""
    for name in names:
        check_bounds(name, getattr(settings, name), lowest, highest)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingSettings:
    """Holds the producer's batching settings under Kafka's names, with the defaults of Kafka 4.x.

    Names that end with `_ms` are milliseconds; sizes and memory are bytes.

    Raises:
        InvalidConfigError: a value is out of range.

    >>> BatchingSettings(linger_ms=20).batch_size
    16384
    """

    batch_size: int = 16_384
    linger_ms: float = 5.0
    buffer_memory: int = 33_554_432
    max_block_ms: float = 60_000.0
    max_request_size: int = 1_048_576
    max_in_flight_requests_per_connection: int = 5
    partitioner_adaptive_partitioning_enable: bool = True
    partitioner_availability_timeout_ms: float = 0.0

    def __post_init__(self) -> None:
        # Java's `ProducerConfig` also accepts 0 for `buffer.memory` and `max.request.size`. They must be at
        # least 1 here, because with 0 nothing could be sent.
        check_fields(self, 0, INT_MAX, "batch_size")
        check_fields(self, 0, LONG_MAX, "linger_ms", "max_block_ms", "partitioner_availability_timeout_ms")
        check_fields(self, 1, LONG_MAX, "buffer_memory")
        check_fields(self, 1, INT_MAX, "max_request_size", "max_in_flight_requests_per_connection")
