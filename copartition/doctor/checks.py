"""The checks of an examined consumer group: a table of functions, each of which looks for one fault.

A new check is a function here, a row of `_LOOKS`, and a table of that name in `checks.toml`; docs/doctor.md
lists the checks. A check returns what it sees with its evidence, or raises `_UnknownError` with what is
missing: no "ok" is a default. Lags count records; times are milliseconds.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn, TypeAlias, TypeVar, get_args

from assignors.optimal.quality import AssignmentQuality
from copartition.assignment_diff.needed import balance_of, is_even
from copartition.doctor.examination import OFFSETS_TOPIC, SHOWN, TIMEOUTS, Examination, Offsets, Place
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.kit.words import count, duration, list_names
from partitioning.kit.packages import read_toml

T = TypeVar("T")
Status: TypeAlias = Literal["ok", "found", "unknown"]


ASK = "ask the cluster: copartition doctor GROUP -b HOST:PORT"
"""The remedy if a file does not show what a check needs."""

_AGAIN = "run it again in a minute, when the group is Stable"
_NO_MEMBERS = Missing("the group has no member", "start a member, and run it again")


Severity: TypeAlias = Literal["problem", "warning"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""


class Limits(NamedTuple):
    """The bounds of what is still healthy; they come from the command's options."""

    lag: int = 10_000  # records, of one partition
    hot: float = 0.5  # the largest share of the new records that one partition may get
    written: int = 1_000  # fewer new records say nothing of hot partitions
    joined: tuple[str, ...] = ()  # topics that are joined partition by partition


class Advice(NamedTuple):
    """One entry of `checks.toml`: why a finding matters, and what to do; a sentence or two each."""

    why: str
    action: str


class Observation(NamedTuple):
    """The result of a check that could tell.

    Attributes:
        found: True if something is wrong.
        text: what is seen, a clause without a full stop.
        ground: the sources it was read from, and what is assumed.
        case: names the advice that fits, a table inside the check's in `checks.toml`; "": the usual advice.
    """

    found: bool
    text: str
    ground: Evidence
    case: str = ""


class Check(NamedTuple):
    """A check: its function, how bad a finding is, and the advice for each case ("": the usual advice)."""

    name: str  # as reports and docs/doctor.md have it, with blanks
    look: Callable[[Examination, Limits], Observation]
    severity: Severity
    advice: Mapping[str, Advice]
    vital: bool = False  # a group of which this is unknown is not called healthy


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer of one check for one group.

    Invariant: `found` is False if `ground` is `Missing`; what is not seen is neither wrong nor fine.

    Attributes:
        check: the check.
        ground: the evidence, or what is missing: then the status is "unknown".
        text: what is seen, or what is not known, a clause without a full stop.
        found: True if something is wrong.
        case: see `Observation.case`.

    Raises:
        ValueError: something is found without evidence.
    """

    check: Check
    ground: Ground
    text: str
    found: bool = False
    case: str = ""

    def __post_init__(self) -> None:
        if self.found and isinstance(self.ground, Missing):
            raise ValueError(f"{self.check.name} is found without evidence: {self.ground}")

    @property
    def status(self) -> Status:
        """The status: "unknown" without evidence, else "found" if something is wrong, else "ok"."""
        return "unknown" if isinstance(self.ground, Missing) else "found" if self.found else "ok"

    @property
    def advice(self) -> Advice:
        """The advice for this case: why it matters, and what to do."""
        return self.check.advice[self.case]


class _UnknownError(Exception):
    """Raised by a check if its source does not tell what it needs; `_look` turns it into "unknown"."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing.what)
        self.missing = missing


def _unknown(what: str, remedy: str = ASK) -> NoReturn:
    """End a check as unknown.

    Args:
        what: what is not known, a clause.
        remedy: what to do to learn it; by default, to ask the cluster.

    Raises:
        _UnknownError: always.
    """
    raise _UnknownError(Missing(what, remedy))


def _need(value: T | None, what: str, remedy: str = ASK) -> T:
    """Return the value if there is one; else the check ends as unknown (see `_unknown`).

    Only None is "no value": 0 and an empty mapping are answers.
    """
    if value is None:
        _unknown(what, remedy)
    return value


