"""The table of checks: a function each, from an examination to what it sees.

A new check is a function and a row of `CHECKS`; docs/doctor.md lists the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np

from copartition.diff.needed import balance_of
from copartition.words import count, duration, list_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from copartition.doctor.examination import Examination

Status: TypeAlias = Literal["ok", "found", "unknown"]
Seen: TypeAlias = tuple[Status, str]

_SHOWN = 5


class Limits(NamedTuple):
    """What is still healthy."""

    lag: int = 10_000  # records, of one partition
    hot: float = 0.5  # the largest share of the new records that one partition may get
    written: int = 1_000  # fewer new records say nothing of hot partitions
    joined: tuple[str, ...] = ()  # topics that are joined partition by partition


class Check(NamedTuple):
    """A check: what it is called, what it does, why a finding matters, and what to do."""

    name: str
    look: Callable[[Examination, Limits], Seen]
    severity: Literal["problem", "warning"]
    why: str
    action: str
    vital: bool = False  # a group of which this is unknown is not called healthy


class Finding(NamedTuple):
    """What one check sees in one group."""

    check: Check
    status: Status
    text: str


def findings(examination: Examination, limits: Limits) -> list[Finding]:
    """What every check sees, in the order of the table."""
    return [Finding(check, *check.look(examination, limits)) for check in CHECKS]


def exit_code(results: Iterable[Finding]) -> int:
    """1 where something is found, else 2 where a vital check cannot tell, else 0."""
    every = list(results)
    if any(each.status == "found" for each in every):
        return 1
    return 2 if any(each.status == "unknown" and each.check.vital for each in every) else 0


def _names(partitions: Iterable[tuple[str, int]]) -> str:
    return list_names([f"{topic}-{number}" for topic, number in sorted(partitions)], _SHOWN)


def _state(group: Examination, _: Limits) -> Seen:
    status = group.state.status
    if status is None:
        return ("unknown", "the source does not say in which state the group is")
    if status == "Stable" or status.startswith("generation "):
        protocol, strategy = group.state.protocol or "unknown", group.state.strategy or "unknown"
        members = count(len(group.state.members), "member")
        return ("ok", f"{status}, {members}, protocol {protocol}, strategy {strategy}")
    return ("found", f"the group is {status} with {count(len(group.state.members), 'member')}")


def _clients(group: Examination, _: Limits) -> Seen:
    if group.state.protocol == "consumer":
        return ("ok", "the coordinator assigns, whatever the members' client libraries are")
    clients = group.state.clients
    if not clients:
        return ("unknown", "the source does not show the members' client libraries")
    return ("found" if len(clients) > 1 else "ok", f"the members run {list_names(clients)}")


def _idle(group: Examination, _: Limits) -> Seen:
    if not group.state.members_complete:
        return ("unknown", "the source does not show members without partitions")
    loads = np.bincount(group.state.member[group.state.member >= 0], minlength=len(group.state.members))
    idle = [
        member.client_id or member.id
        for member, load in zip(group.state.members, loads, strict=True)
        if not load
    ]
    if idle:
        return ("found", f"{count(len(idle), 'member')} without a partition: {list_names(idle, _SHOWN)}")
    return ("ok", "every member has partitions")


def _unclear(group: Examination) -> str | None:
    """Why nothing can be said of loads."""
    state = group.state
    if not (state.complete and state.members_complete):
        return "the source does not show all partitions and members"
    if any(member.topics is None for member in state.members):
        return "the source does not show what every member subscribes to"
    return None


def _load(group: Examination, _: Limits) -> Seen:
    if (reason := _unclear(group)) is not None:
        return ("unknown", reason)
    balance = balance_of(group.state)
    if balance is None:
        return ("found", "a partition has two owners, or one that does not subscribe to its topic")
    most, best = max(balance.loads, default=0), max(balance.best_loads, default=0)
    text = f"the fullest member has {count(most, 'partition')}, {best} where loads are spread best"
    return ("found" if most > best else "ok", text)


def _spread(group: Examination, _: Limits) -> Seen:
    balance = None if _unclear(group) else balance_of(group.state)
    if balance is None:
        return ("unknown", _unclear(group) or "a partition has two owners")
    fullest, share = balance.topic_fullest, balance.best_topic_fullest
    text = f"a member has {count(fullest, 'partition')} of one topic, its share is {share}"
    return ("found" if balance.topic_excess > 1 else "ok", text)


def _subscriptions(group: Examination, _: Limits) -> Seen:
    subscribed = {member.topics for member in group.state.members if member.topics is not None}
    if len(subscribed) > 1:
        common = set.intersection(*map(set, subscribed))
        some = sorted({name for topics in subscribed for name in topics} - common)
        return ("found", f"only some members subscribe to {list_names(some, _SHOWN)}")
    if any(member.topics is None for member in group.state.members):
        return ("unknown", "the source does not show what every member subscribes to")
    return ("ok", "all members subscribe to the same topics")


def _static(group: Examination, _: Limits) -> Seen:
    ids = [member.instance_id for member in group.state.members]
    names = [name for name in ids if name]
    twice = {name for name in names if names.count(name) > 1}
    moved = {
        member.instance_id
        for member in group.state.members
        if member.instance_id and group.static.get(member.instance_id, member.id) != member.id
    }
    if twice:
        return ("found", f"two members have the group.instance.id {list_names(sorted(twice), _SHOWN)}")
    if moved:
        names_moved = list_names(sorted(moved), _SHOWN)
        text = "it restarted, or two processes have that id"
        return ("found", f"between the looks {names_moved} got another member id: {text}")
    if names and len(names) < len(ids):
        return ("found", f"{len(names)} of {count(len(ids), 'member')} have a group.instance.id")
    if not names and group.first is None:
        return ("unknown", "the source shows no group.instance.id; not every capture has them")
    return ("ok", f"{len(names)} of {count(len(ids), 'member')} are static")


_TIMEOUTS = ("heartbeat.interval.ms", "session.timeout.ms", "max.poll.interval.ms")


def _timeouts(group: Examination, _: Limits) -> Seen:
    try:
        heartbeat, session, poll = (float(group.settings[name]) for name in _TIMEOUTS)
    except (KeyError, ValueError):
        return ("unknown", f"no broker tells them; give {', '.join(_TIMEOUTS)} with --set")
    if 3 * heartbeat > session:
        return (
            "found",
            f"{duration(session)} of session hold fewer than 3 heartbeats of {duration(heartbeat)}",
        )
    if session > poll:
        return ("found", f"session.timeout.ms {session:,.0f} is above max.poll.interval.ms {poll:,.0f}")
    return ("ok", f"heartbeat {duration(heartbeat)}, session {duration(session)}, poll {duration(poll)}")


def _read_topics(group: Examination) -> set[str]:
    """The topics that members subscribe to or have partitions of."""
    subscribed = {topic for member in group.state.members for topic in member.topics or ()}
    return subscribed | {topic for (topic, _), member in group.owners.items() if member >= 0}


def _unread(group: Examination, _: Limits) -> Seen:
    if not group.state.complete:
        return ("unknown", "the source does not show all partitions of the topics")
    if not group.state.members:
        return ("found", "no member is there, so nobody reads")
    topics = _read_topics(group)
    free = [each for each, member in group.owners.items() if member < 0 and each[0] in topics]
    if free:
        return ("found", f"nobody reads {count(len(free), 'partition')}: {_names(free)}")
    return ("ok", f"every partition of {count(len(topics), 'topic')} has a reader")


def _left(group: Examination, _: Limits) -> Seen:
    lags = group.lags if group.last is None else group.last.committed
    if lags is None:
        return ("unknown", "the source shows no committed offsets")
    left = sorted({topic for topic, _ in lags} - _read_topics(group)) if group.state.members else []
    if left:
        return ("found", f"offsets are committed of {list_names(left, _SHOWN)}, which no member reads")
    return ("ok", "no offsets of topics that no member reads")


def _lag(group: Examination, limits: Limits) -> Seen:
    lags = group.lags
    if lags is None:
        return ("unknown", "the source shows no lag")
    worst = max(lags, key=lags.__getitem__, default=None)
    if worst is None:
        return ("ok", "nothing is committed, so nothing lags")
    behind = [each for each, lag in lags.items() if lag > limits.lag]
    total = sum(max(lag, 0) for lag in lags.values())
    text = f"{total:,} records wait, {max(lags[worst], 0):,} of them in {_names([worst])}"
    return ("found" if behind else "ok", f"{text}; above {limits.lag:,}: {count(len(behind), 'partition')}")


def _beyond(group: Examination, _: Limits) -> Seen:
    if group.lags is None:
        return ("unknown", "the source shows no lag")
    beyond = [each for each, lag in group.lags.items() if lag < 0]
    if beyond:
        return ("found", f"the commit is beyond the end of {_names(beyond)}")
    return ("ok", "no commit is beyond the end")


_TWO_LOOKS = "it takes two looks at a cluster"


def _both(group: Examination, pick: Callable[[int, int], bool]) -> list[tuple[str, int]] | None:
    """Partitions whose lag at the first and at the last look are such; None without two looks."""
    if group.first is None or group.last is None:
        return None
    before = group.first.lags
    return [each for each, lag in group.last.lags.items() if each in before and pick(before[each], lag)]


def _trend(group: Examination, limits: Limits) -> Seen:
    growing = _both(group, lambda before, after: after > limits.lag and after > before)
    if growing is None or group.first is None or group.last is None:
        return ("unknown", _TWO_LOOKS)
    change = sum(
        group.last.lags[each] - lag for each, lag in group.first.lags.items() if each in group.last.lags
    )
    text = f"the lag changed by {change:+,} records in {duration(group.elapsed_ms)}"
    if growing:
        return ("found", f"{text}; above {limits.lag:,} and growing: {_names(growing)}")
    return ("ok", text)


def _standstill(group: Examination, _: Limits) -> Seen:
    if group.first is None or group.last is None:
        return ("unknown", _TWO_LOOKS)
    waiting = _both(group, lambda before, after: before > 0 and after > 0) or []
    still = [each for each in waiting if group.first.committed[each] == group.last.committed[each]]
    if still:
        text = f"records wait and no offset was committed in {duration(group.elapsed_ms)}"
        return ("found", f"{text}: {_names(still)}")
    return ("ok", "commits move wherever records wait")


def _hot(group: Examination, limits: Limits) -> Seen:
    if group.first is None or group.last is None:
        return ("unknown", _TWO_LOOKS)
    before = group.first.ends
    fresh = {each: end - before[each] for each, end in group.last.ends.items() if each in before}
    total = sum(fresh.values())
    if total < limits.written or len(fresh) < 4:
        return ("ok", f"{count(total, 'new record')} in {count(len(fresh), 'partition')}: too few to judge")
    hottest = max(fresh, key=fresh.__getitem__)
    text = f"{_names([hottest])} got {fresh[hottest] / total:.0%} of {total:,} new records"
    return ("found" if fresh[hottest] > limits.hot * total else "ok", text)


def _uncommitted(group: Examination, _: Limits) -> Seen:
    if group.last is None:
        return ("unknown", "the source does not tell partitions without a commit from empty ones")
    last = group.last
    owned = [each for each, member in group.owners.items() if member >= 0 and last.ends.get(each)]
    without = [each for each in owned if each not in last.committed]
    if without:
        return ("found", f"records were written, and no offset is committed of {_names(without)}")
    return ("ok", "every partition with an owner and records has a committed offset")


def _expiring(group: Examination, _: Limits) -> Seen:
    if group.state.members:
        return ("ok", "offsets do not expire while the group has members that subscribe to their topics")
    if group.state.status is None:
        return ("unknown", "the source does not say in which state the group is")
    if group.retention_ms is None:
        return ("unknown", "no broker says what offsets.retention.minutes is")
    text = f"no member is there; offsets expire {duration(group.retention_ms)} after the last one left"
    return ("found", f"{text}, and when that was is unknown")


def _joined(group: Examination, limits: Limits) -> Seen:
    if not limits.joined:
        return ("unknown", "no source tells which topics are joined; name them with --joined")
    owners = group.owners
    numbers: dict[str, set[int]] = {name: set() for name in limits.joined}
    for topic, number in owners:
        if topic in numbers:
            numbers[topic].add(number)
    if missing := sorted(name for name, found_numbers in numbers.items() if not found_numbers):
        return ("unknown", f"the group shows nothing of {list_names(missing)}")
    sizes = {name: len(each) for name, each in numbers.items()}
    if len({*sizes.values()}) > 1:
        text = ", ".join(f"{name} {size}" for name, size in sizes.items())
        return ("found", f"the topics differ in partitions: {text}")
    everywhere = numbers[limits.joined[0]]
    apart = [each for each in everywhere if len({owners.get((name, each), -1) for name in limits.joined}) > 1]
    if apart:
        return ("found", f"{count(len(apart), 'partition number')} of the topics are with different members")
    return ("ok", "equal partition numbers of the topics are with one member")


def _coordinator(group: Examination, _: Limits) -> Seen:
    if group.coordinator is None:
        return ("unknown", "the source does not show the coordinators of the cluster's groups")
    broker, here, others, brokers = group.coordinator
    text = f"broker {broker} looks after {here} of {count(here + others, 'group')} that this user may see"
    crowded = brokers > 1 and here > 20 and here * brokers > 2 * (here + others)
    return ("found" if crowded else "ok", text)


CHECKS = (
    Check(
        "state",
        _state,
        "problem",
        "A group reads steadily only while it is Stable.",
        "Run it again in a minute; if it stays so, copartition why LOG finds the cause of rebalances.",
        vital=True,
    ),
    Check(
        "clients",
        _clients,
        "warning",
        "The leader's library decides, and libraries decide differently.",
        "Use one library, or group.protocol=consumer, where the coordinator assigns.",
    ),
    Check(
        "idle",
        _idle,
        "warning",
        "An idle member costs memory and heartbeats and reads nothing.",
        "Run fewer members, or add partitions (copartition check first, if keys matter).",
    ),
    Check(
        "load",
        _load,
        "warning",
        "The fullest member is the one that falls behind first.",
        "Try assignment-diff live:GROUP plan:cooperative-sticky; it shows moves and loads.",
    ),
    Check(
        "spread",
        _spread,
        "warning",
        "A busy topic that is mostly with one member makes that member slow.",
        "Set partition.assignment.strategy=range or roundrobin, or group.protocol=consumer.",
    ),
    Check(
        "subscriptions",
        _subscriptions,
        "warning",
        "Mostly a deploy that did not reach all members.",
        "Deploy the same subscription everywhere, or give each kind of reader its own group.id.",
    ),
    Check(
        "static",
        _static,
        "problem",
        "Two processes with one id fence each other; a member without one rebalances "
        "the group at each restart.",
        "Give every process a group.instance.id of its own.",
    ),
    Check(
        "timeouts",
        _timeouts,
        "warning",
        "Too few heartbeats fit into a session, so a short pause ends it.",
        "Set heartbeat.interval.ms to a third of session.timeout.ms, and max.poll.interval.ms above both.",
    ),
    Check(
        "unread",
        _unread,
        "problem",
        "Records pile up where nobody reads.",
        "Start members that subscribe to the topic; see partition.assignment.strategy if members are there.",
        vital=True,
    ),
    Check(
        "left over",
        _left,
        "warning",
        "Such offsets look like lag, and a later subscription starts from them.",
        "Delete them: kafka-consumer-groups.sh --delete-offsets --group GROUP --topic TOPIC.",
    ),
    Check(
        "lag",
        _lag,
        "problem",
        "What is written now is read late.",
        "See trend: where the lag shrinks, wait; else add members, or make the processing faster.",
        vital=True,
    ),
    Check(
        "beyond the end",
        _beyond,
        "problem",
        "The topic was made anew or truncated; auto.offset.reset decides now.",
        "Set the offsets: kafka-consumer-groups.sh --reset-offsets --to-earliest --group GROUP --topic T.",
    ),
    Check(
        "trend",
        _trend,
        "problem",
        "The group reads more slowly than producers write.",
        "Add members up to the number of partitions; then add partitions.",
    ),
    Check(
        "standstill",
        _standstill,
        "problem",
        "A member is stuck, does not commit, or waits behind a transaction.",
        "Look at that member's log; copartition transactions --group GROUP shows held partitions.",
    ),
    Check(
        "hot partition",
        _hot,
        "warning",
        "One member does the work of many; more members do not help.",
        "copartition partition shows where keys go; spread the hottest key, or use more keys.",
    ),
    Check(
        "uncommitted",
        _uncommitted,
        "warning",
        "After a restart auto.offset.reset decides: records are skipped or read again.",
        "Commit after each batch, or set enable.auto.commit=true.",
    ),
    Check(
        "expiring",
        _expiring,
        "warning",
        "Then auto.offset.reset decides where the group starts.",
        "Start a member, keep the offsets (copartition snapshot), or raise offsets.retention.minutes.",
    ),
    Check(
        "joined",
        _joined,
        "problem",
        "A join partition by partition misses its partner's records.",
        "Set partition.assignment.strategy=range, and the same number of partitions: copartition check.",
    ),
    Check(
        "coordinator",
        _coordinator,
        "warning",
        "A restart of that broker stops the heartbeats of all its groups.",
        "Move leaders of __consumer_offsets: kafka-leader-election.sh --election-type preferred.",
    ),
)
