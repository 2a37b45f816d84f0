"""Name what a check has seen as evidence, or end the check as unknown and name what is missing.

A check that cannot tell raises `UnknownError`. So "ok" is never a default.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar, get_args

from copartition.doctor.examination import SHOWN, Examination
from copartition.doctor.kind_examination import KindExamination
from copartition.kit.evidence import Evidence, Ground, Missing
from copartition.kit.places import Place
from copartition.kit.words import count, list_names

T = TypeVar("T")

Examined: TypeAlias = Examination | KindExamination[Any]
"""The examination of a group of any kind."""

Status: TypeAlias = Literal["ok", "found", "unknown"]

ASK = "ask the cluster: copartition doctor GROUP -b HOST:PORT"
"""The remedy if a file does not show what a check needs."""

AGAIN = "run it again in a minute, when the group is Stable"

TWO_LOOKS = "it takes two looks at a cluster"
"""What is missing for a check of a change in time, if the source is a single look, such as a file."""

NO_MEMBERS = Missing("the group has no member", "start a member, and run it again")


Severity: TypeAlias = Literal["problem", "warning"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All severities, the worst first."""


class Limits(NamedTuple):
    """Holds the bounds of what is still healthy; they come from the command's options.

    Attributes:
        lag: the largest healthy lag of a partition, in records.
        hot: the largest healthy share of the new records that one partition gets.
        written: number of new records below which shares and changes of lag are not judged.
        joined: the topics that are joined partition by partition.
        waiting_ms: the longest healthy time for which a record waits until it is read, in milliseconds.
    """

    lag: int = 10_000
    hot: float = 0.5
    written: int = 1_000
    joined: tuple[str, ...] = ()
    waiting_ms: float = 600_000


class Advice(NamedTuple):
    """Holds an advice of `checks.toml`: why a finding matters, and what to do, one or two sentences each."""

    why: str
    action: str


class Observation(NamedTuple):
    """Holds the result of a check that could tell whether something is wrong.

    Attributes:
        found: True if something is wrong.
        text: what was seen, a clause without a full stop.
        ground: the sources that it was read from, and what is assumed.
        case: the name of the advice that fits, a table inside the check's table in `checks.toml`; "" for the
            usual advice.
    """

    found: bool
    text: str
    ground: Evidence
    case: str = ""


class Check(NamedTuple):
    """Describes a check.

    Attributes:
        name: the check's name in reports and in docs/doctor.md, with blanks.
        look: the check's function; it takes an examination of the kind of group that the check is for.
        severity: how bad it is if the check finds something.
        advice: case -> advice; "" is the usual advice.
        vital: True if a group does not count as healthy while this check is unknown.
    """

    name: str
    look: Callable[[Any, Limits], Observation]
    severity: Severity
    advice: Mapping[str, Advice]
    vital: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Holds the answer of one check about one group.

    Invariant: `found` is False if `ground` is `Missing`.

    Attributes:
        check: the check.
        ground: the evidence; or `Missing`, which names what is missing and makes the status "unknown".
        text: what was seen, or what is unknown, a clause without a full stop.
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
        # This would be a bug of the check: a check that finds something must name where it was seen.
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


class UnknownError(Exception):
    """The source does not tell what a check needs; `checks._look` turns this error into an "unknown"."""

    def __init__(self, missing: Missing) -> None:
        super().__init__(missing.what)
        self.missing = missing


def end_unknown(what: str, remedy: str = ASK) -> NoReturn:
    """End a check as unknown.

    Args:
        what: what is not known, a clause.
        remedy: what to do to learn it; by default, to ask the cluster.

    Raises:
        UnknownError: always.
    """
    raise UnknownError(Missing(what, remedy))


def need(value: T | None, what: str, remedy: str = ASK) -> T:
    """Return the value; end the check as unknown if it is None (see `end_unknown`).

    0 and an empty mapping are values.
    """
    # The test is `is None`, because 0 and an empty mapping are false, too.
    if value is None:
        end_unknown(what, remedy)
    return value


def need_visible(group: Examination) -> None:
    """End the check as unknown if the cluster hides topics of the group from this user.

    A broker leaves out the commits of topics that a user may not DESCRIBE, without an error. So a group whose
    topics are hidden looks like a group without commits and without lag.
    """
    if group.hidden is not None:
        raise UnknownError(group.hidden)


def first_names(partitions: Iterable[Place]) -> str:
    """Return the first `SHOWN` partitions, sorted, as in "orders-0, orders-1", and the number of the rest."""
    return list_names([f"{topic}-{number}" for topic, number in sorted(partitions)], SHOWN)


def observe(bad: object, fault: str, ok: str, ground: Evidence, case: str = "") -> Observation:
    """Return an observation with the clause `fault` if `bad` is truthy, otherwise with the clause `ok`.

    Args:
        bad: the faults, their number, or a condition.
        fault: what was seen if something is wrong.
        ok: what was seen if nothing is wrong.
        ground: the evidence in both cases.
        case: the case of the fault, see `Observation.case`.
    """
    # Only a fault has a case. An "ok" has the usual advice.
    return Observation(True, fault, ground, case) if bad else Observation(False, ok, ground)


def evidence(*seen: str, assumed: Iterable[str] = ()) -> Evidence:
    """Return evidence from these sources, and with these assumptions, in their order."""
    return Evidence(seen, tuple(assumed))


def observe_nobody(group: Examined, text: str) -> Observation:
    """Return the fault of a group without members: the case "empty", which has its own advice.

    Args:
        group: a group that has no members, by its source.
        text: the consequence, a clause.
    """
    return Observation(True, text, evidence(f"members in {group.where}: none"), "empty")


def members_seen(group: Examination) -> str:
    """Return the members as evidence; end the check as unknown if the group has none, or shows none."""
    if not group.state.members:
        # A file without members may be of an empty group, or of a group in a rebalance. Only the state tells.
        gone = group.state.status == "Empty" or group.last is not None
        raise UnknownError(NO_MEMBERS if gone else Missing("the source shows no member", ASK))
    return f"{count(len(group.state.members), 'member')} in {group.where}"


def owners_seen(group: Examination) -> str:
    """Return the owners of partitions as evidence; end the check as unknown if no partition has an owner."""
    members_seen(group)
    if not group.owned:
        end_unknown(
            "no member has a partition: the group is in a rebalance, or its topics do not exist", AGAIN
        )
    return f"owners of {count(len(group.owned), 'partition')} in {group.where}"


def known_status(group: Examination) -> str:
    """Return Kafka's name for the state of the group; end the check as unknown if the source lacks it."""
    state = "add a table: kafka-consumer-groups.sh --describe --state --group GROUP >> FILE, or "
    return need(
        group.state.status,
        "the source does not say in which state the group is",
        AGAIN if group.last is not None else state + ASK,
    )