def _need_visible(group: Examination) -> None:
    """See that the cluster shows this user all topics of the group: else the check is unknown.

    A broker leaves out commits of topics that a user may not DESCRIBE, without an error. So a group whose
    topics are hidden looks like one that has committed nothing and lags nowhere.
    """
    if group.hidden is not None:
        raise _UnknownError(group.hidden)


def findings(examination: Examination, limits: Limits) -> list[Finding]:
    """Return what every check sees, one finding for each check, in the order of `CHECKS`.

    Args:
        examination: the group, from `examine_live` or read from a file.
        limits: the bounds of what is still healthy.
    """
    return [_look(check, examination, limits) for check in CHECKS]


def _look(check: Check, examination: Examination, limits: Limits) -> Finding:
    """Return what a check sees, or, with the status "unknown", what it would need."""
    try:
        found, text, ground, case = check.look(examination, limits)
    except _UnknownError as error:
        return Finding(check, error.missing, error.missing.what)
    # A case names advice for a fault; with "ok" the report shows the usual advice.
    return Finding(check, ground, text, found, case if found else "")


def doctor_exit_code(results: Iterable[Finding]) -> int:
    """Return 1 if something is found, else 2 if a vital check cannot tell, else 0.

    Checks that are not vital may stay unknown: a file never shows all that a cluster does.
    """
    every = list(results)
    if any(finding.status == "found" for finding in every):
        return 1
    return 2 if any(finding.status == "unknown" and finding.check.vital for finding in every) else 0


def _names(partitions: Iterable[Place]) -> str:
    """Return partitions as orders-0, orders-1 and so on, sorted, the first `SHOWN`."""
    return list_names([f"{topic}-{number}" for topic, number in sorted(partitions)], SHOWN)


def _unless(bad: object, fault: str, ok: str, ground: Evidence, case: str = "") -> Observation:
    """Return an observation: the clause `fault` if `bad` is truthy, else the clause `ok`.

    Args:
        bad: the faults that were seen, or their number, or a condition.
        fault: what is seen if there are any; it may be written for some even if there are none.
        ok: what is seen if there are none.
        ground: the evidence for either.
        case: the case of the fault, see `Observation.case`.
    """
    return Observation(True, fault, ground, case) if bad else Observation(False, ok, ground)


def _evidence(*seen: str, assumed: Iterable[str] = ()) -> Evidence:
    """Return evidence from these sources, and with these assumptions, in their order."""
    return Evidence(seen, tuple(assumed))


def _members(group: Examination) -> str:
    """Name the members as evidence; a group that has none, or shows none, is unknown."""
    if not group.state.members:
        # A table without owners does not tell an empty group from one in a rebalance.
        gone = group.state.status == "Empty" or group.last is not None
        raise _UnknownError(_NO_MEMBERS if gone else Missing("the source shows no member", ASK))
    return f"{count(len(group.state.members), 'member')} in {group.where}"


def _owners_seen(group: Examination) -> str:
    """Name the owners of partitions as evidence; a group in which no partition has an owner is unknown."""
    _members(group)
    if not group.owned:
        _unknown("no member has a partition: the group is in a rebalance, or its topics do not exist", _AGAIN)
    return f"owners of {count(len(group.owned), 'partition')} in {group.where}"


def _status(group: Examination) -> str:
    """Return the state of the group by Kafka's name; unknown if the source does not tell it."""
    state = "add a table: kafka-consumer-groups.sh --describe --state --group GROUP >> FILE, or "
    return _need(
        group.state.status,
        "the source does not say in which state the group is",
        _AGAIN if group.last is not None else state + ASK,
    )


def _state(group: Examination, _: Limits) -> Observation:
    """Look for a group that is not Stable, or whose members changed between the looks.

    Two looks at a Stable group that rebalanced in between would else be called steady.
    """
    members = count(len(group.state.members) + group.state.unlisted, "member")
    if group.last is not None and group.state.status is None:
        # librdkafka has no names for these states of the consumer protocol; each other one has a name.
        text = f"the group is assigning or reconciling with {members}"
        return Observation(True, text, _evidence(f"the state in {group.where}"))
    status = _status(group)
    least = "" if group.state.members_complete or group.state.unlisted else "at least "
    protocol, strategy = group.state.protocol or "unknown", group.state.strategy or "unknown"
    ground = _evidence(f"the state in {group.where}")
    if changed := group.came_or_went:
        text = f"{count(changed, 'member')} came or went in {duration(group.elapsed_ms)}, so it rebalanced"
        return Observation(True, f"the group is {status} with {members}; {text}", ground)
    # A step of a simulated run has a generation in place of a state: it is what a finished rebalance left.
    return _unless(
        status != "Stable" and not status.startswith("generation "),
        f"the group is {status} with {least}{members}",
        f"{status}, {least}{members}, protocol {protocol}, strategy {strategy}",
        ground,
        "empty" if status == "Empty" else "",
    )


