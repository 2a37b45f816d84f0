"""The peak of a change by the weights of its partitions."""

from dataclasses import replace

import numpy as np
import pytest

from assignors.assignment import Assignment
from assignors.state import GroupState
from copartition.assignment_diff import diff
from partitioning.errors import InvalidConfigError

LISTS = {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)]}
WEIGHTS = {"t": [5, 4, 2, 1]}


def state(lists):
    given = GroupState.of(Assignment.of(lists)).with_every_partition({"t": 4})
    return replace(given, members=tuple(member._replace(topics=("t",)) for member in given.members))


def summary(after=LISTS, **more):
    return diff(state(LISTS), replace(state(after), **more), weights=WEIGHTS).summary


def test_the_peak_is_the_largest_load_in_multiples_of_the_mean():
    numbers = summary()
    assert (numbers.peak, numbers.needed_peak) == pytest.approx((9 / 6, 1))


def test_a_change_can_lower_it():
    better = {"a": [("t", 0), ("t", 3)], "b": [("t", 2), ("t", 1)]}
    assert summary(better).peak == pytest.approx(1)


def test_without_weights_there_is_none():
    assert diff(state(LISTS), state(LISTS)).summary.peak is None


@pytest.mark.parametrize(
    "unknown", [{"members_complete": False}, {"complete": False}], ids=["members", "partitions"]
)
def test_it_is_unknown_where_the_state_does_not_tell(unknown):
    assert summary(**unknown).peak is None


def test_members_of_unknown_subscriptions_could_read_everything():
    members = tuple(member._replace(topics=None) for member in state(LISTS).members)
    assert summary(members=members).needed_peak == pytest.approx(1)


def test_it_is_unknown_where_a_partition_has_two_owners():
    known = state(LISTS)
    second = {
        name: np.append(getattr(known, name), number) for name, number in (("topic", 0), ("partition", 1))
    }
    twice = replace(known, member=np.append(known.member, 1).astype(np.int32), **second)
    numbers = diff(state(LISTS), twice, weights=WEIGHTS).summary
    assert (numbers.conflicts, numbers.peak) == (1, None)


def test_weights_that_make_no_sense_are_refused():
    with pytest.raises(InvalidConfigError, match="the weight of topic 't' is -1"):
        diff(LISTS, LISTS, weights={"t": -1})
