"""Predicted and real owners, for people to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.plans.predicting import DRAWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.plans.predicting import Change, Owners

PAGE = """\
# Plans: predicted and real owners

`python -m benchmarks.plans --compare` writes this page: what `plan:ASSIGNOR` predicts from the snapshots in
`plans/measured.json`, against what Java consumers then had by their own words. `plans/README.md` says how
they were measured.

All that decides was known beforehand of {known} changes: **{equal} of {known} came as predicted, partition by
partition.** In {rest} more the change itself brings something that decides and that nobody knew. {said} of
these plans said that something is unknown, as did {cautious} of the others, where it decided nothing. {lucky}
of the {rest} came true anyway, and {hindsight} do once the plan is given what the change brought.

A line is a change of one group; a group's changes follow one another. Its partitions before are those after
the line above. "the same" stands for real owners that are the predicted ones. Moved are partitions with
another owner than before, new ones included.

| assignor | members | group | change | moved | predicted owners | real owners |
|---|---|---|---|--:|---|---|
{rows}

## Changes that no plan can know

{reasons}

{rest_rows}
"""
REASONS = {
    "growth": "the controller draws the racks that new partitions go to",
    "join": (
        "a KIP-848 client draws its member id when it starts, and without instance ids the broker's `range` "
        "puts members in the order of their ids"
    ),
    "restart": (
        "restarted members have new ids, drawn all or in part, and the strategy depends on ids: the broker's "
        "`range` by their order, the others by that of a Java hash map, in which the whole id counts"
    ),
}
"""What decides and is not known beforehand."""


def page(compared: Sequence[Change]) -> str:
    """All of it."""
    known = [change for change in compared if change.is_known]
    rest = [change for change in compared if not change.is_known]
    return PAGE.format(
        equal=sum(change.equal for change in known),
        known=len(known),
        rest=len(rest),
        cautious=sum(bool(change.assumed) for change in known),
        lucky=sum(change.equal for change in rest),
        said=sum(bool(change.assumed) for change in rest),
        hindsight=sum(change.hindsight == change.real for change in rest),
        rows="\n".join(map(_row, compared)),
        reasons="\n".join(f"- {event.title()}: {reason}." for event, reason in REASONS.items()),
        rest_rows="\n".join(
            f"- {_title(change)}: {change.drawn} of {DRAWS} draws give the owners that there were."
            for change in rest
        ),
    )


def _title(change: Change) -> str:
    members = "static" if change.static else "dynamic"
    return f"{change.assignor}, {members}, {change.shape}, {change.event}"


def _row(change: Change) -> str:
    real = "the same" if change.equal else _in_words(change, change.real)
    cells = [*_title(change).split(", "), str(_moves(change)), _in_words(change, change.predicted), real]
    return f"| {' | '.join(cells)} |"


def _moves(change: Change) -> int:
    had = {partition: name for name, partitions in change.before.items() for partition in partitions}
    return sum(
        had.get(partition) != name for name, partitions in change.real.items() for partition in partitions
    )


def _in_words(change: Change, owners: Owners) -> str:
    """As "apple a0 a1 b3; kiwi a2"."""
    short = {
        name: sorted((change.names[topic], number) for topic, number in partitions)
        for name, partitions in owners.items()
    }
    return "; ".join(
        f"{name} {' '.join(f'{topic}{number}' for topic, number in short[name]) or '-'}"
        for name in sorted(short)
    )
