"""Name what was seen of an examined group as evidence, or end a check with what is missing to know it.

A check that cannot tell raises `UnknownError`: no "ok" is a default.
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
"""A group of any kind, as it was seen."""

Status: TypeAlias = Literal["ok", "found", "unknown"]

ASK = "ask the cluster: copartition doctor GROUP -b HOST:PORT"
"""The remedy if a file does not show what a check needs."""

AGAIN = "run it again in a minute, when the group is Stable"

TWO_LOOKS = "it takes two looks at a cluster"
"""The text of "unknown" for a check of what changes in time, if the source is one look, as a file is."""

NO_MEMBERS = Missing("the group has no member", "start a member, and run it again")


Severity: TypeAlias = Literal["problem", "warning"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The worst first."""


class Limits(NamedTuple):
    """The bounds of what is still healthy; they come from the command's options."""

    lag: int = 10_000  # records, of one partition
    hot: float = 0.5  # the largest share of the new records that one partition may get
    written: int = 1_000  # fewer new records say nothing of hot partitions
    joined: tuple[str, ...] = ()  # topics that are joined partition by partition
    waiting_ms: float = 600_000  # how long a record may wait until it is read


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
    look: Callable[[Any, Limits], Observation]  # of an examination of the kind that the check is for
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
        # A fault of the program, not of the group: a check that saw something has to say where.
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
    """Raised by a check if its source does not tell what it needs; `_look` turns it into "unknown"."""

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
    """Return the value if there is one; else the check ends as unknown (see `end_unknown`).

    Only None is "no value": 0 and an empty mapping are answers.
    """
    # Not by truth: a lag of 0 is known.
    if value is None:
        end_unknown(what, remedy)
    return value


def need_visible(group: Examination) -> None:
    """See that the cluster shows this user all topics of the group: else the check is unknown.

    A broker leaves out commits of topics that a user may not DESCRIBE, without an error. So a group whose
    topics are hidden looks like one that has committed nothing and lags nowhere.
    """
    if group.hidden is not None:
        raise UnknownError(group.hidden)


def first_names(partitions: Iterable[Place]) -> str:
    """Return partitions as orders-0, orders-1 and so on, sorted, the first `SHOWN`."""
    return list_names([f"{topic}-{number}" for topic, number in sorted(partitions)], SHOWN)


def observe(bad: object, fault: str, ok: str, ground: Evidence, case: str = "") -> Observation:
    """Return an observation: the clause `fault` if `bad` is truthy, else the clause `ok`.

    Args:
        bad: the faults that were seen, or their number, or a condition.
        fault: what is seen if there are any; it may be written for some even if there are none.
        ok: what is seen if there are none.
        ground: the evidence for either.
        case: the case of the fault, see `Observation.case`.
    """
    # Only a fault has cases, so "ok" shows the usual advice.
    return Observation(True, fault, ground, case) if bad else Observation(False, ok, ground)


def evidence(*seen: str, assumed: Iterable[str] = ()) -> Evidence:
    """Return evidence from these sources, and with these assumptions, in their order."""
    return Evidence(seen, tuple(assumed))


def observe_nobody(group: Examined, text: str) -> Observation:
    """Return the fault of a group without members, in the case "empty", which has an advice of its own.

    Args:
        group: a group of which the source says that it has no member.
        text: what follows from that, a clause.
    """
    return Observation(True, text, evidence(f"members in {group.where}: none"), "empty")


def members_seen(group: Examination) -> str:
    """Name the members as evidence; a group that has none, or shows none, is unknown."""
    if not group.state.members:
        # A table without owners does not tell an empty group from one in a rebalance.
        gone = group.state.status == "Empty" or group.last is not None
        raise UnknownError(NO_MEMBERS if gone else Missing("the source shows no member", ASK))
    return f"{count(len(group.state.members), 'member')} in {group.where}"


def owners_seen(group: Examination) -> str:
    """Name the owners of partitions as evidence; a group in which no partition has an owner is unknown."""
    members_seen(group)
    if not group.owned:
        end_unknown(
            "no member has a partition: the group is in a rebalance, or its topics do not exist", AGAIN
        )
    return f"owners of {count(len(group.owned), 'partition')} in {group.where}"


def known_status(group: Examination) -> str:
    """Return the state of the group by Kafka's name; unknown if the source does not tell it."""
    state = "add a table: kafka-consumer-groups.sh --describe --state --group GROUP >> FILE, or "
    return need(
        group.state.status,
        "the source does not say in which state the group is",
        AGAIN if group.last is not None else state + ASK,
    )
