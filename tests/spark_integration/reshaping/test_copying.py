"""What a copy decides without a broker: the order of records, and the writer's name."""

import pandas as pd
import pytest

from spark_integration.errors import ReadError
from spark_integration.reshaping.copying import _app_id, _highest_times


def reached(*batches: list[tuple[int, int, int]]) -> list[int]:
    """The highest times of rows of partition, offset and time that come in these batches."""
    columns = [
        tuple(pd.Series([row[at] for row in batch], dtype="int64") for at in range(3)) for batch in batches
    ]
    return [int(time) for series in _highest_times()(iter(columns)) for time in series]


def test_the_highest_time_of_a_partition_never_falls() -> None:
    assert reached([(3, 5, 20), (3, 6, 10)], [], [(3, 9, 15), (3, 10, 30)]) == [20, 20, 20, 30]


def test_a_task_may_read_several_partitions_one_after_the_other() -> None:
    assert reached([(3, 5, 20), (4, 0, 10)], [(4, 1, 5), (5, 0, 1), (5, 1, 2)]) == [20, 10, 10, 1, 2]


@pytest.mark.parametrize(
    "batches",
    [[[(3, 5, 1), (3, 4, 2)]], [[(3, 5, 1)], [(3, 5, 2)]], [[(3, 5, 1), (2, 6, 2), (3, 4, 1)]]],
    ids=["backwards", "twice", "backwards after another partition"],
)
def test_rows_in_another_order_than_the_topic_s_are_refused(
    batches: list[list[tuple[int, int, int]]],
) -> None:
    with pytest.raises(ReadError, match="does not read partition 3 of the old topic in the order"):
        reached(*batches)


def test_a_long_name_of_a_topic_is_cut_and_stays_different() -> None:
    assert _app_id("orders") == "reshape of orders"
    long, other = ("o" * 248 + end for end in "ab")
    assert len(_app_id(long)) <= 200
    assert _app_id(long) == _app_id(long) != _app_id(other)
