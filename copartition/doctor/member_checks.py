"""Check a group's members: its state, owners of partitions, subscriptions, settings, and its coordinator.

Each check is a function of the examined group and the limits, see `checks`. Times are milliseconds.
"""

from collections import Counter
from collections.abc import Sequence

from assignors.optimal.quality import AssignmentQuality
from copartition.assignment_diff.needed import is_even
from copartition.doctor.examination import OFFSETS_TOPIC, SHOWN, TIMEOUTS, Examination
from copartition.doctor.facts import find_clamped
from copartition.doctor.observing import (
    AGAIN,
    ASK,
    Limits,
    Observation,
    end_unknown,
    evidence,
    first_names,
    known_status,
    members_seen,
    need,
    need_visible,
    observe,
    owners_seen,
)
from copartition.groups.kinds import CLASSIC_STREAMS
from copartition.kit.evidence import Evidence
from copartition.kit.words import count, duration, list_names


def state_check(group: Examination, _: Limits) -> Observation:
    """Look for a group that is not Stable, or whose members changed between the two looks.

    A group that is Stable at both looks may have rebalanced in between.
    """
    members = count(len(group.state.members) + group.state.unlisted, "member")
    if group.last is not None and group.state.status is None:
        # librdkafka has no names for the states Assigning and Reconciling of the consumer protocol. Every
        # other state has a name.
        text = f"the group is assigning or reconciling with {members}"
        return Observation(True, text, evidence(f"the state in {group.where}"))
    status = known_status(group)
    least = "" if group.state.members_complete or group.state.unlisted else "at least "
    protocol, strategy = group.state.protocol or "unknown", group.state.strategy or "unknown"
    ground = evidence(f"the state in {group.where}")
    if changed := group.came_or_went:
        text = f"{count(changed, 'member')} came or went in {duration(group.elapsed_ms)}, so it rebalanced"
        return Observation(True, f"the group is {status} with {members}; {text}", ground)
    # A snapshot of a simulated run has "generation N" instead of a state: its rebalance has ended.
    return observe(
        status != "Stable" and not status.startswith("generation "),
        f"the group is {status} with {least}{members}",
        f"{status}, {least}{members}, protocol {protocol}, strategy {strategy}",
        ground,
        "empty" if status == "Empty" else "",
    )


def clients_check(group: Examination, _: Limits) -> Observation:
    """Look for different client libraries in a group whose leader computes the assignment.

    In a group of the consumer protocol the coordinator computes it, so the libraries do not matter. In other
    groups, members whose library is unknown are assumed to run one of the known libraries.
    """
    if group.state.protocol == "consumer":
        text = "the coordinator assigns, whatever the members' client libraries are"
        return Observation(False, text, evidence(f"the protocol in {group.where}"))
    members_seen(group)
    clients = need(
        group.state.clients or None,
        "the source does not show the members' client libraries",
        ASK if group.last is None else AGAIN,
    )
    unseen = "members whose bytes do not show their library run one of these"
    ground = evidence("the bytes with which members joined", assumed=[unseen])
    return Observation(len(clients) > 1, f"the members run {list_names(clients)}", ground)


def owners_check(group: Examination, _: Limits) -> Observation:
    """Look for partitions with two owners, as in a capture that was taken during a rebalance.

    The check is unknown if no member has a partition.
    """
    seen = owners_seen(group)
    twice = group.owned_twice
    return observe(
        twice, f"two members have {first_names(twice)}", "no partition has two owners", evidence(seen)
    )


