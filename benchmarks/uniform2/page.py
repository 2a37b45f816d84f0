"""What came out, as `benchmarks/uniform2.md` tells it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.uniform2.measuring import RULES, TRIES
from benchmarks.uniform2.shapes import EVENTS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.measured import Run

DRAFT, OURS = "the draft's rule", "optimal, spread before moves"
FIGURES = {"squares": "loads", "spread": "topic spread", "moves": "moves"}
"""What is minimised, and what the page calls it."""


class Case(NamedTuple):
    """One event of one group, and the figures of every rule."""

    shape: str
    event: str
    figures: dict[str, dict[str, float]]

    @property
    def subscriptions(self) -> str:
        """What members of the group have in common."""
        return self.shape.split(", ")[2]


def cases(runs: Sequence[Run]) -> list[Case]:
    """All events of all groups."""
    return [Case(run["shape"], event, figures) for run in runs for event, figures in run["events"].items()]


def verdict(case: Case, figure: str, one: str, other: str = DRAFT) -> str:
    """Whether a rule is better than the other one in a figure, equal or worse."""
    difference = case.figures[one][figure] - case.figures[other][figure]
    return "worse" if difference > 0 else "better" if difference else "equal"


def page(runs: Sequence[Run]) -> str:
    """The page."""
    every = cases(runs)
    return "\n".join(
        [
            HEAD.format(groups=len(runs), cases=len(every)),
            *_verdicts(every),
            MILLISECONDS.format(tries=TRIES, slower=_slower(every)),
            *_milliseconds(every),
            "\n## Every case\n",
            "Loads and topic spread: the sum of squares, of topics above the least that each alone can have;",
            "then the most less the least, of the worst topic.",
            *_tables(runs),
            "",
        ]
    )


def _slower(every: Sequence[Case]) -> str:
    slower, usual = (
        [case.figures[OURS]["ms"] / case.figures[other]["ms"] for case in every]
        for other in (DRAFT, "optimal")
    )
    return (
        f"The option takes {median(slower):.1f} times as long as our program for the draft's rule (median;\n"
        f"at most {max(slower):.1f}), and {median(usual):.2f} times as long as `optimal` without it (at most "
        f"{max(usual):.1f})."
    )


def _verdicts(every: Sequence[Case]) -> Iterator[str]:
    yield "| rule | subscriptions | " + " | ".join(FIGURES.values()) + " |"
    yield "|---|---|" + "---|" * len(FIGURES)
    for name in RULES:
        if name == DRAFT:
            continue
        for subscriptions in SUBSCRIPTIONS:
            chosen = [case for case in every if case.subscriptions == subscriptions]
            counts = [[verdict(case, figure, name) for case in chosen] for figure in FIGURES]
            cells = [
                ", ".join(
                    f"{verdicts.count(word)} {word}"
                    for word in ("better", "equal", "worse")
                    if word in verdicts
                )
                for verdicts in counts
            ]
            yield f"| {name} | {subscriptions} | " + " | ".join(cells) + " |"


def _milliseconds(every: Sequence[Case]) -> Iterator[str]:
    yield "| event | " + " | ".join(RULES) + " |"
    yield "|---|" + "--:|" * len(RULES)
    for event in EVENTS:
        chosen = [case for case in every if case.event == event]
        times = [[case.figures[name]["ms"] for case in chosen] for name in RULES]
        yield f"| {event} | " + " | ".join(f"{median(ms):.1f} / {max(ms):.1f}" for ms in times) + " |"


def _tables(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        yield f"\n### {run['shape']}\n"
        yield "| event | rule | loads | topic spread | moves | ms |"
        yield "|---|---|--:|--:|--:|--:|"
        for event, figures in run["events"].items():
            for name, row in figures.items():
                loads, spread = (
                    f"{row[squares]:,}: {row[most]}"
                    for squares, most in (("squares", "loads"), ("spread", "uneven"))
                )
                yield f"| {event} | {name} | {loads} | {spread} | {row['moves']:,} | {row['ms']:.1f} |"


HEAD = """\
# The draft `uniform2` and the optimal assignors

`python -m benchmarks.uniform2` writes this page: {groups} groups, {cases} cases.

`uniform2` is a draft in Kafka's fork network: no release has it, and no KIP. The rule compared here is what
the draft says of itself (dajac/kafka, commit fb7e6b6a), **in a program of our own; it is not the draft, and
not the draft's code**. In order:

1. topic spread, as a bound: a subscriber gets a topic's partitions over its subscribers, rounded down or up;
2. loads: the least sum of squares that this bound leaves;
3. partitions whose member is in another rack (left out here);
4. moves.

Another draft of the same name (apache/kafka, commit d9754fda) has the same bound, asks of loads only
that no single partition over could go to a member with two fewer, and has no racks. `uniform3`, an
experiment in the commit of the rule, puts loads before topic spread, then racks, then moves.

`optimal` has loads, moves, topic spread; with `spread="before-moves"` loads, topic spread, moves, which is
the order of `uniform3` without racks. No single order is best in all figures against both: where topics
have too few subscribers for the best loads, the bound costs loads, and the best loads cost topic spread.
What holds:

- Loads of `optimal`, with the option or without it, are never worse than those of any rule.
- Where the rule's answer has the best loads, the option's topic spread is no worse, and where that is
  equal, too, its moves are no more. So it is with equal subscriptions, and with buckets that have no topic
  in common.

The groups are those of the draft's benchmark with 10 partitions a member: equal subscriptions, or five
buckets without a topic in common; sizes of topics equal, or mixed (four of five topics have one partition).
"overlapping" is ours: a bucket reads the topics of the next one, too. After a join, a leave and growth all
rules start from the answer of the draft's rule; "from uniform" is the same group with the answer of Kafka's
`uniform`. Racks are left out.

## Against the draft's rule

In how many cases each rule is better, equal or worse. Loads and topic spread are sums of squares.
"""

MILLISECONDS = """
## Milliseconds

Median and most of all groups; of each case the quickest of {tries} in this run. All are Python, so none of
them is the time of the draft, which runs in the JVM.

{slower}

The rule's flow decides only about the partitions that are over after division, and that is less than what
`optimal` decides, so the option does not reach the speed of the rule. It has that of `optimal`, but where
nothing has to move: there `optimal` only compares loads, and the option has to see whether topics can be
spread better. For a new group both do the same work: where their times differ, other programs ran.
"""
