"""What a change to a consumer group or a topic does, before you make it: compare, simulate, audit, watch."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

load_lazily(__name__)