def idle_check(group: Examination, _: Limits) -> Observation:
    """Look for members without a partition, which the source lists or only counts.

    Three cases have their own advice: there are too few partitions; there are enough partitions for every
    member; or members join and leave, so that their number may be wrong.
    """
    seen = owners_seen(group)
    every = zip(group.state.members, group.loads, strict=True)
    times = Counter(member.client_id or member.id for member, load in every if not load)
    names = [name if number == 1 else f"{name} ({number} members)" for name, number in times.items()]
    # A table with one row for each partition lists no idle members, but some sources tell their number.
    idle = times.total() + group.state.unlisted
    if not idle:
        if not group.state.members_complete:
            table = "kafka-consumer-groups.sh --describe --members --verbose --group GROUP >> FILE"
            more = f"add a table: {table}, or "
            end_unknown("the source does not show members without partitions", more + ASK)
        return Observation(False, "every member has partitions", evidence(seen))
    unlisted = [f"{group.state.unlisted} that the source counts and does not list"] * bool(
        group.state.unlisted
    )
    text = f"{count(idle, 'member')} without a partition: {list_names([*names, *unlisted], SHOWN)}"
    once = "these members stay: one look does not show members that restart again and again"
    enough = len(group.owners) >= len(group.state.members) + group.state.unlisted
    case = "unsteady" if group.came_or_went else "enough" if enough else ""
    return Observation(
        True, text, evidence(seen, assumed=[once] if group.members_before is None else []), case
    )


def _subscriptions(group: Examination) -> list[tuple[str, ...]]:
    """Return the topics that each member subscribes to, in the order of members.

    Raises:
        UnknownError: the topics of a member are unknown. If the cluster hides topics of the group, the error
            names that as the reason.
    """
    members = group.state.members
    topics = [member.topics for member in members if member.topics is not None]
    if len(topics) < len(members):
        need_visible(group)
        what = "the source does not show what every member subscribes to"
        end_unknown(what, ASK if group.last is None else AGAIN)
    return topics


def _balance(group: Examination) -> tuple[AssignmentQuality, Evidence]:
    """Judge how even the loads are, as `assignment-diff` does.

    The check is unknown if a partition has two owners, or has an owner although no member subscribes to its
    topic. An even balance is unknown, too, if the source may leave out members without partitions.

    Args:
        group: the group. If it has a single topic, members without a known subscription are assumed to read
            that topic.

    Returns:
        The judgement, and the evidence and assumptions on which it is based.
    """
    seen = [owners_seen(group)]
    assumed = []
    if len(group.state.topics) == 1 and any(member.topics is None for member in group.state.members):
        # With a single topic there is nothing else that members could subscribe to.
        assumed.append(f"every member subscribes to {group.state.topics[0]}, the only topic shown")
    else:
        _subscriptions(group)
        seen.append("subscriptions")
    if not group.state.complete:
        assumed.append("no partitions but those shown")
    balance = group.balance
    if balance is None:
        if group.owned_twice:
            end_unknown("a partition has two owners", "see owners")
        end_unknown("a partition has an owner, and no member subscribes to its topic", AGAIN)
    # If the source hides a member without partitions, loads that look even are uneven. Loads that look uneven
    # are uneven in any case.
    if is_even(balance) and not (group.state.members_complete or group.state.unlisted):
        end_unknown("the source does not show members without partitions, which would be given some", ASK)
    return balance, evidence(*seen, assumed=assumed)


def _share(loads: Sequence[int]) -> str:
    """Return how many partitions members have, such as "1 to 3 partitions a member"."""
    fewest, most = min(loads), max(loads)
    return f"{f'{fewest:,} to ' if fewest < most else ''}{count(most, 'partition')} a member"


def _who_assigns(group: Examination) -> str:
    """Return the case of the advice, which depends on what computes the assignment.

    "consumer": the coordinator; "streams": a leader of Kafka Streams; "": another leader.
    """
    if group.state.strategy == CLASSIC_STREAMS:
        return "streams"
    return "consumer" if group.state.protocol == "consumer" else ""


def load_check(group: Examination, _: Limits) -> Observation:
    """Look for an assignment that is less even than the best possible one, as `assignment-diff` judges it.

    The advice depends on what computes the assignment, and on whether partitions have no owner.
    """
    balance, ground = _balance(group)
    loads, best = _share(balance.loads), _share(balance.best_loads)
    case = "unread" if balance.unassigned else _who_assigns(group)
    free = f", {count(balance.unassigned, 'partition')} without an owner" if balance.unassigned else ""
    return observe(
        not is_even(balance),
        f"{loads}{free}; {best} can be had",
        f"{loads}; no assignment is more even",
        ground,
        case,
    )


