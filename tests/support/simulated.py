"""A simulated group, and what its run says, as tests ask for it."""

from assignors.group import Topic
from copartition.simulation import Consumer, Costs, Scenario, Settings, simulate

ORDERS = (Topic("orders", 12),)


def group(count, **fields):
    """So many consumers, all alike."""
    return tuple(Consumer(f"c{number}", **fields) for number in range(count))


def beating(*beats_ms, **fields):
    """Consumers whose first heartbeats are at these times."""
    return tuple(Consumer(f"c{number}", beat_ms=beat_ms, **fields) for number, beat_ms in enumerate(beats_ms))


def run(consumers, *events, assignor, topics=ORDERS, costs=None, seed=0, until_ms=None, **settings):
    """A run of these consumers with these settings of theirs."""
    of, costs = Settings(**settings), costs or Costs()
    return simulate(
        Scenario(topics, tuple(consumers), events, assignor, of, seed, costs=costs, until_ms=until_ms)
    )


def entries(result, *kinds):
    """The entries of its log of these kinds, each with its subject."""
    return [(entry.what, entry.subject) for entry in result.log if entry.what in kinds]


def when(result, what):
    """The times of the entries of this kind."""
    return [entry.at_ms for entry in result.log if entry.what == what]
