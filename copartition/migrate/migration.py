"""Decide which rolling bounces lead safely from one list of strategies to another, or why none does.

A rolling bounce restarts one member after the other with new settings. For a while, members with old settings
and members with new settings are in the group together. Three sources show what is safe: the walks, which are
experiments with real groups that `benchmarks/migrations` led from each strategy to each other one; the
coordinator's rule that all members need a strategy in common (KIP-429); and the settings that clients refuse.
"""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assignors.registry import check_for_consumers, get_assignor, name_in_group
from assignors.state import GroupState
from copartition.assignment_diff.needed import CO_PARTITIONED
from copartition.groups.offers import offered_lists
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.kit.words import list_names
from copartition.migrate.clients import CLIENTS, first_refusal, is_remote, settings_of
from copartition.migrate.walks import HOW, WalkResult, conversions, walks_of
from partitioning.errors import MigrationError, UnknownStrategyError
from partitioning.profiles import known_client

_POLICIES = ("disabled", "upgrade", "downgrade", "bidirectional")

_TIMEOUTS = "consumer.session.timeout.ms=45000,consumer.heartbeat.interval.ms=5000"
"""The settings of a group that are its members' timeouts in the consumer protocol, with Kafka's defaults."""

JAVA_ASSUMED = "all members are Java clients: the source does not show it; set others with --client"
"""The assumption for a group whose source does not show its clients."""

_NO_DEFAULT = (
    "partition.assignment.strategy of the members is set to range; Java members without this setting have "
    "range,cooperative-sticky, and if all do, the last bounce is enough"
)
"""The assumption for a group that uses "range", the preferred strategy of Java's default list."""


@dataclass(frozen=True, slots=True)
class Bounce:
    """A replacement of all members by members with other settings.

    The members are replaced one after the other, except in `Migration.stop`.

    Attributes:
        strategies: the strategies that every member has when the bounce is over, the preferred one first.
        settings: client library -> setting -> value to start its members with; None removes the setting.
        commands: commands to run before the bounce. They give the group the timeouts that its members can no
            longer set.
        meanwhile: the strategies that the group may use while old and new members are in it together; empty
            if they never are, because the whole group stops.
        why: why the bounce is safe, or, for a stop of the whole group, why nothing milder works.
        ground: the walks or rules that show this.
    """

    strategies: tuple[str, ...]
    settings: dict[str, dict[str, str | None]]
    commands: tuple[str, ...]
    meanwhile: tuple[str, ...]
    why: str
    ground: Evidence


@dataclass(frozen=True, slots=True)
class Migration:
    """A way from one list of strategies to another, or why there is none.

    Attributes:
        bounces: the bounces in order; each begins when the one before is over on all members. Empty if
            nothing has to change, or if no rolling bounce leads there.
        ground: the evidence for the answer; `Missing` if the sources do not show whether anything must
            change.
        obstacle: why no rolling bounce leads there; None if one does.
        instead: a sentence that says what helps if there is an obstacle; None without an obstacle, or if
            `stop` helps.
        stop: the stop of the whole group, if walks show that it works; None otherwise.
        remaining: the names of the members that the bounces are for; empty if they are for all members.
        warning: what else the migration changes for the application; None if nothing is known.
    """

    bounces: tuple[Bounce, ...]
    ground: Ground
    obstacle: str | None = None
    instead: str | None = None
    stop: Bounce | None = None
    remaining: tuple[str, ...] = ()
    warning: str | None = None


class _Fault(NamedTuple):
    """The reason why one bounce is not to be tried.

    Attributes:
        text: a clause for `Migration.obstacle`.
        instead: a sentence for `Migration.instead`; None if a stop of the group may help.
        sources: the walks or rules that show the fault.
    """

    text: str
    instead: str | None
    sources: tuple[str, ...]