def _clients(group: Examination, _: Limits) -> Observation:
    """Look for different client libraries in a group whose leader assigns."""
    if group.state.protocol == "consumer":
        text = "the coordinator assigns, whatever the members' client libraries are"
        return Observation(False, text, _evidence(f"the protocol in {group.where}"))
    _members(group)
    clients = _need(
        group.state.clients or None,
        "the source does not show the members' client libraries",
        ASK if group.last is None else _AGAIN,
    )
    unseen = "members whose bytes do not show their library run one of these"
    ground = _evidence("the bytes with which members joined", assumed=[unseen])
    return Observation(len(clients) > 1, f"the members run {list_names(clients)}", ground)


def _owners(group: Examination, _: Limits) -> Observation:
    """Look for partitions with two owners, as in a capture that was taken during a rebalance."""
    seen = _owners_seen(group)
    twice = group.owned_twice
    return _unless(twice, f"two members have {_names(twice)}", "no partition has two owners", _evidence(seen))


def _idle(group: Examination, _: Limits) -> Observation:
    """Look for members without a partition, listed or only counted by the source.

    Three cases have an advice of their own: too few partitions, partitions enough for every member, and
    members that come and go, whose number should not be taken for too large.
    """
    seen = _owners_seen(group)
    every = zip(group.state.members, group.loads, strict=True)
    times = Counter(member.client_id or member.id for member, load in every if not load)
    names = [name if number == 1 else f"{name} ({number} members)" for name, number in times.items()]
    # A table with a row for each partition lists no idle member; some sources at least count them.
    idle = times.total() + group.state.unlisted
    if not idle:
        if not group.state.members_complete:
            table = "kafka-consumer-groups.sh --describe --members --verbose --group GROUP >> FILE"
            more = f"add a table: {table}, or "
            _unknown("the source does not show members without partitions", more + ASK)
        return Observation(False, "every member has partitions", _evidence(seen))
    unlisted = [f"{group.state.unlisted} that the source counts and does not list"] * bool(
        group.state.unlisted
    )
    text = f"{count(idle, 'member')} without a partition: {list_names([*names, *unlisted], SHOWN)}"
    once = "these members stay: one look does not show members that restart again and again"
    enough = len(group.owners) >= len(group.state.members) + group.state.unlisted
    case = "unsteady" if group.came_or_went else "enough" if enough else ""
    return Observation(
        True, text, _evidence(seen, assumed=[once] if group.members_before is None else []), case
    )


def _subscribed(group: Examination) -> list[tuple[str, ...]]:
    """Return the topics that each member subscribes to, in the order of members; all must be known."""
    members = group.state.members
    topics = [member.topics for member in members if member.topics is not None]
    if len(topics) == len(members):
        return topics
    _need_visible(group)
    _unknown(
        "the source does not show what every member subscribes to", ASK if group.last is None else _AGAIN
    )


def _balance(group: Examination) -> tuple[AssignmentQuality, Evidence]:
    """Judge how even the loads are, as `assignment-diff` does, with the evidence."""
    seen = [_owners_seen(group)]
    assumed = []
    if len(group.state.topics) == 1 and any(member.topics is None for member in group.state.members):
        # With a single topic there is nothing else that members could subscribe to.
        assumed.append(f"every member subscribes to {group.state.topics[0]}, the only topic shown")
    else:
        _subscribed(group)
        seen.append("subscriptions")
    if not group.state.complete:
        assumed.append("no partitions but those shown")
    balance = balance_of(group.state)
    if balance is None:
        if group.owned_twice:
            _unknown("a partition has two owners", "see owners")
        _unknown("a partition has an owner, and no member subscribes to its topic", _AGAIN)
    if is_even(balance) and not (group.state.members_complete or group.state.unlisted):
        _unknown("the source does not show members without partitions, which would be given some", ASK)
    return balance, _evidence(*seen, assumed=assumed)


