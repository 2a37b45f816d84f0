"""The simulator takes the optimal assignors like any other."""

import pytest

from assignors import Topic
from copartition import simulate
from copartition.simulation import Consumer, Join, Leave, Scenario
from tests.assignors.optimal.groups import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_simulated_group_ends_with_the_best_loads(name):
    topics = (Topic("orders", 7), Topic("pay", 5))
    people = (Consumer("a"), Consumer("b", topics=("pay",)), Consumer("c"))
    events = (Join(60_000.0, Consumer("d")), Leave(120_000.0, "a"))
    result = simulate(Scenario(topics, people, events, name))
    last = result.rebalances[-1].assignment
    assert sorted(map(len, last.values())) == [4, 4, 4]
