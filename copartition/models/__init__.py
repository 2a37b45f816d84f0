"""Compute the effect of settings: on a producer's batches and deliveries, and on a share group's records.

`producer` and `share_groups` have the models, with their reports. `events` is the clock of every model, and
`record_stream` supplies the records that a producer gets. `command` presents the answers.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.models.api import *  # noqa: F403 - the names of `api` are those of the package

load_lazily(__name__)