def _share(loads: Sequence[int]) -> str:
    """Say how many partitions members have: "2 partitions a member", "1 to 3 partitions a member"."""
    fewest, most = min(loads), max(loads)
    return f"{f'{fewest:,} to ' if fewest < most else ''}{count(most, 'partition')} a member"


def _load(group: Examination, _: Limits) -> Observation:
    """Look for an assignment that another one beats in balance, by the judge that `assignment-diff` has."""
    balance, ground = _balance(group)
    loads, best = _share(balance.loads), _share(balance.best_loads)
    case = "unread" if balance.unassigned else "consumer" if group.state.protocol == "consumer" else ""
    free = f", {count(balance.unassigned, 'partition')} without an owner" if balance.unassigned else ""
    return _unless(
        not is_even(balance),
        f"{loads}{free}; {best} can be had",
        f"{loads}; no assignment is more even",
        ground,
        case,
    )


def _spread(group: Examination, _: Limits) -> Observation:
    """Look for a topic of which one member has at least two partitions more than its share."""
    balance, ground = _balance(group)
    fullest, share = balance.topic_fullest, balance.best_topic_fullest
    text = f"a member has {count(fullest, 'partition')} of one topic, its share is {share}"
    case = "consumer" if group.state.protocol == "consumer" else ""
    return Observation(balance.topic_excess > 1, text, ground, case)


def _subscriptions(group: Examination, _: Limits) -> Observation:
    """Look for members that subscribe to different topics."""
    seen = _members(group)
    subscribed = [{*member.topics} for member in group.state.members if member.topics is not None]
    # Members with unknown subscriptions cannot hide a difference between those that are known.
    common: set[str] = set.intersection(*subscribed) if subscribed else set()
    some = sorted({name for topics in subscribed for name in topics} - common)
    if not some:
        _subscribed(group)
    text = f"only some members subscribe to {list_names(some, SHOWN)}"
    ground = _evidence(f"subscriptions of {seen}")
    return _unless(some, text, "all members subscribe to the same topics", ground)


def _static(group: Examination, _: Limits) -> Observation:
    """Look for a `group.instance.id` that is there twice, moves to another member, or is missing for some."""
    seen = _members(group)
    names = [member.instance_id for member in group.state.members if member.instance_id]
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    before = {member.instance_id: member.id for member in group.members_before or ()}
    # An id that the first look did not show is a new member, not one that moved.
    moved = sorted(
        member.instance_id
        for member in group.state.members
        if member.instance_id and before.get(member.instance_id, member.id) != member.id
    )
    ground = _evidence(f"group.instance.id of {seen}")
    if twice:
        return Observation(True, f"two members have the group.instance.id {list_names(twice, SHOWN)}", ground)
    if moved:
        text = "it restarted, or two processes have that id"
        shown = list_names(moved, SHOWN)
        return Observation(True, f"between the looks {shown} got another member id: {text}", ground)
    if not names and group.last is None:
        _unknown("the source shows no group.instance.id; not every capture has them")
    members = count(len(group.state.members), "member")
    return _unless(
        0 < len(names) < len(group.state.members),
        f"{len(names)} of {members} have a group.instance.id",
        f"{len(names)} of {members} are static",
        ground,
    )


