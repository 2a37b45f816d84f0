"""Put into words what a deploy stops: figures as ranges, one sentence for every report, and JSON."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TypedDict, cast

from copartition.kit.evidence import Evidence, Missing
from copartition.kit.json import finite
from copartition.kit.words import count, duration

UNIT = "partition-seconds: for how long nobody reads a partition, summed over partitions"
"""The definition of the unit in which reports measure what stops; a report shows it once."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the most of a figure over several runs.

    Attributes:
        least: the least value; infinite if the figure has no end in any run.
        most: the most; infinite if the figure has no end in at least one run.
    """

    least: float
    most: float

    @property
    def digits(self) -> str:
        """The range in words, with one decimal below 100: "30.1 to 45.4"; one number if both are equal."""
        return self._text(lambda end: f"{end:,.0f}" if end >= 100 else f"{end:.1f}")

    @property
    def whole(self) -> str:
        """The range of a count in words, without decimals: "5 to 6"."""
        return self._text(lambda end: f"{end:,.0f}")

    @property
    def time(self) -> str:
        """The range of a time in milliseconds in words: "2.5 s to 3.0 s"."""
        return self._text(duration)

    def _text(self, write: Callable[[float], str]) -> str:
        """Return both ends in the words of `write`, with "to" between; one end if both read the same."""
        least, most = write(self.least), write(self.most)
        return least if least == most else f"{least} to {most}"


class Span(TypedDict):
    """A range over several runs, in JSON.

    Attributes:
        least: the least; null: without end.
        most: the most; null: without end.
    """

    least: float | None
    most: float | None


class StopsJson(TypedDict):
    """The answer in JSON: what happens to a group, and what that stops; `Stops` describes the other fields.

    Attributes:
        evidence: the sources of the figures.
        assumed: what the runs assume, one sentence each.
    """

    happens: str
    pace: str
    protocol: str
    protocol_after: str
    runs: int
    partitions: int
    rebalances: Span
    partition_seconds: Span
    longest_pause_ms: Span
    stopped_at_once: Span
    all_stopped: Span
    new_partitions: int
    new_ms: Span
    static_restarts: int
    evidence: list[str]
    assumed: list[str]


@dataclass(frozen=True, slots=True)
class Stops:
    """The answer: what happens to a group, and what that stops, with the least and the most of each figure.

    Attributes:
        happens: what happens, as in `Happening.name`: "rolling", "crash pod-1".
        pace: how fast it happens and what takes time, in the words of the assumptions.
        protocol: the group's rebalance protocol: "eager", "cooperative" or "consumer".
        protocol_after: the protocol at the end; it differs after bounces to another kind of strategy.
        runs: the number of runs, with consecutive seeds from the scenario's own on.
        partitions: the number of partitions that the group reads before.
        rebalances: the number of rebalances.
        partition_seconds: for how long no member reads a partition, summed over partitions.
        longest_pause_ms: the longest time for which a partition that had a reader has none.
        stopped_at_once: the most partitions at one time that no member reads.
        all_stopped: how often no member reads any partition.
        new_partitions: the number of new partitions.
        new_ms: the longest time until a new partition is read; 0 if none is new.
        static_restarts: the number of static members that are restarted; their partitions wait meanwhile.
        ground: the strategy and the runs, and what these assume.
    """

    happens: str
    pace: str
    protocol: str
    protocol_after: str
    runs: int
    partitions: int
    rebalances: Range
    partition_seconds: Range
    longest_pause_ms: Range
    stopped_at_once: Range
    all_stopped: Range
    new_partitions: int
    new_ms: Range
    static_restarts: int
    ground: Evidence

    @property
    def stopped(self) -> bool:
        """True if a partition was not read for a while in any run."""
        return self.partition_seconds.most > 0

    @property
    def of_runs(self) -> str:
        """The words for what the ranges cover: "least and most of 30 runs"."""
        return f"least and most of {self.runs} runs" if self.runs > 1 else "of 1 run"

    @property
    def sentence(self) -> str:
        """The answer: what happens and what that stops, the same sentence in every report."""
        longest = "without end" if math.isinf(self.longest_pause_ms.most) else self.longest_pause_ms.time
        rebalances = "rebalance" if self.rebalances.whole == "1" else "rebalances"
        changes = self.protocol != self.protocol_after
        protocol = f"{self.protocol}, then {self.protocol_after}" if changes else self.protocol
        return (
            f"{self.happens} ({self.pace}): {self.partition_seconds.digits} partition-seconds, "
            f"{self.rebalances.whole} {rebalances} ({protocol}), at most "
            f"{count(int(self.stopped_at_once.most), 'partition')} not read at once, longest pause {longest} "
            f"({self.of_runs})."
        )


def answer_sentence(stops: Stops | Missing) -> str:
    """Return the answer for people, as a sentence: the figures, or why they are unknown."""
    return f"Unknown: {stops.what}; {stops.remedy}." if isinstance(stops, Missing) else stops.sentence


def stops_json(stops: Stops) -> StopsJson:
    """Return the figures for a report in JSON, which has no infinite numbers."""
    # A pause without an end becomes null.
    figures = {
        name: finite(value) if isinstance(value, dict) else value
        for name, value in asdict(stops).items()
        if name != "ground"
    }
    ground = {"evidence": [*stops.ground.sources], "assumed": [*stops.ground.assumed]}
    return cast("StopsJson", {**figures, **ground})


def exit_code_of(stops: Sequence[Stops | Missing]) -> int:
    """Return the exit code of an answer: 1 if something stops, else 2 if that is unknown, else 0."""
    if any(isinstance(answer, Stops) and answer.stopped for answer in stops):
        return 1
    return 2 if any(isinstance(answer, Missing) for answer in stops) else 0
