"""Say which strategies each client can be configured with, and the settings that give it a strategy."""

from collections.abc import Sequence

from assignors.interface import RebalanceProtocol
from assignors.registry import get_assignor
from copartition.simulation.group.clients import BEHAVIOURS
from partitioning.kit.packages import read_toml

_CLIENTS = read_toml(__package__, "clients.toml")
"""Client -> its names of strategies, and the settings that it refuses under the consumer protocol."""

CLIENTS = tuple(_CLIENTS)
"""The kinds of clients that are known here."""

_OTHERS = {"kafka-python": 'KafkaPythonAssignor("{}")', "aiokafka": 'aiokafka_assignor("{}")'}
"""Client -> the object that gives it a strategy of this project; other clients accept no such object."""

_REMOTE = {"uniform": "uniform", "broker-range": "range"}
"""A broker's strategy, as it is named here -> its name in `group.remote.assignor`."""


def is_remote(strategies: tuple[str, ...]) -> bool:
    """Return whether these strategies need the consumer protocol, in which the broker assigns.

    Args:
        strategies: those that `plan_migration` accepts. A strategy of the broker is the only one in its list.
    """
    return not get_assignor(strategies[0]).protocols


def first_refusal(clients: Sequence[str], strategies: tuple[str, ...]) -> str | None:
    """Return why the first client that refuses these strategies does so; None if no client refuses them."""
    return next(filter(None, (_refusal(client, strategies) for client in clients)), None)


def _refusal(client: str, strategies: tuple[str, ...]) -> str | None:
    """Return why a client cannot be configured with these strategies; None if it can.

    Args:
        client: one of `CLIENTS`.
        strategies: those that `plan_migration` accepts.

    Returns:
        A clause that begins with the client's name.
    """
    if is_remote(strategies):
        # A client that does not speak the consumer protocol has no `consumer_late_ms`.
        speaks = BEHAVIOURS[client].consumer_late_ms is not None
        return None if speaks else f"{client} does not speak the consumer protocol (KIP-848)"
    own = _CLIENTS[client]["strategies"]
    unknown = [name for name in strategies if client not in _OTHERS and name not in own]
    if unknown:
        other = " but a class of your own" if client == "java" else ", and cannot be given one"
        return f"{client} has no strategy {unknown[0]}{other}"
    eager = [RebalanceProtocol.COOPERATIVE not in get_assignor(name).protocols for name in strategies]
    refusal = BEHAVIOURS[client].refusal(eager=eager)
    return refusal and f"{client} {refusal}"


def settings_of(
    strategies: tuple[str, ...], clients: Sequence[str], *, was_remote: bool
) -> dict[str, dict[str, str | None]]:
    """Return client -> setting -> value for members with these strategies; see `member_settings`."""
    return {client: member_settings(client, strategies, was_remote=was_remote) for client in clients}


def member_settings(client: str, strategies: tuple[str, ...], *, was_remote: bool) -> dict[str, str | None]:
    """Return the settings that start a member of this client with these strategies.

    Args:
        client: one of `CLIENTS`.
        strategies: strategies of the client's side, the preferred one first, or a single one of the broker.
        was_remote: True if the member has a strategy of the broker before.

    Returns:
        Setting -> its value; None for a setting that has to be removed, because the client does not start
        with it.
    """
    if is_remote(strategies):
        settings: dict[str, str | None] = {
            "group.protocol": "consumer",
            "group.remote.assignor": _REMOTE.get(strategies[0], strategies[0]),
        }
        # A member that speaks this protocol already has no setting that its client refuses under it.
        return settings if was_remote else settings | dict.fromkeys(_CLIENTS[client]["refused"])
    own = _CLIENTS[client]["strategies"]
    # A strategy that the client does not have is one of this project's, and the client gets it as an object.
    names = [own.get(name) or _OTHERS[client].format(name) for name in strategies]
    if client in _OTHERS:
        return {"partition_assignment_strategy": f"[{', '.join(names)}]"}
    # These clients take a text, unlike the list of objects above; the preferred name comes first in both.
    settings = {"partition.assignment.strategy": ",".join(names)}
    return settings | ({"group.protocol": "classic", "group.remote.assignor": None} if was_remote else {})
