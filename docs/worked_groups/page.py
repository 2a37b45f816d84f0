"""The worked groups in the page: a picture and a table for each, between two comments that name it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from assignors import Reason
from docs.worked_groups.pictures import picture_svg
from docs.worked_groups.stories import stories

if TYPE_CHECKING:
    from docs.worked_groups.stories import Story

FOLDER = Path(__file__).parent
PAGE = FOLDER.parent / "how-assignors-decide.md"


def files() -> dict[Path, str]:
    """What each file should hold: the pictures, and the page with its tables made again."""
    told = stories()
    page = re.sub(
        r"(?<=<!-- worked group: )(.+?) -->\n.*?(?=<!-- end -->)",
        lambda found: f"{found[1]} -->\n\n{_picture_and_table(found[1], told[found[1]])}\n",
        PAGE.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    return {FOLDER / f"{name}.svg": picture_svg(story) for name, story in told.items()} | {PAGE: page}


def _picture_and_table(name: str, story: Story) -> str:
    """Left out of the table: the first rebalance, and partitions that are only kept."""
    events = ", then ".join(rebalance.event for rebalance in story.rebalances)
    rows = [
        f"| {rebalance.event} | {why} |"
        for rebalance in story.rebalances[1:]
        for why in rebalance.why.values()
        if [step.reason for step in why.steps] != [Reason.KEPT]
    ]
    picture = f"![{story.assignor}: {events}]({FOLDER.name}/{name}.svg)"
    return "\n".join([picture, "", "| when | why |", "|---|---|", *rows, ""])
