"""Compare two states of a group, one of which may be a plan, and tell what the change moves and stops.

- `pair` reads both sides. `planner` makes a plan, with the topics of `planned_topics`.
- `compare` finds the changes. `changes` decides which member before is which member after, `needed` how many
  moves were needed and whether a group is balanced, and `happenings` what the change stops.
- `summary` counts. `report`, `page` with the pictures of `owner_pictures` and `load_picture`, and `command`
  present the answer.

The names of `api` are those of the package; they are imported when they are first used.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.assignment_diff.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