class _Request(NamedTuple):
    """The arguments of `plan_migration` besides the lists of strategies.

    Attributes:
        clients: the kinds of clients in the group, see `CLIENTS`.
        policy: `group.consumer.migration.policy` of the brokers.
        group_version: the cluster's level of the feature group.version; None if it is unknown.
        group: the group's name, for commands.
    """

    clients: Sequence[str]
    policy: str
    group_version: int | None
    group: str


def plan_migration(
    before: Sequence[str],
    after: Sequence[str],
    *,
    clients: Sequence[str] = ("java",),
    policy: str = "bidirectional",
    group_version: int | None = None,
    group: str = "GROUP",
) -> Migration:
    """Return the fewest safe rolling bounces from one list of strategies to another.

    Args:
        before: the strategies that all members have now, the preferred one first. A strategy of the broker
            stands for the consumer protocol (KIP-848).
        after: the strategies that all members are to have, the preferred one first.
        clients: the kinds of clients in the group, see `CLIENTS`.
        policy: `group.consumer.migration.policy` of the brokers: "disabled", "upgrade", "downgrade" or
            "bidirectional", their default.
        group_version: the cluster's level of the feature group.version; None if it is unknown.
        group: the group's name, for commands.

    Raises:
        MigrationError: a list is empty, names a strategy twice, or has a strategy of the broker beside
            others; a client cannot have the strategies that it is said to have now; or a client or the policy
            is unknown.
    """
    for value, names in (*((client, CLIENTS) for client in clients), (policy, _POLICIES)):
        if value not in names:
            known = known_client(value)
            meant = f"; did you mean {known.client}?" if known is not None and known.client in names else ""
            raise MigrationError(f"{value!r} is none of {', '.join(names)}{meant}")
    old, new = (_check_strategies(tuple(map(name_in_group, names))) for names in (before, after))
    if fault := first_refusal(clients, old):
        raise MigrationError(f"{fault}, so no member can have {', '.join(old)} now")
    if old == new:
        return Migration(
            (), Evidence((f"the strategies named for now and then are the same: {','.join(old)}",))
        )
    asked = _Request(clients, policy, group_version, group)
    migration = _find_way(old, new, asked)
    changes = migration.bounces or migration.stop
    return replace(migration, warning=_separation_warning(old, new) if changes else None)


def _separation_warning(old: tuple[str, ...], new: tuple[str, ...]) -> str | None:
    """Return a warning that equal partition numbers of topics no longer go to one member; None if they do.

    Also None if the present strategy does not keep them together.

    Args:
        old: the present strategies, the preferred one first.
        new: the strategies that the members are to have.
    """
    together = {*CO_PARTITIONED.values()}
    if old[0] not in together or new[0] in together:
        return None
    keeps = CO_PARTITIONED["consumer" if is_remote(new) else "classic"]
    return (
        f"if the application joins topics of equal partition counts by partition, that ends: {new[0]} does "
        f"not give equal numbers to one member, {keeps} does"
    )


def _find_way(old: tuple[str, ...], new: tuple[str, ...], asked: _Request) -> Migration:
    """Return the shortest candidate way in which no bounce has a fault; if there is none, say why.

    Args:
        old: the present strategies.
        new: the strategies that the members are to have.
        asked: the clients, and what the brokers allow.
    """
    first: _Fault | None = None
    for lists in _candidates(old, new):
        faults = (_fault(*step, asked) for step in zip((old, *lists), lists, strict=False))
        fault = next(filter(None, faults), None)
        if fault is None:
            return _migration(old, lists, asked)
        # Kafka's documentation leads over a list that has both strategies. If the client has the new
        # strategy, the fault on that way is reported.
        if first is None or (first.instead is None and not is_remote(lists[0])):
            first = fault
    assert first is not None
    return _no_way(old, new, first, asked)