def spread_check(group: Examination, _: Limits) -> Observation:
    """Look for a topic of which one member has at least two partitions more than its share.

    The share is the topic's partitions divided by its subscribers, rounded up. A member may have more than
    its share of a busy topic although all members have equally many partitions.
    """
    balance, ground = _balance(group)
    fullest, share = balance.topic_fullest, balance.best_topic_fullest
    text = f"a member has {count(fullest, 'partition')} of one topic, its share is {share}"
    case = _who_assigns(group)
    return Observation(balance.topic_excess > 1, text, ground, case)


def subscriptions_check(group: Examination, _: Limits) -> Observation:
    """Look for members that subscribe to different topics."""
    seen = members_seen(group)
    subscribed = [{*member.topics} for member in group.state.members if member.topics is not None]
    # Members with unknown subscriptions cannot hide a difference between those that are known.
    common: set[str] = set.intersection(*subscribed) if subscribed else set()
    some = sorted({name for topics in subscribed for name in topics} - common)
    # One difference is enough for a fault. "No difference" needs the subscriptions of every member.
    if not some:
        _subscriptions(group)
    text = f"only some members subscribe to {list_names(some, SHOWN)}"
    ground = evidence(f"subscriptions of {seen}")
    return observe(some, text, "all members subscribe to the same topics", ground)


def static_check(group: Examination, _: Limits) -> Observation:
    """Look for a `group.instance.id` that two members have, that moves, or that only some members have.

    There are three faults, and the first one found is reported: two members have the same id; an id belongs
    to another member than at the first look; only some members have an id.
    """
    seen = members_seen(group)
    names = [member.instance_id for member in group.state.members if member.instance_id]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    before = {member.instance_id: member.id for member in group.members_before or ()}
    # An id that the first look did not show is that of a new member; it did not move.
    moved = sorted(
        member.instance_id
        for member in group.state.members
        if member.instance_id and before.get(member.instance_id, member.id) != member.id
    )
    ground = evidence(f"group.instance.id of {seen}")
    if twice:
        return Observation(True, f"two members have the group.instance.id {list_names(twice, SHOWN)}", ground)
    if moved:
        text = "it restarted, or two processes have that id"
        shown = list_names(moved, SHOWN)
        return Observation(True, f"between the looks {shown} got another member id: {text}", ground)
    # A file without any id may be the output of a tool that does not print them. A cluster shows all ids.
    if not names and group.last is None:
        end_unknown("the source shows no group.instance.id; not every capture has them")
    members = count(len(group.state.members), "member")
    return observe(
        0 < len(names) < len(group.state.members),
        f"{len(names)} of {members} have a group.instance.id",
        f"{len(names)} of {members} are static",
        ground,
    )


def timeouts_check(group: Examination, _: Limits) -> Observation:
    """Look for a session that is shorter than three heartbeats or longer than `max.poll.interval.ms`.

    In a classic group only members know these timeouts. In the consumer protocol (KIP-848) the coordinator
    tells the heartbeat interval and the session timeout to its members. It takes them from the settings of
    the group, which brokers show.

    Raises:
        UnknownError: the heartbeat interval or the session timeout is unknown. If only the time between polls
            is unknown, it is assumed to be above the session timeout.
    """
    consumer = group.state.protocol == "consumer"
    times = {name: _milliseconds(group, name) for name in TIMEOUTS}
    heartbeat, session, poll = times.values()
    if heartbeat is None or session is None:
        if consumer:
            shown_by = "kafka-configs.sh --describe --entity-type groups --entity-name GROUP"
            right = f"give this user DESCRIBE_CONFIGS on the group; {shown_by} shows them"
            end_unknown("no broker shows this user the group's consumer.session.timeout.ms", right)
        what = "the timeouts of a classic group are in its members' configurations only"
        end_unknown(what, f"give {', '.join(TIMEOUTS)} with --set")
    ground = evidence(
        "the group's settings at its brokers, or --set" if consumer else "--set",
        assumed=["max.poll.interval.ms is above the session"] if poll is None else [],
    )
    case = "consumer" if consumer else ""
    # "Typically should be set no higher than 1/3 of that value", says Kafka's documentation of
    # `heartbeat.interval.ms` about `session.timeout.ms`; here the same is asked of the consumer protocol.
    if 3 * heartbeat > session:
        text = f"{duration(session)} of session hold fewer than 3 heartbeats of {duration(heartbeat)}"
        return Observation(True, text, ground, case)
    text = f"heartbeat {duration(heartbeat)}, session {duration(session)}"
    if poll is None:
        return Observation(False, text, ground)
    return observe(
        session > poll,
        f"session.timeout.ms {session:,.0f} is above max.poll.interval.ms {poll:,.0f}",
        f"{text}, poll {duration(poll)}",
        ground,
        case,
    )


