"""The way out for groups that the columns do not know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from partitioning.java.many_maps import Order


class OddGroup(Exception):  # noqa: N818 - not an error: the rule answers instead
    """The group is one that the columns leave to the rule.

    Such groups hold claims of partitions that do not exist, two claims of one partition, a subscription that
    names a topic twice or names none, no members, or maps so crowded that arithmetic cannot tell their order;
    or the JVM fails, or never ends.
    """


def rows_of(order: Order) -> NDArray[np.intp] | None:
    """The rows of an order that holds for every map.

    Raises:
        OddGroup: some map is crowded.
    """
    if len(order.crowded):
        raise OddGroup
    return order.rows