def _candidates(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Yield the ways that may be tried, the shortest first; a way has a list of strategies for each bounce.

    The second way leads over a list of both: a member with this list has a strategy in common with old
    members and with new ones.
    """
    yield (new,)
    if not (is_remote(old) or is_remote(new)):
        yield (tuple(dict.fromkeys((*new, *old))), new)
        # A group can be converted to the consumer protocol and back, and needs no common strategy for that.
        yield (("uniform",), new)


def _migration(old: tuple[str, ...], lists: Sequence[tuple[str, ...]], asked: _Request) -> Migration:
    """Return the migration by a way in which no bounce has a fault.

    Args:
        old: the strategies before the first bounce.
        lists: the strategies after each bounce.
        asked: the clients, and what the brokers allow.
    """
    bounces = []
    # Walks of the whole way are better evidence than walks of its single steps.
    whole = walks_of(asked.clients, (old, *lists))
    for before, after in zip((old, *lists), lists, strict=False):
        bounces.append(_bounce(before, after, whole, asked))
    assumed = dict.fromkeys(text for bounce in bounces for text in bounce.ground.assumed)
    sources = dict.fromkeys(text for bounce in bounces for text in bounce.ground.sources)
    if old == ("range",) and lists[-1] == ("cooperative-sticky",) and "java" in asked.clients:
        assumed[_NO_DEFAULT] = None
    return Migration(tuple(bounces), Evidence(tuple(sources), tuple(assumed)))


def _no_way(old: tuple[str, ...], new: tuple[str, ...], fault: _Fault, asked: _Request) -> Migration:
    """Return a migration without bounces: the fault, and a stop of the whole group if that worked in walks.

    Args:
        old: the present strategies.
        new: the strategies that the members are to have.
        fault: the fault of the candidate ways that is to be reported.
        asked: the clients, and what the brokers allow.
    """
    stopped = walks_of(asked.clients, (old, new), how="stop")
    if fault.instead is not None or not stopped or any(walk.fault for walk in stopped):
        instead = fault.instead or f"Nothing that was walked leads there; stay with {','.join(old)}."
        return Migration((), Evidence(fault.sources), fault.text, instead)
    why = (
        "no partition is read from when the last member leaves until the new ones are there; on each milder "
        "way that was walked the new member was refused, and the others read on"
    )
    # The walks of milder ways are shown besides those of the stop, so that readers see that they were tried.
    walks = [walk for how in HOW for walk in walks_of(asked.clients, (old, new), how)]
    ground = Evidence(tuple(map(str, walks)))
    settings = settings_of(new, asked.clients, was_remote=is_remote(old))
    stop = Bounce(new, settings, _commands(old, new, asked.group), (), why, ground)
    sources = tuple(dict.fromkeys((*fault.sources, *ground.sources)))
    return Migration((), Evidence(sources), fault.text, None, stop)


def migrate_group(
    state: GroupState, after: Sequence[str], *, clients: Sequence[str] = (), policy: str = "bidirectional"
) -> Migration:
    """Return the fewest safe rolling bounces of a group as its source shows it.

    Args:
        state: the group; its strategy must be known.
        after: the strategies that the members are to have, the preferred one first.
        clients: the kinds of clients in the group; empty: those that the state shows, else Java's.
        policy: see `plan_migration`.

    Returns:
        The migration. Its ground is `Missing` if the state does not show whether anything must change.

    Raises:
        MigrationError: see `plan_migration`.
    """
    assert state.strategy is not None
    old, new = (state.strategy,), tuple(map(name_in_group, after))
    # Java clients are assumed only if neither the user nor the source names any; the answer says so.
    kinds = tuple(clients) or state.clients
    asked = _Request(kinds or ("java",), policy, state.group_version, state.name or "GROUP")
    migration = plan_migration(old, after, **asked._asdict())
    lists = offered_lists(state)
    left = tuple(member.client_id or member.id for member in state.members if member.protocol == "classic")
    if left and is_remote(new):
        # Only the members that still speak the classic protocol have to lose its settings. If the assignor
        # changes, too, all members are restarted, and the members that have no such settings get none.
        migration = _convert_the_rest(new, asked, len(state.members), left)
        migration = migration if old == new else replace(migration, remaining=())
    elif isinstance(lists, Missing) and (old == new or (left and not is_remote(new))):
        to_say = (
            f"if a list has more than {state.strategy}, name it: copartition migrate {state.strategy},OTHER"
        )
        return Migration((), replace(lists, remedy=f"{lists.remedy}; {to_say} {','.join(after)}"))
    elif old == new:
        assert isinstance(lists, Evidence)
        wants = "every member asks the brokers for this assignor or for none, which no source shows"
        return Migration((), replace(lists, assumed=(wants,) if is_remote(new) else ()))
    assumed = [*state.assumed, *([] if kinds else [JAVA_ASSUMED])]
    if isinstance(lists, Missing) and not is_remote(old) and migration.obstacle is None:
        assumed.append(
            f"no member offers more than {state.strategy}, which no source shows; with more in a list these "
            "bounces are safe, too, but fewer may do"
        )
    ground = migration.ground
    assert isinstance(ground, Evidence)
    return replace(migration, ground=replace(ground, assumed=(*ground.assumed, *assumed)))


def _convert_the_rest(new: tuple[str, ...], asked: _Request, members: int, left: Sequence[str]) -> Migration:
    """Return the migration of the members that still speak the classic protocol in a converted group.

    Args:
        new: the strategy of the broker.
        asked: the clients, and the group's name.
        members: the number of members of the group, of both protocols.
        left: the names of the members that still speak the classic protocol.
    """
    settings = settings_of(new, asked.clients, was_remote=False)
    ground = Evidence((f"{len(left)} of {members} members speak the classic protocol, by their member type",))
    why = "the group is of the consumer protocol already, in which members of both protocols are together"
    bounce = Bounce(new, settings, _commands(("range",), new, asked.group), new, why, ground)
    return Migration((bounce,), ground, remaining=tuple(left))


def migration_verdict(
    before: str, after: str, clients: Sequence[str] = (), group_version: int | None = None
) -> str:
    """Say in a sentence whether rolling bounces lead from one strategy to another.

    Without `clients` the sentence is for Java's and says so.
    """
    try:
        migration = plan_migration(
            [before], [after], clients=clients or ("java",), group_version=group_version
        )
    except (MigrationError, UnknownStrategyError):
        return f"{before} to {after}: no way is known here."
    condition = "" if clients else " if all clients are Java's"
    if migration.obstacle is None:
        number = len(migration.bounces)
        return f"{before} to {after}: {number} rolling bounce{'' if number == 1 else 's'}{condition}."
    return f"{before} to {after}: no rolling bounce{condition}, as {migration.obstacle}."


def _check_strategies(strategies: tuple[str, ...]) -> tuple[str, ...]:
    """Return the strategies if a member can have this list.

    Raises:
        MigrationError: the list is empty, names a strategy twice, has a strategy of the broker beside others,
            or has the name of the consumer protocol.
    """
    # The protocol's name is looked for first, because no later message would tell what the user meant.
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


def _fault(old: tuple[str, ...], new: tuple[str, ...], asked: _Request) -> _Fault | None:
    """Return why a bounce from one list to another is not to be tried; None if it is safe.

    Args:
        old: the strategies of the members before the bounce.
        new: the strategies of the members after it.
        asked: the clients, and what the brokers allow.
    """
    if refusal := first_refusal(asked.clients, new):
        # A list of several strategies may be the one that `_candidates` makes. The client may well support
        # the strategy that the user wants, so no advice is given.
        instead = (
            None if len(new) > 1 else f"Stay with {','.join(old)}, or move to a client that has {new[0]}."
        )
        sources = tuple(map(str, walks_of(asked.clients, (old, new)))) or (
            f"the client's own rules: {refusal}",
        )
        return _Fault(refusal, instead, sources)
    if is_remote(old) == is_remote(new):
        # A classic member that has no strategy in common with the group gets InconsistentGroupProtocol, at
        # which clients stop. Under the consumer protocol the coordinator chooses the assignor, so any two
        # members fit together.
        accepted = is_remote(old) or {*old} & {*new}
        return None if accepted else _Fault("old and new members need a strategy in common", None, (_RULE,))
    return _conversion_fault(old, new, asked)


def _conversion_fault(old: tuple[str, ...], new: tuple[str, ...], asked: _Request) -> _Fault | None:
    """Return why a group is not to be converted between the protocols; None if it is safe."""
    if is_remote(new) and asked.group_version == 0:
        return _Fault(
            "the brokers do not know the consumer protocol (KIP-848)",
            "There is no way until the brokers are upgraded.",
            ("the cluster's feature group.version is 0",),
        )
    needed = "upgrade" if is_remote(new) else "downgrade"
    if asked.policy not in {needed, "bidirectional"}:
        policy = f"group.consumer.migration.policy={asked.policy}"
        return _Fault(
            f"{policy} lets no group be converted while it has members",
            f"Set it to {needed} or bidirectional on all brokers first.",
            (f"{policy}, as said",),
        )
    # One lost group is reason enough to refuse. Other groups may have come through by luck, because a member
    # came back before the rest had rebalanced without it.
    refused = [walk for walk in conversions(old, new, asked.clients) if walk.fault]
    if not refused:
        return None
    walk = refused[0]
    strategy = walk.way[0 if is_remote(new) else -1][0]
    return _Fault(
        f"brokers of Kafka {list_names(walk.kafka)} refuse to convert {' and '.join(walk.clients)} groups of "
        f"{strategy}",
        None,
        tuple(map(str, refused)),
    )


_RULE = "the coordinator's rule: it accepts no member without a strategy that all others have, too (KIP-429)"


def _bounce(
    old: tuple[str, ...], new: tuple[str, ...], whole: Sequence[WalkResult], asked: _Request
) -> Bounce:
    """Return a bounce that has no fault.

    Args:
        old: the strategies of the members before the bounce.
        new: the strategies of the members after it.
        whole: the walks along the whole way of which this bounce is a part.
        asked: the clients, and what the brokers allow.
    """
    settings = settings_of(new, asked.clients, was_remote=is_remote(old))
    commands = _commands(old, new, asked.group)
    if not (is_remote(old) or is_remote(new)):
        common = tuple(name for name in old if name in new)
        why = f"all members have {' and '.join(common)}; the coordinator chooses what all have"
        return Bounce(new, settings, commands, common, why, Evidence((_RULE, *map(str, whole))))
    walked = tuple(map(str, whole or conversions(old, new, asked.clients)))
    if is_remote(old) and is_remote(new):
        why = "the coordinator assigns by what most of those members want who want a certain assignor"
        return Bounce(new, settings, commands, (*old, *new), why, Evidence(walked))
    assumed = [f"group.consumer.migration.policy of the brokers is {asked.policy}"]
    if asked.group_version is None:
        assumed.append("the brokers know the consumer protocol: Kafka 4.0 or newer, feature group.version 1")
    if is_remote(new):
        why = "the first member that speaks the consumer protocol converts the group; the others stay in it"
    else:
        why = "the group is converted when the last member that speaks the consumer protocol is gone"
    ground = Evidence(walked, tuple(assumed))
    return Bounce(new, settings, commands, new if is_remote(new) else old, why, ground)


def _commands(old: tuple[str, ...], new: tuple[str, ...], group: str) -> tuple[str, ...]:
    """Return the commands by which members keep their timeouts when they go over to the consumer protocol.

    In this protocol the brokers set the timeouts. No command is needed for any other bounce.
    """
    if is_remote(old) or not is_remote(new):
        return ()
    # The timeouts are set for this group and not for the broker, so that other groups keep theirs.
    whose = f"--alter --entity-type groups --entity-name {shlex.quote(group)}"
    return (f"kafka-configs.sh --bootstrap-server HOST:PORT {whose} --add-config {_TIMEOUTS}",)
