"""Describe the two ways to reshape a topic: their steps, what each stops, and what they cost.

One way is a new topic: the records are copied to it, and then writers and groups switch. The other way is in
place: the topic grows, or writers get another rule, and old records stay in their partitions.

`plan` decides whether a copy would keep every record. Names that end with `_s` are seconds.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from copartition.deploys.answer import Range, Stops
from copartition.deploys.pace import Pace
from copartition.deploys.scenario import Happening
from copartition.deploys.stops import stops_of_group
from copartition.kit.evidence import Missing
from copartition.kit.words import duration
from copartition.reshape.observed import Moves, ObservedTopic, ReadingGroup
from copartition.simulation.growth import CURE, find_discoveries
from partitioning.kit.packages import read_toml

ASSUMED_RATE = 20_000.0
"""The assumed rate of a copy in records a second, if the user gives none; `--copy` prints the real rate."""
USUAL_RATE = 145_000.0
"""The rate of the copy, in records a second, on the machine on which the times below were measured.

This machine had two cores, with little other load. If a copy is slower than that, all other steps are slower,
too: `Copy.slowness` has the factor. The figures are fitted to four runs of 0.2, 1 and 10 million records.
benchmarks/reshape.md compares them with later runs.
"""
MOST_SLOWNESS = 2.0
"""The largest value of `Copy.slowness`.

A copy may also be slow because its records are large. Then the fixed times do not become longer.
"""
START_S = 14.0
"""The assumed seconds that a command needs until Spark runs and has planned what it reads."""
ROUND_S = 3.5
"""The assumed seconds of the last round of the copy without its records; Spark commits the round."""
IDLE_ROUND_S = 1.0
"""The assumed seconds of a last round that finds no records."""
SEARCH_S = 6.0
"""The assumed seconds of the search for the positions of groups, without those for the records that it reads.

