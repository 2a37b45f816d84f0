"""From one list of strategies to another by rolling bounces: which are safe, or why none is.

A rolling bounce restarts one member after the other with new settings, so that for a while members with old
and new ones are in the group together. Sources: KIP-429 (eager to cooperative), KIP-848 (classic to consumer
protocol), and what the clients refuse, as `copartition.simulation` has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assignors.interface import RebalanceProtocol
from assignors.registry import check_for_consumers, get_assignor, name_in_group
from copartition.assignment_diff.needed import CO_PARTITIONED
from copartition.simulation.group.clients import PROFILES
from partitioning.errors import MigrationError, UnknownStrategyError
from partitioning.kit.packages import read_toml

_NAMES = read_toml(__package__, "migration.toml")
"""What each client calls a strategy of its own side."""

CLIENTS = tuple(_NAMES)
"""The kinds of clients that are known here."""

_OTHERS = {"kafka-python": 'KafkaPythonAssignor("{}")', "aiokafka": 'aiokafka_assignor("{}")'}
"""What stands for a strategy of this project, which a client can be given; the others can be given none."""

_MEANT = {"confluent-kafka": "librdkafka", "kafka-clients": "java"}
"""Names that people use for clients."""

_POLICIES = ("disabled", "upgrade", "downgrade", "bidirectional")

_REMOTE = {"uniform": "uniform", "broker-range": "range"}
"""What brokers call theirs."""


@dataclass(frozen=True, slots=True)
class Bounce:
    """A rolling bounce."""

    strategies: tuple[str, ...]  # what every member has when it is over, the preferred one first
    # Of each client, those to start its members with; None for one to remove.
    settings: dict[str, dict[str, str | None]]
    # The strategies that the group uses while old and new members are in it together.
    meanwhile: tuple[str, ...]
    why: str  # why that is safe


@dataclass(frozen=True, slots=True)
class Migration:
    """A way from one list of strategies to another."""

    # Each begun when the one before is over on all members; empty without need or way.
    bounces: tuple[Bounce, ...]
    obstacle: str | None = None  # why no rolling bounce is safe; None where there is a way
    warning: str | None = None  # what else changes for the application on the way
    assumed: tuple[str, ...] = ()  # what was taken for granted because nothing shows it


def plan_migration(
    before: Sequence[str],
    after: Sequence[str],
    *,
    clients: Sequence[str] = ("java",),
    policy: str = "bidirectional",
    group_version: int | None = None,
) -> Migration:
    """The fewest safe rolling bounces.

    Args:
        before: the strategies that all members have now, the preferred one first; one of a broker stands for
            the consumer protocol (KIP-848).
        after: the ones that they are to have.
        clients: the kinds of clients in the group, see `CLIENTS`.
        policy: `group.consumer.migration.policy` of the brokers: "disabled", "upgrade", "downgrade" or
            "bidirectional", their default.
        group_version: the cluster's level of the feature group.version; None where that is unknown.

    Raises:
        MigrationError: a list that is empty, names a strategy twice, or has one of a broker beside others; a
            client that cannot have what it is said to have now; or a client or a policy that is not known.
    """
    for value, names in (*((client, _NAMES) for client in clients), (policy, _POLICIES)):
        if value not in names:
            meant = f"; did you mean {_MEANT[value]}?" if value in _MEANT else ""
            raise MigrationError(f"{value!r} is none of {', '.join(names)}{meant}")
    old, new = (_check_strategies(tuple(map(name_in_group, each))) for each in (before, after))
    if fault := _first_refusal(clients, old):
        raise MigrationError(f"{fault}, so no member can have {', '.join(old)} now")
    if old == new:
        return Migration(())
    if _remote(new) and group_version == 0:
        return Migration(
            (), "the cluster does not know the consumer protocol (KIP-848): its feature group.version is 0"
        )
    return replace(_find_way(old, new, clients, policy), warning=_separation_warning(old, new))


def _separation_warning(old: tuple[str, ...], new: tuple[str, ...]) -> str | None:
    """That topics which were read together by number no longer are."""
    together = {*CO_PARTITIONED.values()}
    if old[0] not in together or new[0] in together:
        return None
    keeps = CO_PARTITIONED["consumer" if _remote(new) else "classic"]
    return (
        f"co-partitioned reading ends: {old[0]} gives equal numbers of equally large topics to one member, "
        f"{new[0]} does not; {keeps} keeps it"
    )


def _find_way(old: tuple[str, ...], new: tuple[str, ...], clients: Sequence[str], policy: str) -> Migration:
    if fault := _first_refusal(clients, new):
        return Migration((), fault)
    if _remote(old) or _remote(new):
        return _convert(old, new, clients, policy)
    if set(old) & set(new):
        return Migration((_bounce(old, new, clients),))
    both = (*new, *old)
    if fault := _first_refusal(clients, both):
        return Migration((), f"old and new members need a strategy in common, but {fault}")
    return Migration((_bounce(old, both, clients), _bounce(both, new, clients)))


def migration_verdict(
    before: str, after: str, clients: Sequence[str] = (), group_version: int | None = None
) -> str:
    """Whether rolling bounces lead from one strategy to another; for each client if none is named."""
    answers = []
    for kinds in [tuple(clients)] if clients else [(client,) for client in CLIENTS]:
        try:
            migration = plan_migration([before], [after], clients=kinds, group_version=group_version)
        except (MigrationError, UnknownStrategyError):
            continue
        number = len(migration.bounces)
        way = f"{number} rolling bounce{'' if number == 1 else 's'}"
        text = way if migration.obstacle is None else f"no safe way, as {migration.obstacle}"
        answers.append(f"{' and '.join(kinds)} {text}")
    return f"{before} to {after}: {'; '.join(answers) or 'no way is known here'}."


def _check_strategies(strategies: tuple[str, ...]) -> tuple[str, ...]:
    if "consumer" in strategies:
        raise MigrationError(
            "'consumer' is a protocol (KIP-848), not a strategy; did you mean uniform, its default, or "
            "broker-range?"
        )
    check_for_consumers(strategies, MigrationError)
    remote = [name for name in strategies if not get_assignor(name).protocols]
    if not strategies or len(set(strategies)) < len(strategies):
        raise MigrationError(f"strategies {', '.join(strategies)!r}; name one or more, each once")
    if remote and len(strategies) > 1:
        raise MigrationError(
            f"strategies {', '.join(strategies)!r}: {remote[0]} is the broker's and must stand alone"
        )
    return strategies


def _remote(strategies: tuple[str, ...]) -> bool:
    return not get_assignor(strategies[0]).protocols


def _first_refusal(clients: Sequence[str], strategies: tuple[str, ...]) -> str | None:
    """Why the first client that cannot be configured so cannot."""
    return next(filter(None, (_refusal(client, strategies) for client in clients)), None)


def _refusal(client: str, strategies: tuple[str, ...]) -> str | None:
    if _remote(strategies):
        speaks = PROFILES[client].consumer_late_ms is not None
        return None if speaks else f"{client} does not speak the consumer protocol (KIP-848)"
    unknown = [name for name in strategies if client not in _OTHERS and name not in _NAMES[client]]
    if unknown:
        own = " but a class of your own" if client == "java" else ", and cannot be given one"
        return f"{client} has no strategy {unknown[0]}{own}"
    eager = [RebalanceProtocol.COOPERATIVE not in get_assignor(name).protocols for name in strategies]
    refusal = PROFILES[client].refusal(eager=eager)
    return refusal and f"{client} {refusal}"


def _bounce(old: tuple[str, ...], new: tuple[str, ...], clients: Sequence[str]) -> Bounce:
    """Between lists with strategies in common, which alone the group can use meanwhile."""
    common = tuple(name for name in old if name in new)
    why = f"all members have {' and '.join(common)}; the coordinator chooses what all have"
    return Bounce(new, _settings(new, clients, was_remote=False), common, why)


def _convert(old: tuple[str, ...], new: tuple[str, ...], clients: Sequence[str], policy: str) -> Migration:
    """To the consumer protocol, from it, or within it."""
    settings = _settings(new, clients, was_remote=_remote(old))
    if _remote(old) and _remote(new):
        why = "the coordinator assigns by what most of those members want who want a certain assignor"
        return Migration((Bounce(new, settings, (*old, *new), why),))
    upgrade = _remote(new)
    needed = "upgrade" if upgrade else "downgrade"
    if policy not in {needed, "bidirectional"}:
        return Migration(
            (),
            f"group.consumer.migration.policy={policy} lets no group be converted while it has members; "
            f"{needed} or bidirectional does",
        )
    if upgrade and "librdkafka" in clients:
        return Migration(
            (),
            "where a librdkafka member leads, assignments carry user data, and the broker converts no such "
            "group: the first member that speaks the consumer protocol would be refused and stop",
        )
    if upgrade:
        why = "the first member that speaks the consumer protocol converts the group; the others stay in it"
    else:
        why = "the group is converted when the last member that speaks the consumer protocol is gone"
    return Migration((Bounce(new, settings, new if upgrade else old, why),))


def _settings(
    strategies: tuple[str, ...], clients: Sequence[str], *, was_remote: bool
) -> dict[str, dict[str, str | None]]:
    settings: dict[str, dict[str, str | None]] = {}
    for client in clients:
        if _remote(strategies):
            assignor = _REMOTE.get(strategies[0], strategies[0])
            settings[client] = {"group.protocol": "consumer", "group.remote.assignor": assignor}
            if not was_remote:
                settings[client]["partition.assignment.strategy"] = None
            continue
        names = [_NAMES[client].get(name) or _OTHERS[client].format(name) for name in strategies]
        if client in _OTHERS:
            settings[client] = {"partition_assignment_strategy": f"[{', '.join(names)}]"}
        else:
            settings[client] = {"partition.assignment.strategy": ",".join(names)}
        if was_remote:
            settings[client] |= {"group.protocol": "classic", "group.remote.assignor": None}
    return settings
