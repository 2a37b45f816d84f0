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
    """The least and the most of a figure over several runs.

    Attributes:
        least: the least value; null if the figure has no end in any run, as a pause that never ends.
        most: the greatest value; null if the figure has no end in at least one run.
    """

    least: float | None
    most: float | None


class StopsJson(TypedDict):
    """An event of a group, and figures of what it stops.

    Attributes:
        evidence: the sources of the figures: the strategy and the runs of the simulator.
        assumed: what the runs assume, one sentence each.
    """

    # The JSON schema takes the descriptions of the other fields from `Stops`.
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
        happens: what happens to the group, in words such as "rolling" or "crash pod-1"; see `Happening.name`.
        pace: how fast it happens and what takes time, in words.
        protocol: the rebalance protocol of the group: "eager", "cooperative" or "consumer".
        protocol_after: the rebalance protocol at the end; it differs from `protocol` only if rolling bounces
            bring the group to a strategy with another protocol.
        runs: the number of runs of the simulator. They have consecutive seeds, beginning with that of the
            scenario.
        partitions: the number of partitions that the group reads before the event.
        rebalances: the number of rebalances.
        partition_seconds: for how long no member reads a partition, in seconds, summed over partitions.
        longest_pause_ms: the longest time, in milliseconds, for which no member reads a partition that had a
            reader.
        stopped_at_once: the most partitions that no member reads at the same time.
        all_stopped: how many times no member reads any partition.
        new_partitions: the number of partitions by which topics grow.
        new_ms: the longest time, in milliseconds, until a new partition is read; 0 if there is no new
            partition.
        static_restarts: the number of static members that are restarted. Their partitions wait until they are
            back.
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