def _milliseconds(group: Examination, name: str) -> float | None:
    """Return a timeout in milliseconds; None if it is unknown, or not a number."""
    try:
        # The user may have given the value with --set. A value that is not a number counts as unknown.
        return float(group.settings[name])
    except (KeyError, ValueError):
        return None


def converted_check(group: Examination, _: Limits) -> Observation:
    """Look for a group of the consumer protocol in which members still speak the classic one.

    A group of another protocol is "ok". The check is unknown if no member is known to be classic, and the
    source does not tell the protocol of every member.
    """
    seen = members_seen(group)
    protocol = need(group.state.protocol, "the source does not show the group's protocol")
    if protocol != "consumer":
        return Observation(
            False, f"the group's protocol is {protocol}", evidence(f"the protocol in {group.where}")
        )
    kinds = Counter(member.protocol for member in group.state.members)
    if classic := kinds["classic"]:
        text = f"{classic} of {count(len(group.state.members), 'member')} still speak the classic protocol"
        return Observation(True, text, evidence(seen))
    if kinds[None]:
        end_unknown("the source does not show which protocol each member speaks")
    return Observation(False, "every member speaks the consumer protocol", evidence(seen))


def limits_check(group: Examination, _: Limits) -> Observation:
    """Look for settings of a group that its brokers replace by their own limits (KIP-1240).

    A broker still describes such a setting with the value that was set, so both are compared here. A classic
    group has no settings at its brokers and is "ok".
    """
    protocol = need(group.state.protocol, "the source does not show the group's protocol")
    if protocol != "consumer":
        text = "a classic group has no settings at its brokers"
        return Observation(False, text, evidence(f"the protocol in {group.where}"))
    if group.own_settings is None or group.limits is None:
        right = "give this user DESCRIBE_CONFIGS on the group and on the cluster"
        end_unknown(
            "the source does not show the group's settings and the brokers' limits",
            ASK if group.last is None else right,
        )
    clamped = find_clamped(group.own_settings, group.limits)
    text = list_names([str(setting) for setting in clamped], SHOWN)
    ok = f"{count(len(group.own_settings), 'setting')} are inside the brokers' limits"
    return observe(clamped, text, ok, evidence("the group's settings", "the coordinator's settings"))


_BY_RACK = {"range", "sticky", "cooperative-sticky"}
"""The strategies that look at racks (KIP-881), as Java's and librdkafka's clients have them."""


