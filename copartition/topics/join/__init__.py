"""Can these topics be joined partition by partition, and what must change where they cannot?"""

from typing import TYPE_CHECKING

from partitioning.kit.lazy import load_lazily

if TYPE_CHECKING:
    from copartition.topics.join.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
