"""Model what settings do: a producer's batching and delivery, a share group's lock and number of members."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.models.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
