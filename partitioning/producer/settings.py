"""The producer's settings that decide how it batches."""

from __future__ import annotations

from dataclasses import dataclass

from partitioning.errors import InvalidConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingSettings:
    """The producer's batching settings under Kafka's names, with the defaults of 4.x."""

    batch_size: int = 16_384
    linger_ms: float = 5.0
    buffer_memory: int = 33_554_432
    max_block_ms: float = 60_000.0
    max_request_size: int = 1_048_576
    max_in_flight_requests_per_connection: int = 5
    partitioner_adaptive_partitioning_enable: bool = True
    partitioner_availability_timeout_ms: float = 0.0

    def __post_init__(self) -> None:
        for name in ("batch_size", "linger_ms", "max_block_ms", "partitioner_availability_timeout_ms"):
            if getattr(self, name) < 0:
                raise InvalidConfigError(f"{name} is {getattr(self, name)}; give 0 or more")
        for name in ("buffer_memory", "max_request_size", "max_in_flight_requests_per_connection"):
            if getattr(self, name) < 1:
                raise InvalidConfigError(f"{name} is {getattr(self, name)}; give at least 1")