def racks_check(group: Examination, _: Limits) -> Observation:
    """Look for a client.rack that has no effect.

    A rack may have two effects. Some strategies prefer members in the rack of a partition's replicas. With
    a replica.selector.class, brokers let members fetch from a replica in their rack. It is a fault only if
    neither is the case.
    """
    seen = members_seen(group)
    racked = sorted({member.client_id or member.id for member in group.state.members if member.rack})
    if not racked:
        if group.last is None:
            end_unknown("the source does not show racks")
        return Observation(False, "no member has a client.rack", evidence(seen))
    if not group.state.racks:
        end_unknown("the source does not show the racks of replicas")
    ground = evidence(seen, "the racks of replicas")
    who = f"client.rack of {list_names(racked, SHOWN)} decides nothing"
    if not any(rack for topic in group.state.racks for racks in topic or () for rack in racks):
        return Observation(True, f"{who}: no broker has a broker.rack", ground)
    strategy = need(group.state.strategy, "the source does not show the strategy")
    if strategy in _BY_RACK and group.state.leading_client != "kafka-python":
        return Observation(False, f"{strategy} looks at client.rack", ground)
    remedy = ASK if group.last is None else "give this user DESCRIBE_CONFIGS on the cluster"
    limits = need(group.limits, "no broker shows its replica.selector.class", remedy)
    ground = evidence(*ground.sources, "replica.selector.class of the coordinator")
    if limits.get("replica.selector.class"):
        return Observation(False, "client.rack decides from which replica members fetch", ground)
    text = f"{who}: {strategy} ignores racks, and no replica.selector.class is set"
    return Observation(True, text, ground, "ignored")


def joined_check(group: Examination, limits: Limits) -> Observation:
    """Look for topics that are joined by partition, and whose equal partition numbers have different owners.

    One such number is enough for a fault. To say that there is none, the source must show every partition of
    these topics.

    Raises:
        UnknownError: no topics are named with --join; a topic is not in the group; a partition has two
            owners; or no equal partition numbers are known to have different owners, and some partitions are
            not shown or have no owner.
    """
    need(limits.joined or None, "no source tells which topics are joined", "name them with --join A,B")
    seen = owners_seen(group)
    if group.owned_twice:
        end_unknown("a partition has two owners", "see owners")
    # These are the partition numbers that the source shows of each topic. It may not show all, see `complete`
    # below.
    numbers = {name: {number for topic, number in group.owners if topic == name} for name in limits.joined}
    if missing := sorted(name for name, shown in numbers.items() if not shown):
        end_unknown(f"the group shows nothing of {list_names(missing)}", "see that members subscribe to it")
    shared = set.intersection(*numbers.values())
    owners = {number: {group.owners[name, number] for name in limits.joined} for number in shared}
    apart = [number for number, members in owners.items() if len(members) > 1]
    ground = evidence(seen)
    # One number with different owners proves the fault. "All have the same owner" needs every partition.
    if not group.state.complete and not apart:
        end_unknown("the source does not show all partitions of the topics")
    if len({len(shown) for shown in numbers.values()}) > 1 and group.state.complete:
        text = ", ".join(f"{name} {len(shown)}" for name, shown in numbers.items())
        return Observation(True, f"the topics differ in partitions: {text}", ground)
    # A number whose partitions all lack an owner proves nothing.
    free = [number for number, members in owners.items() if members == {-1}]
    if free and not apart:
        end_unknown(f"{count(len(free), 'partition number')} of the topics have no owner", "see unread")
    text = f"{count(len(apart), 'partition number')} of the topics are with different members"
    return observe(apart, text, "equal partition numbers of the topics are with one member", ground)


def coordinator_check(group: Examination, _: Limits) -> Observation:
    """Look for a broker with more than twice its share of the groups, and more than 20 of them.

    The share is the number of groups divided by the number of brokers. Up to 20 groups do not count, because
    the coordinator is chosen by a hash of the group's name, so that few groups are never spread evenly. The
    check is unknown for a file, and if this user may not list groups or not DESCRIBE `__consumer_offsets`.
    """
    broker, here, others, brokers = need(
        group.coordinator,
        "the source does not show the coordinators of the cluster's groups",
        ASK if group.last is None else f"give this user DESCRIBE on the topic {OFFSETS_TOPIC}",
    )
    groups = count(here + others, "group")
    ground = evidence(
        f"leaders of {OFFSETS_TOPIC} and names of {groups}",
        assumed=["groups that this user may not DESCRIBE are not counted"],
    )
    text = f"broker {broker} looks after {here} of {groups} that this user may see"
    return Observation(brokers > 1 and here > 20 and here * brokers > 2 * (here + others), text, ground)
