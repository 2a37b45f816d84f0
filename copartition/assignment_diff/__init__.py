"""Tell what a change to a group moves and stops: two states of a group, or one and a plan, compared.

The names of `api` are those of the package; they are imported when they are first used.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.assignment_diff.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