Spark runs two jobs for all groups, and one more if the unread records are counted in the old topic.
"""
SEARCH_SHARE = 0.64
"""The time for a record that the search reads, as a multiple of the time for a record in the copy."""
PROOF_S = 9.0
"""The assumed seconds of the proof, without those for the records that it reads."""
PROOF_SHARE = 1.53
"""The time for a record in the proof, as a multiple of the time for a record in the copy."""
LOOK_S = 5.0
"""Seconds between the two looks that show whether the writers have stopped."""
_WORDS = read_toml(__package__, "ways.toml")
_ASSUMED: dict[str, str] = _WORDS["assumed"]
_PRICES: dict[str, str] = _WORDS["prices"]


class ReshapeStep(NamedTuple):
    """Describes one step of a way.

    Attributes:
        text: what is to be done, in the imperative.
        commands: command lines and settings, in order.
        stops: who stops during the step: "nobody", "writers", or the name of a group.
        pause_ms: the shortest and the longest pause in milliseconds; None if nobody stops; `Missing` if it is
            unknown.
    """

    text: str
    commands: tuple[str, ...] = ()
    stops: str = "nobody"
    pause_ms: Range | Missing | None = None


@dataclass(frozen=True, slots=True)
class ReshapeWay:
    """Describes one of the two ways, with its steps and its price.

    Attributes:
        name: "a new topic and a switch" or "in place".
        obstacle: why this way cannot be taken; None if it can.
        steps: the steps, in order; empty if the way cannot be taken.
        prices: sentences on how many records are lost, moved or read twice.
        keeps_order: whether every key's records stay in order for every reader.
    """

    name: str
    obstacle: str | None
    steps: tuple[ReshapeStep, ...]
    prices: tuple[str, ...]
    keeps_order: bool


@dataclass(frozen=True, slots=True)
class Copy:
    """Computes how long the copy and the steps after it take.

    Attributes:
        records: number of offsets to copy; there may be fewer records.
        rate: how many records a second are copied.
        is_assumed: whether the rate is an assumption and was not measured.
        written_per_s: how many records a second writers add during the copy.
        unread: the unread records of the group that is furthest behind when groups move; None if no group has
            to move.
    """

    records: int
    rate: float
    is_assumed: bool
    written_per_s: float
    unread: int | None = None

    @property
    def slowness(self) -> float:
        """Return the factor by which the fixed times of commands are longer than the measured ones.

        The factor is below 1 on a faster machine, and at most `MOST_SLOWNESS`.
        """
        return 1.0 if self.is_assumed else min(USUAL_RATE / self.rate, MOST_SLOWNESS)

    @property
    def seconds(self) -> float | None:
        """Seconds until the copy has caught up with the writers; None if it never does."""
        gain = self.rate - self.written_per_s
        return self.start_s + self.records / gain if gain > 0 else None

    @property
    def searched(self) -> int:
        """Number of records that the search for positions reads.

        It reads the unread records in the old topic, and twice as many in the new topic. If the new topic has
        fewer records than these together, it reads only the whole new topic.
        """
        return min(3 * (self.unread or 0), self.records)

    @property
    def rest_s(self) -> float:
        """Seconds of the switch: two looks, a last round of the copy, and the search for positions."""
        fixed = self._round_s + (0.0 if self.unread is None else SEARCH_S)
        records = self.written_per_s * self.start_s + SEARCH_SHARE * self.searched
        return self.start_s + LOOK_S + self.slowness * fixed + records / self.rate

    @property
    def proof_s(self) -> float:
        """Seconds of the proof, which reads both topics."""
        return self.start_s + self.slowness * PROOF_S + PROOF_SHARE * self.records / self.rate

    @property
    def start_s(self) -> float:
        """Seconds that each command needs until Spark runs and has planned what it reads."""
        return self.slowness * START_S

    @property
    def _round_s(self) -> float:
        return ROUND_S if self.written_per_s else IDLE_ROUND_S

    @property
    def assumed(self) -> Iterator[str]:
        """Yield the assumptions behind these times, as sentences."""
        # All these times depend on the rate of the copy, so the report says if that is an assumption.
        if self.is_assumed:
            yield _ASSUMED["rate"].format(copy=self)
        fixed = (self.slowness * seconds for seconds in (START_S, self._round_s, SEARCH_S, PROOF_S))
        start, last, search, proof = (f"{seconds:.1f} s" for seconds in fixed)
        yield _ASSUMED["seconds"].format(
            start=start, last=last, search=search, proof=proof, share=PROOF_SHARE
        )
        if self.slowness != 1:
            yield _ASSUMED["slowness"].format(copy=self, usual=USUAL_RATE)
        if SEARCH_SHARE * self.searched >= self.rate:  # a time of less than a second changes no figure
            yield _ASSUMED["search"].format(copy=self, share=SEARCH_SHARE)


def rate_of_copy(records: int, seconds: float) -> float:
    """Return the rate of a copy, in records a second, from the size and time of its first round.

    The time until Spark has started does not count. It is assumed to be longer than `START_S` by the same
    factor by which the copy is slower than `USUAL_RATE`, but at most by `MOST_SLOWNESS`.

    >>> round(rate_of_copy(10_000_000, 83.0))
    144940
    """
    as_slow = (records + START_S * USUAL_RATE) / seconds
    if as_slow * MOST_SLOWNESS >= USUAL_RATE:
        return as_slow
    return records / (seconds - MOST_SLOWNESS * START_S)


@dataclass(frozen=True, slots=True)
class ReshapeTarget:
    """Describes what the topic is to become.

    Attributes:
        topic: name of the new topic.
        partitions: partition count of the new topic.
        profile: the profile whose rule places keyed records in the new topic.
        servers: the cluster as commands name it, host:port.
    """

    topic: str
    partitions: int
    profile: str
    servers: str


def new_topic_way(
    topic: ObservedTopic,
    target: ReshapeTarget,
    copy: Copy,
    moves: Moves,
    switches: Mapping[str, Stops | Missing],
    pace: Pace,
) -> ReshapeWay:
    """Return the way by a new topic: make it, copy, stop writers, copy the rest, prove, switch.

    Args:
        topic: the old topic.
        target: the new topic.
        copy: size and time of the copy.
        moves: where sampled records go.
        switches: group with members -> its pauses during the switch; `Missing` if they are not known.
        pace: how fast writers are started again.
    """
    command = f"copartition reshape {topic.name} --partitions {target.partitions} --to {target.topic}"
    rule = f" --profile {target.profile} -b {target.servers}"
    own = [
        f"--config {shlex.quote(f'{name}={topic.settings[name]}')}"
        for name in topic.own_settings
        if name in topic.settings
    ]
    create = " ".join(
        [
            f"kafka-topics.sh --bootstrap-server {target.servers} --create --topic {target.topic}",
            f"--partitions {target.partitions} --replication-factor {topic.replicas}",
            *own,
        ]
    )
    steps = [
        ReshapeStep(f"Make {target.topic}; copy ACLs and quotas by hand, which no record shows", (create,)),
        ReshapeStep(
            f"Copy, again and again, until the rest is small: {_copy_words(copy)}",
            (f"{command}{rule} --copy --checkpoint FOLDER",),
        ),
        ReshapeStep(
            "Stop all writers, see that the ends stand still, copy the rest",
            (f"{command}{rule} --switch --checkpoint FOLDER",),
            "writers",
            Range(1_000 * copy.rest_s, 1_000 * copy.rest_s + pace.longest_down_ms),
        ),
        # The proof comes before the writers start: once a writer has written to the new topic, there is no
        # way back.
        ReshapeStep(
            f"Prove that {target.topic} holds every record in order, while there is a way back",
            (f"{command}{rule} --prove",),
            "writers",
            Range(1_000 * copy.proof_s, 1_000 * copy.proof_s),
        ),
        ReshapeStep(f"Start the writers on {target.topic}, by the rule of {target.profile}"),
    ]
    for group in topic.groups:
        if group.state is None:
            continue
        move = f"{command}{rule} --switch --checkpoint FOLDER --group {shlex.quote(group.name)} --execute"
        stops = switches.get(group.name)
        if stops is None:  # the group has no members that would have to stop
            text = f"Move the positions of group {group.name}, which has no members now"
            steps.append(ReshapeStep(f"{text}; start it on {target.topic}", (move,)))
            continue
        steps.append(
            ReshapeStep(
                f"Let group {group.name} read {topic.name} to its end, stop it, move its positions, start "
                f"it on {target.topic}",
                (move,),
                f"group {group.name}",
                stops if isinstance(stops, Missing) else stops.longest_pause_ms,
            )
        )
    steps.append(
        ReshapeStep(
            f"Undo until the writers have started: {topic.name} and its commits are as they were",
            (f"{command}{rule} --back",),
        )
    )
    prices = [
        _PRICES["twice"].format(copy=copy, target=target, topic=topic),
        _PRICES["order"],
        *(_PRICES["behind"].format(group=group) for group in topic.groups if group.lag),
    ]
    # Partitions are uneven under any rule if there are fewer keys than partitions, or if one key is hot.
    even = moves.keyed / target.partitions
    if moves.keyed and moves.largest > 1.5 * even:
        part, times = moves.largest / moves.keyed, moves.largest / even
        prices.append(_PRICES["fullest"].format(part=part, times=times))
    return ReshapeWay("a new topic and a switch", None, tuple(steps), tuple(prices), keeps_order=True)


def _copy_words(copy: Copy) -> str:
    """Return the size and time of the copy in words."""
    if copy.seconds is None:
        return f"{copy.records:,} records, without end at {copy.rate:,.0f} a second"
    how = "an assumed" if copy.is_assumed else "a measured"
    return f"{copy.records:,} records, {duration(1_000 * copy.seconds)} at {how} {copy.rate:,.0f} a second"


def in_place_way(topic: ObservedTopic, target: ReshapeTarget, moves: Moves, pace: Pace) -> ReshapeWay:
    """Return the way in place: the topic grows or its writers get another rule, and old records stay.

    Args:
        topic: the topic.
        target: the count and the rule that are wanted; its name does not matter.
        moves: where sampled records would go.
        pace: the settings of the groups.
    """
    grows = target.partitions > topic.partitions
    if target.partitions < topic.partitions:
        obstacle = f"a topic never loses partitions: {topic.partitions:,} now, {target.partitions:,} wanted"
        return ReshapeWay("in place", obstacle, (), (), keeps_order=False)
    steps = []
    if grows:
        alter = f"kafka-topics.sh --bootstrap-server {target.servers} --alter --topic {topic.name}"
        growth = Happening(grows={topic.name: target.partitions})
        steps.append(ReshapeStep("Grow the topic", (f"{alter} --partitions {target.partitions}",)))
        steps += [
            ReshapeStep(
                f"Group {group.name} takes the new partitions when it sees them",
                (),
                f"group {group.name}",
                found if isinstance(found, Missing) else found.longest_pause_ms,
            )
            for group in topic.groups
            if group.state is not None and group.members
            for found in [stops_of_group(group.state, growth, pace)]
        ]
    else:
        steps.append(ReshapeStep(f"Start the writers with the rule of {target.profile}"))
    return ReshapeWay(
        "in place", None, tuple(steps), tuple(_in_place_prices(topic, moves, pace)), not moves.moved
    )


def _in_place_prices(topic: ObservedTopic, moves: Moves, pace: Pace) -> Iterator[str]:
    """Yield sentences on the number of records that growth in place costs.

    Shares were measured on the sample. They are applied to all records of the topic, to the records that a
    group has not read, and to those that are written while members do not know of new partitions.
    """
    if not moves.moved:
        yield _PRICES["none_moves"].format(moves=moves)
        return
    yield _PRICES["stay"].format(moves=moves, behind=round(moves.share * topic.records))
    for group in topic.groups:
        if group.lag:
            yield _PRICES["out_of_order"].format(group=group, moved=round(moves.share * group.lag))
    if moves.added:
        for found in find_discoveries(_one_protocol(topic.groups), pace.settings):
            # Records written a second, times the share that goes to new partitions, times the seconds until
            # discovery.
            skipped = topic.written_per_s * moves.added_share * found.at_most_ms / 1_000
            yield _PRICES["skipped"].format(found=found, records=skipped, cure=CURE)
    if topic.compacted:
        yield _PRICES["compaction"]


def _one_protocol(groups: Sequence[ReadingGroup]) -> str | None:
    """Return the protocol that all groups of consumers have; None if they differ or there are none."""
    kinds = {group.kind for group in groups if group.state is not None}
    return kinds.pop() if len(kinds) == 1 else None
