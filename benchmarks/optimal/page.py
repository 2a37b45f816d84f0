"""What came out, as `benchmarks/optimal.md` tells it."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.optimal.lives import (
    EVENTS_OF_A_LIFE,
    MOST_MEMBERS,
    MOST_PARTITIONS,
    MOST_TOPICS,
    RESTARTED,
    SHAPES,
)
from benchmarks.optimal.measuring import ASSIGNORS, ENOUGH, MOST_ROUNDS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable

    from benchmarks.optimal.measuring import Counts


class Figure(NamedTuple):
    """A table of the page.

    Attributes:
        name: what `measured` calls it.
        title: what the page calls it.
        told: what is counted.
        cell: what a cell of the table says.
    """

    name: str
    title: str
    told: str
    cell: Callable[[Counter[int]], str]


def spread(values: Counter[int]) -> str:
    """Median, 99th percentile and worst."""
    ordered = sorted(values.items())
    return " / ".join(str(_quantile(ordered, values.total(), share)) for share in (0.5, 0.99, 1))


def beyond(values: Counter[int]) -> str:
    """How many rebalances are above 0, then median, 99th percentile and worst of all."""
    if max(values) <= 0 <= min(values):
        return "none"
    return f"{_percent(sum(count for value, count in values.items() if value > 0), values)}: {spread(values)}"


def rounds(values: Counter[int]) -> str:
    """Median, 99th percentile and worst, and how often there was no end."""
    never = values[MOST_ROUNDS]
    return spread(values) + (f", {never:,} without end" if never else "")


def often(values: Counter[int]) -> str:
    """How often it is so."""
    return _percent(values[True], values)


def mean(values: Counter[int]) -> str:
    return f"{sum(value * count for value, count in values.items()) / values.total():.2f}"


def mean_and_spread(values: Counter[int]) -> str:
    return f"{mean(values)}: {spread(values)}"


def times(values: Counter[int]) -> str:
    """How many there were."""
    return f"{values[True]:,} of {values.total():,}"


FIGURES = (
    Figure(
        "failed",
        "No answer",
        "rebalances in which the JVM's leader hangs or fails, of all; there the life ends",
        times,
    ),
    Figure(
        "loads",
        "Loads",
        "partitions that fuller members have above the best loads",
        beyond,
    ),
    Figure("fullest", "The fullest member", "its partitions above what the fullest must have", beyond),
    Figure(
        "moves",
        "Moves",
        "moves of a rebalance, follow-ups included; before the colon the mean",
        mean_and_spread,
    ),
    Figure(
        "avoidable",
        "Avoidable moves",
        "moves above the fewest that lead to the best loads; below 0 where worse loads saved some",
        beyond,
    ),
    Figure(
        "avoidable at its loads",
        "Avoidable moves at loads no less even",
        "moves above the fewest that lead to loads between the least and the greatest of this answer",
        beyond,
    ),
    Figure("rounds", "Rounds", f"rebalances until nothing waits; {MOST_ROUNDS} are called no end", rounds),
    Figure(
        "topics",
        "Topics",
        "partitions of one topic that a member has above the topic's partitions over its subscribers, "
        "rounded up; at worst",
        beyond,
    ),
    Figure(
        "far",
        "Racks",
        "partitions whose owner has no replica in its rack, once nothing waits any more; before the colon "
        "the mean; uniform does not look at racks",
        mean_and_spread,
    ),
    Figure(
        "avoidable far",
        "Avoidably far",
        "such partitions above the fewest with the best loads and the fewest moves, in the first round; "
        "below 0 where more moves or worse loads saved some",
        beyond,
    ),
    Figure(
        "renamed",
        "Names",
        "answers that other random parts of member ids change, by more than a swap of members that are alike",
        often,
    ),
    Figure(
        "lost",
        "Restarts",
        "percent of its partitions that a member does not get back, where it restarts under a client id or "
        f"an instance id of its own and had {ENOUGH} or more; before the colon the mean",
        mean_and_spread,
    ),
)

PAGE = """\
# The optimal assignors and Kafka's, on invented groups

`python -m benchmarks.optimal` writes this page: {groups:,} groups, {rebalances:,} rebalances under each
assignor.

`sticky`, `cooperative-sticky` and `uniform` answer as kafka-clients and the coordinator do, which the tests
hold to the JVM; where a JVM's leader would hang or fail they raise an error, and it is counted. `quality` and
`most_kept` say what the best loads and the fewest moves are.

A group has up to {members} members, {topics} topics and {partitions} partitions a topic, drawn so that small
numbers are as frequent as large ones.

After its beginning {events} of these happen to it: up to three members
join, up to two leave, a topic grows, a topic is new, a subscription changes, or up to {restarted} members
restart one after the other, each with a rebalance when it leaves and another one when it is back.

Members all
read the same ("equal"), or each has one of up to eight subscriptions ("unequal"); with racks there are three,
and two replicas of a partition. In a third of the groups members have instance ids, in a third client ids of
their own, in a third neither. All assignors get the same lives, and each carries on from its own answers.

`0 / 3 / 14` are the median, the 99th percentile and the worst; `6 %:` before them is how many rebalances are
above 0.

![How many rebalances are so far from the best](../docs/optimal.svg)

{tables}
"""


def page(groups: int, counts: Counts) -> str:
    """The page.

    Args:
        groups: how many groups were measured.
        counts: what came out.
    """
    return PAGE.format(
        groups=groups,
        rebalances=sum(values.total() for (_, name), values in counts["failed"].items() if name == "optimal"),
        members=MOST_MEMBERS,
        topics=MOST_TOPICS,
        partitions=MOST_PARTITIONS,
        events=EVENTS_OF_A_LIFE,
        restarted=RESTARTED,
        tables="\n\n".join(_table(figure, counts) for figure in FIGURES),
    )


def _table(figure: Figure, counts: Counts) -> str:
    places = counts[figure.name]
    shapes = [shape for shape in SHAPES if any(shape == counted for counted, _ in places)]
    lines = [
        "| | " + " | ".join(shapes) + " |",
        "|---|" + "--:|" * len(shapes),
        *(
            f"| {name} | " + " | ".join(figure.cell(places[shape, name]) for shape in shapes) + " |"
            for name in ASSIGNORS
            if (shapes[0], name) in places
        ),
    ]
    return "\n".join([f"## {figure.title}", "", f"{figure.told[0].upper()}{figure.told[1:]}.", "", *lines])


def _quantile(ordered: list[tuple[int, int]], total: int, share: float) -> int:
    upto = accumulate(count for _, count in ordered)
    return next(value for (value, _), seen in zip(ordered, upto, strict=True) if seen >= share * total)


def _percent(count: int, values: Counter[int]) -> str:
    share = 100 * count / values.total()
    return (
        f"{share:.0f} %"
        if share >= 1 or not count
        else f"{share:.1f} %"
        if share >= 0.1
        else f"{share:.2f} %"
    )
