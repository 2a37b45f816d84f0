"""How long a rebalance takes, without running one."""


def expected_barrier_ms(members: int, heartbeat_interval_ms: float = 3_000) -> float:
    """The mean time until the last of these members has heard of a rebalance.

    Each hears at its next heartbeat, uniform in the interval, so the last of n takes n / (n + 1) of it.
    """
    return heartbeat_interval_ms * members / (members + 1)
