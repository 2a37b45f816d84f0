"""The table of producer settings and record streams that the real producer runs."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Case = dict[str, Any]

PLACEMENTS = ("keyed", "unkeyed", "round-robin")
SECONDS = 4


def cases() -> Iterator[Case]:
    """Every case once; "unkeyed" is the built-in sticky partitioner with its defaults."""
    for placement, partitions, linger_ms in product(PLACEMENTS, (6, 16, 64), (5, 50)):
        yield _case(placement, partitions, linger_ms)
    for placement in PLACEMENTS:
        yield _case(placement, 16, 0, records_per_second=500)  # more is bounded by the sender thread
        yield _case(placement, 16, 1_000)
        yield _case(placement, 6, 1_000, batch_size=4_096)
        yield _case(placement, 6, 5, batch_size=65_536, value_bytes=100, records_per_second=10_000)
        yield _case(placement, 6, 100, batch_size=65_536, value_bytes=2_000)
        yield _case(placement, 6, 5, max_in_flight_requests_per_connection=1)
    yield _case("unkeyed", 1, 5)
    yield _case("unkeyed", 1, 20, records_per_second=500)


def _case(placement: str, partitions: int, linger_ms: int, **others: int) -> Case:
    case: Case = {
        "placement": placement,
        "partitions": partitions,
        "linger_ms": linger_ms,
        "batch_size": 16_384,
        "value_bytes": 512,
        "records_per_second": 2_500,
        "max_in_flight_requests_per_connection": 5,
        **others,
    }
    return {**case, "records": SECONDS * case["records_per_second"]}
