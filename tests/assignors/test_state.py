"""Strategies as Kafka tells them."""

import pytest

from assignors import get_assignor
from assignors.state import strategy_name


@pytest.mark.parametrize(
    ("told", "protocol", "name"),
    [
        ("range", "classic", "range"),
        ("range", None, "range"),
        ("range", "consumer", "broker-range"),
        ("uniform", "consumer", "uniform"),
        ("cooperative-sticky", "classic", "cooperative-sticky"),
    ],
)
def test_it_is_one_that_is_known_here(told, protocol, name):
    assert strategy_name(told, protocol) == get_assignor(name).name == name


@pytest.mark.parametrize("told", ["", None])
def test_a_group_that_has_none_yet_has_none(told):
    assert strategy_name(told, "consumer") is None