def _timeouts(group: Examination, _: Limits) -> Observation:
    """Look for sessions too short for three heartbeats, or longer than the time between two polls.

    In a classic group only the members know these; in the consumer protocol (KIP-848) the coordinator tells
    its members the first two, out of the settings of the group, which brokers show.
    """
    consumer = group.state.protocol == "consumer"
    times = {name: _milliseconds(group, name) for name in TIMEOUTS}
    heartbeat, session, poll = times.values()
    if heartbeat is None or session is None:
        if consumer:
            shown_by = "kafka-configs.sh --describe --entity-type groups --entity-name GROUP"
            right = f"give this user DESCRIBE_CONFIGS on the group; {shown_by} shows them"
            _unknown("no broker shows this user the group's consumer.session.timeout.ms", right)
        what = "the timeouts of a classic group are in its members' configurations only"
        _unknown(what, f"give {', '.join(TIMEOUTS)} with --set")
    ground = _evidence(
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
    return _unless(
        session > poll,
        f"session.timeout.ms {session:,.0f} is above max.poll.interval.ms {poll:,.0f}",
        f"{text}, poll {duration(poll)}",
        ground,
        case,
    )


def _milliseconds(group: Examination, name: str) -> float | None:
    """Return a timeout in milliseconds; None if it is not known, or is no number."""
    try:
        return float(group.settings[name])
    except (KeyError, ValueError):
        return None


def _unread(group: Examination, _: Limits) -> Observation:
    """Look for partitions that no member has, of topics that members read.

    New partitions are a case of their own: no member has to be started, and records may be skipped there.
    """
    if not group.state.members:
        if group.last is None:
            _status(group)  # a table without owners may show a rebalance
        text = f"no member is there, so nobody reads {count(len(group.owners), 'partition')}"
        return Observation(True, text, _evidence(f"members in {group.where}: none"), "empty")
    topics = group.read_topics
    free = [place for place, member in group.owners.items() if member < 0 and place[0] in topics]
    if not free:
        _need_visible(group)
        if not (group.state.complete and group.owned):
            _unknown("the source does not show partitions without an owner and a commit")
        if group.last is not None and group.state.status != "Stable":
            # A member that was killed is listed as an owner until its session ends.
            _unknown("the group is not Stable, so who reads is not settled", _AGAIN)
        text = f"every partition of {count(len(topics), 'topic')} has a reader"
        return Observation(False, text, _evidence(_owners_seen(group), "the partition counts of its topics"))
    seen = f"owners of {count(len(group.owners), 'partition')} in {group.where}"
    text = f"nobody reads {count(len(free), 'partition')}: {_names(free)}"
    if not _look_new(group, free):
        return Observation(True, text, _evidence(seen))
    grown = "these partitions are new: the highest numbers of a topic, without a commit"
    return Observation(True, f"{text}{_records_in(group, free)}", _evidence(seen, assumed=[grown]), "new")


def _look_new(group: Examination, free: Collection[Place]) -> bool:
    """Return whether partitions without an owner look new: above all owned ones of a topic, never committed.

    An old partition that lost its owner has a lower number than others, or a commit.
    """
    highest = dict(group.owned)  # ascending, so the last one stays
    known = {*(group.lags or {}), *(() if group.last is None else group.last.committed)}
    return all(topic in highest and number > highest[topic] for topic, number in free) and not known & {*free}


def _records_in(group: Examination, places: Collection[Place]) -> str:
    """Say how many records are in these partitions, and how many come a second; "" if a look lacks an end."""
    if group.first is None or group.last is None or not all(place in group.last.ends for place in places):
        return ""
    records = sum(group.last.ends[place] for place in places)
    # A partition that was created between the looks began at 0.
    before = sum(group.first.ends.get(place, 0) for place in places)
    rate = 1000 * (records - before) / group.elapsed_ms if group.elapsed_ms else 0
    return f"; {count(records, 'record')} in them, {rate:,.0f} more each second"


def _left_over(group: Examination, _: Limits) -> Observation:
    """Look for committed offsets of topics that no member reads, and for records that wait there."""
    committed = group.lags if group.last is None else group.last.committed
    places = _need(committed, "the source shows no committed offsets")
    _members(group)
    left = sorted({topic for topic, _ in places} - group.read_topics)
    waiting = sum(max(lag, 0) for (topic, _), lag in (group.lags or {}).items() if topic in left)
    assumed = []
    if any(member.topics is None for member in group.state.members):
        assumed.append("members subscribe only to topics that they have partitions of")
    if not left:
        _need_visible(group)
    text = f"offsets are committed of {list_names(left, SHOWN)}, which no member reads"
    return _unless(
        left,
        f"{text}, and {waiting:,} records wait there" if waiting else text,
        "no offsets of topics that no member reads",
        _evidence(_offsets_seen(group, places), assumed=assumed),
        "waiting" if waiting else "",
    )


def _offsets_seen(group: Examination, places: Collection[Place]) -> str:
    """Name offsets of partitions as evidence."""
    if not places:
        return "the offsets of the group: none is committed"
    what = "lag in the source of" if group.last is None else "commits and ends of"
    return f"{what} {count(len(places), 'partition')}"


def _lags(group: Examination) -> dict[Place, int]:
    """Return the lags that are known, in records; unknown if none is. An empty partition lags by 0."""
    if group.last is None:
        describe = "capture kafka-consumer-groups.sh --describe without --members, or "
        return _need(group.lags, "the source shows no lag", describe + ASK)
    # Without a commit an empty partition has no lag of its own; left out, it would make every check unknown.
    empty = {place: 0 for place in group.owned if group.last.ends.get(place) == 0}
    lags = {**empty, **group.last.lags}
    if not lags:
        _need_visible(group)
        if group.owned:
            _need_all_lags(group, lags)
        _unknown("no member has a partition, and this user sees no committed offset", _AGAIN)
    return lags


def _need_all_lags(group: Examination, lags: Collection[Place]) -> None:
    """End the check as unknown if a partition with an owner has no known lag: else it would be "ok" unseen.

    Args:
        group: the group.
        lags: the partitions whose lag is known.
    """
    dark = {*group.owned} - {*lags}
    if not dark:
        return
    what = f"the lag of {count(len(dark), 'partition')} is unknown: {_names(dark)}"
    if group.last is None:
        _unknown(f"{what}; the source shows no committed offset there")
    _need_visible(group)
    if dark & group.last.ends.keys():
        _unknown(f"{what}; nothing is committed there", "see uncommitted; a consumer's own metrics show lag")
    _unknown(f"{what}; their leaders did not answer", "run it again when every partition has a leader")


def _lag(group: Examination, limits: Limits) -> Observation:
    """Look for partitions that lag by more than the limit.

    "ok" takes the lag of each partition that has an owner. Three cases have an advice of their own:
    all these partitions have no owner; there are as many members as partitions; and the rest.
    """
    lags = _lags(group)
    worst = max(lags, key=lags.__getitem__)
    above = [place for place, lag in lags.items() if lag > limits.lag]
    if not above:
        _need_all_lags(group, lags)
    # A commit beyond the end has a negative lag, which would hide as many records that wait elsewhere.
    total = sum(max(lag, 0) for lag in lags.values())
    waiting = f"{count(total, 'record')} wait, most in {_names([worst])} ({max(lags[worst], 0):,})"
    text = waiting if total else f"no record waits in {count(len(lags), 'partition')}"
    # With a member for each partition, another member would be idle: the advice must not be to add one.
    full = len(group.state.members) + group.state.unlisted >= len(group.owners)
    case = "unread" if {*above} & {*group.owned} == set() else "full" if full else ""
    return Observation(
        bool(above),
        f"{text}; {len(above):,} of {count(len(lags), 'partition')} above {limits.lag:,}" if total else text,
        _evidence(_offsets_seen(group, lags)),
        case,
    )


def _beyond_the_end(group: Examination, _: Limits) -> Observation:
    """Look for commits above the end of their partition, as after a topic was made anew."""
    lags = _lags(group)
    beyond = [place for place, lag in lags.items() if lag < 0]
    if not beyond:
        # A cluster shows which partitions have no commit: these cannot be beyond their end.
        clear = {*lags} if group.last is None else {*lags} | group.last.ends.keys() - group.last.committed
        _need_all_lags(group, clear)
    text = f"the commit is beyond the end of {_names(beyond)}"
    return _unless(beyond, text, "no commit is beyond the end", _evidence(_offsets_seen(group, lags)))


def _looks(group: Examination) -> tuple[Offsets, Offsets]:
    """Return both looks at a cluster, the first one first; of a file the check is unknown."""
    text = "it takes two looks at a cluster"
    return _need(group.first, text), _need(group.last, text)


def _twice(group: Examination, places: Collection[Place], **assumed: Iterable[str]) -> Evidence:
    """Return evidence of two looks at these partitions; `assumed` is passed on to `_evidence`."""
    seen = f"{_offsets_seen(group, places)}, in two looks {duration(group.elapsed_ms)} apart"
    return _evidence(seen, **assumed)


def _trend(group: Examination, limits: Limits) -> Observation:
    """Look for a lag above the limit that grew between the looks."""
    before, after = (look.lags for look in _looks(group))
    # A partition whose first commit came between the looks has no lag before, so no change.
    change = {place: lag - before[place] for place, lag in after.items() if place in before}
    growing = [place for place, more in change.items() if more > 0 and after[place] > limits.lag]
    if not growing:
        _need_all_lags(group, _lags(group))
    if not change:
        _unknown("no partition has a commit in both looks", "run it again once members have committed")
    text = f"the lag changed by {sum(change.values()):+,} records in {duration(group.elapsed_ms)}"
    case = "" if group.state.members else "empty"
    fault = f"{text}; above {limits.lag:,} and growing: {_names(growing)}"
    return _unless(growing, fault, text, _twice(group, change), case)


def _standstill(group: Examination, _: Limits) -> Observation:
    """Look for partitions with an owner where records wait and nothing was committed between the looks.

    A partition without an owner stands still too, but no member is stuck there: see `unread`, `left over`.
    """
    first, last = _looks(group)
    _members(group)
    owned = {*group.owned}
    # Records at both looks: a partition that was empty at the first one may just not have been polled yet.
    waiting = [place for place, lag in last.lags.items() if lag > 0 and first.lags.get(place, 0) > 0]
    still = [place for place in waiting if place in owned and first.committed[place] == last.committed[place]]
    if not still:
        _need_all_lags(group, _lags(group))
    text = f"records wait and no offset was committed in {duration(group.elapsed_ms)}: "
    often = f"members commit more often than every {duration(group.elapsed_ms)}"
    return _unless(
        still,
        text + list_names([*_with_owners(group, still)], SHOWN),
        "commits move wherever records wait" if waiting else "no record waited at both looks",
        _twice(group, _lags(group), assumed=[often]),
    )


def _with_owners(group: Examination, places: Collection[Place]) -> Iterator[str]:
    """Yield a clause for each owner: its partitions, its name and its host, to find the process by."""
    by_owner: dict[int, list[Place]] = {}
    for place in sorted(places):
        by_owner.setdefault(group.owners[place], []).append(place)
    for owner, held in by_owner.items():
        member = group.state.members[owner]
        name = member.instance_id or member.client_id or member.id
        yield f"{_names(held)} of {name} ({member.id}) on {member.host or 'an unknown host'}"


def _hot_partition(group: Examination, limits: Limits) -> Observation:
    """Look for a partition that got more than `limits.hot` of the records written between the looks.

    Below `limits.written` new records, or four partitions, such a share may be chance: the check is unknown.
    """
    first, last = _looks(group)
    fresh = {place: end - first.ends[place] for place, end in last.ends.items() if place in first.ends}
    total = sum(fresh.values())
    if total < limits.written or len(fresh) < 4:
        text = f"{count(total, 'new record')} in {count(len(fresh), 'partition')} are too few to judge"
        _unknown(text, "run it again while producers write, with a longer --interval")
    hottest = max(fresh, key=fresh.__getitem__)
    text = f"{_names([hottest])} got {fresh[hottest] / total:.0%} of {total:,} new records"
    return Observation(fresh[hottest] > limits.hot * total, text, _twice(group, fresh))


def _uncommitted(group: Examination, _: Limits) -> Observation:
    """Look for partitions with an owner and records, and without a committed offset."""
    last = _need(group.last, "the source does not tell partitions without a commit from empty ones")
    seen = _owners_seen(group)
    without = [place for place in group.owned if last.ends.get(place) and place not in last.committed]
    if not without and (dark := [place for place in group.owned if place not in last.ends]):
        _need_visible(group)
        _unknown(f"the leaders of {_names(dark)} did not answer", "run it again when they do")
    text = f"records were written, and no offset is committed of {_names(without)}"
    ok = "every partition with an owner and records has a committed offset"
    return _unless(without, text, ok, _evidence(seen, _offsets_seen(group, last.ends)))


def _expiring(group: Examination, _: Limits) -> Observation:
    """Look for offsets that a broker will delete, because no member is there.

    Offsets of topics that members subscribe to do not expire (KIP-211). Those of a classic group without
    members expire so long after the group became empty, those of a group of the consumer protocol (KIP-848)
    so long after each was committed: a coordinator has one `offsetExpirationCondition` for each kind of
    group.
    """
    if group.state.members:
        topics = group.read_topics
        if not topics:
            _unknown("the source does not show what members subscribe to", _AGAIN)
        text = f"offsets of {count(len(topics), 'topic')} that members read do not expire while they do"
        return Observation(False, text, _evidence(_members(group)))
    _status(group)
    minutes = "offsets.retention.minutes"
    retention_ms = _need(group.retention_ms, f"no broker says what {minutes} is", _retention_remedy(group))
    text = f"no member is there; offsets expire {duration(retention_ms)} after the last one left"
    ground = _evidence(f"members in {group.where}: none", f"{minutes} of the coordinator")
    return Observation(True, f"{text}, and when that was is unknown", ground)


def _retention_remedy(group: Examination) -> str:
    """Say how to learn when offsets expire."""
    return ASK if group.last is None else "give this user DESCRIBE_CONFIGS on the cluster"


def _joined(group: Examination, limits: Limits) -> Observation:
    """Look for topics that are joined by partition, and whose equal numbers are with different members.

    The source must show every partition of them, unless a pair that is apart is seen: one is enough.
    """
    _need(limits.joined or None, "no source tells which topics are joined", "name them with --joined")
    seen = _owners_seen(group)
    if group.owned_twice:
        _unknown("a partition has two owners", "see owners")
    # Partition numbers of each topic; a topic may have more than the source shows, see `complete` below.
    numbers = {name: {number for topic, number in group.owners if topic == name} for name in limits.joined}
    if missing := sorted(name for name, shown in numbers.items() if not shown):
        _unknown(f"the group shows nothing of {list_names(missing)}", "see that members subscribe to it")
    shared = set.intersection(*numbers.values())
    owners = {number: {group.owners[name, number] for name in limits.joined} for number in shared}
    apart = [number for number, members in owners.items() if len(members) > 1]
    ground = _evidence(seen)
    # A pair that is apart proves the fault whatever else there is; "all together" needs every partition.
    if not group.state.complete and not apart:
        _unknown("the source does not show all partitions of the topics")
    if len({len(shown) for shown in numbers.values()}) > 1 and group.state.complete:
        text = ", ".join(f"{name} {len(shown)}" for name, shown in numbers.items())
        return Observation(True, f"the topics differ in partitions: {text}", ground)
    # Without an owner in any topic the numbers are neither together nor apart.
    free = [number for number, members in owners.items() if members == {-1}]
    if free and not apart:
        _unknown(f"{count(len(free), 'partition number')} of the topics have no owner", "see unread")
    text = f"{count(len(apart), 'partition number')} of the topics are with different members"
    return _unless(apart, text, "equal partition numbers of the topics are with one member", ground)


def _coordinator(group: Examination, _: Limits) -> Observation:
    """Look for a broker with more than twice its share of the groups, and more than 20 of them.

    With few groups any distribution is uneven, as names are hashed to partitions of `__consumer_offsets`.
    """
    broker, here, others, brokers = _need(
        group.coordinator,
        "the source does not show the coordinators of the cluster's groups",
        ASK if group.last is None else f"give this user DESCRIBE on the topic {OFFSETS_TOPIC}",
    )
    groups = count(here + others, "group")
    ground = _evidence(
        f"leaders of {OFFSETS_TOPIC} and names of {groups}",
        assumed=["groups that this user may not DESCRIBE are not counted"],
    )
    text = f"broker {broker} looks after {here} of {groups} that this user may see"
    return Observation(brokers > 1 and here > 20 and here * brokers > 2 * (here + others), text, ground)


_LOOKS: Mapping[str, Callable[[Examination, Limits], Observation]] = {
    "state": _state,
    "clients": _clients,
    "owners": _owners,
    "idle": _idle,
    "load": _load,
    "spread": _spread,
    "subscriptions": _subscriptions,
    "static": _static,
    "timeouts": _timeouts,
    "unread": _unread,
    "left_over": _left_over,
    "lag": _lag,
    "beyond_the_end": _beyond_the_end,
    "trend": _trend,
    "standstill": _standstill,
    "hot_partition": _hot_partition,
    "uncommitted": _uncommitted,
    "expiring": _expiring,
    "joined": _joined,
    "coordinator": _coordinator,
}
"""The function of each check, by the name of the check's table in `checks.toml`, whose order counts."""


def _checks() -> Iterator[Check]:
    """Make a check of each table of `checks.toml`; tables inside it are advice for its other cases.

    Raises:
        KeyError: a table has no function in `_LOOKS`.
    """
    for name, about in read_toml(__package__, "checks.toml").items():
        cases = {case: Advice(**advice) for case, advice in about.items() if isinstance(advice, dict)}
        usual = Advice(about["why"], about["action"])
        advice = {"": usual, **cases}
        title, vital = name.replace("_", " "), about.get("vital", False)
        yield Check(title, _LOOKS[name], about["severity"], advice, vital)


CHECKS = tuple(_checks())
"""All checks, in the order of `checks.toml`, which is that of reports and of docs/doctor.md."""
