"""The strategies of groups, by the names that `get_assignor` knows."""

from __future__ import annotations


def strategy_name(told: str | None, protocol: str | None) -> str | None:
    """The strategy that Kafka tells; the coordinator's "range" is not the clients' (KIP-848)."""
    return "broker-range" if (told, protocol) == ("range", "consumer") else told or None
