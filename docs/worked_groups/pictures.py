"""A story as a picture: a row of partitions for each rebalance, with their owners and what the rule told."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import jinja2

from copartition.kit.page import COLOURS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from docs.worked_groups.stories import Rebalance, Story
    from partitioning import TopicPartition

_LEFT, _CELL, _HEIGHT, _GAP, _BETWEEN_TOPICS = 130, 68, 30, 4, 18
_LINE = 14
"""Height of a line of text."""


class Cell(NamedTuple):
    """One partition after one rebalance."""

    x: int
    number: int
    owner: str
    """Who has it, or an arrow to the member that waits for it."""
    colour: int | None
    """That of its owner; None for nobody."""
    new: bool
    """Whether its owner is another than before."""
    steps: tuple[str, ...]


class Row(NamedTuple):
    """One rebalance."""

    y: int
    event: str
    sizes: str
    """How many partitions each member has."""
    cells: list[Cell]


class TopicHeading(NamedTuple):
    """A topic over its partitions."""

    x: int
    name: str
    readers: str
    """Who subscribes to it in the end."""


class Picture(NamedTuple):
    """The picture, in pixels."""

    width: int
    height: int
    topics: list[TopicHeading]
    rows: list[Row]
    held_back: bool
    """Whether any partition waits for its owner."""
    summary: str


def picture(story: Story) -> Picture:
    """Lay the picture out."""
    last = story.rebalances[-1]
    names = dict.fromkeys(member for rebalance in story.rebalances for member in rebalance.assignment)
    colours = {name: number % COLOURS for number, name in enumerate(names)}
    places, headings, x = {}, [], _LEFT
    for topic in last.group.topics:
        readers = [member.id for member in last.group.members if topic.name in member.topics]
        headings.append(TopicHeading(x, topic.name, f"({', '.join(readers)})"))
        for number in range(topic.partitions):
            places[topic.name, number] = x
            x += _CELL + _GAP
        x += _BETWEEN_TOPICS
    rows, y = [], 32
    before: dict[TopicPartition, str | None] = {}
    for rebalance in story.rebalances:
        rows.append(_row(rebalance, before, y, places, colours))
        before = {partition: rebalance.assignment.owner_of(partition) for partition in rebalance.why}
        y += _HEIGHT + _LINE * max(len(cell.steps) for cell in rows[-1].cells) + 18
    return Picture(
        width=x - _GAP - _BETWEEN_TOPICS + 12,
        height=y + 20,
        topics=headings,
        rows=rows,
        held_back=any(rebalance.assignment.transferring for rebalance in story.rebalances),
        summary=f"{story.assignor}. " + " ".join(map(_in_words, story.rebalances)),
    )


def picture_svg(story: Story) -> str:
    """The picture as a file of its own."""
    folders = [jinja2.FileSystemLoader(Path(__file__).parent), jinja2.PackageLoader("copartition", ".")]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(folders),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template("story.svg.j2").render(
        picture=picture(story), cell_width=_CELL, cell_height=_HEIGHT, colours=COLOURS
    )


def _row(
    rebalance: Rebalance,
    before: Mapping[TopicPartition, str | None],
    y: int,
    places: Mapping[tuple[str, int], int],
    colours: Mapping[str, int],
) -> Row:
    cells = []
    for partition, why in rebalance.why.items():
        owner = rebalance.assignment.owner_of(partition)
        cells.append(
            Cell(
                places[partition],
                partition.partition,
                f"→ {why.owner}" if owner is None else owner,
                None if owner is None else colours[owner],
                bool(before) and owner is not None and owner != before.get(partition),
                tuple(step.reason.value for step in why.steps),
            )
        )
    sizes = ", ".join(f"{member} {len(given)}" for member, given in rebalance.assignment.items())
    return Row(y, rebalance.event, sizes, cells)


def _in_words(rebalance: Rebalance) -> str:
    given = rebalance.assignment.items()
    lists = "; ".join(
        f"{member}: {', '.join(map(str, partitions)) or 'nothing'}" for member, partitions in given
    )
    return f"{rebalance.event.capitalize()}: {lists}."
