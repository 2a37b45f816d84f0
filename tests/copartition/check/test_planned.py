"""What growing a topic breaks."""

import pytest

from copartition.check.planned import plan_growth
from copartition.check.report import plan_sentences
from partitioning.errors import InvalidConfigError, InvalidPartitionCountError

JOINS = [("orders", "payments"), ("payments", "customers"), ("clicks", "views"), ("orders", "rates")]
COUNTS = {"orders": 24, "payments": 24, "customers": 24, "clicks": 6, "views": 6, "rates": 1}


def fates(plan):
    return {join.topics: join.fate for join in plan.joins}


def test_joins_of_a_topic_that_grows_alone_break():
    plan = plan_growth(JOINS, COUNTS, {"orders": 48})
    assert fates(plan) == {
        ("orders", "payments"): "breaks",
        ("payments", "customers"): "untouched",
        ("clicks", "views"): "untouched",
        ("orders", "rates"): "broken",
    }
    assert plan.answer == "no"


def test_topics_that_joins_tie_to_it_must_grow_too():
    plan = plan_growth(JOINS, COUNTS, {"orders": 48})
    assert [(growth.topic, growth.planned, growth.needed) for growth in plan.grow] == [
        ("customers", 24, 48),
        ("orders", 48, 48),
        ("payments", 24, 48),
        ("rates", 1, 48),
    ]


def test_growth_together_moves_keys_all_the_same():
    plan = plan_growth(JOINS[:1], COUNTS, {"orders": 48, "payments": 48})
    assert fates(plan) == {("orders", "payments"): "moves"}
    assert plan.answer == "no"
    assert [growth.moved for growth in plan.grow] == [0.5, 0.5]


def test_growth_to_less_than_another_topic_has_is_not_enough():
    plan = plan_growth([("a", "b")], {"a": 6, "b": 24}, {"a": 12})
    assert [(growth.topic, growth.planned, growth.needed) for growth in plan.grow] == [("a", 12, 24)]


def test_growth_may_mend_a_join():
    assert fates(plan_growth([("a", "b")], {"a": 6, "b": 12}, {"a": 12})) == {("a", "b"): "moves"}


def test_what_is_told():
    *sentences, skipped = plan_sentences(plan_growth(JOINS[:2], COUNTS, {"orders": 48}))
    assert sentences == [
        "growing orders to 48 breaks orders with payments: partition counts would differ",
        "to keep counts equal, grow too: customers to 48 (now 24) and payments to 48 (now 24)",
        (
            "growth moves 50% of the keys of customers, 50% of the keys of orders and 50% of the keys of "
            "payments: their records to come do not meet those there are, until these are gone or are "
            "written anew"
        ),
    ]
    assert skipped.startswith(
        "Under auto.offset.reset=latest, the default, a group skips in each new partition"
    )
    assert "To lose none, set auto.offset.reset=earliest" in skipped


def test_growth_to_what_it_has_touches_nothing():
    plan = plan_growth(JOINS[2:3], COUNTS, {"clicks": 6})
    assert (plan.answer, plan_sentences(plan)) == ("yes", ["growing clicks to 6 touches none of 1 joins"])


@pytest.mark.parametrize(
    ("joins", "counts", "grown", "error", "said"),
    [
        ([("a",)], {"a": 1}, {"a": 2}, InvalidConfigError, "two topics or more"),
        ([("a", "b")], {"a": 1}, {"a": 2}, InvalidConfigError, "how many partitions has b"),
        ([("orders", "b")], {"orders": 1, "b": 1}, {"order": 2}, InvalidConfigError, "did you mean orders"),
        ([("a", "b")], {"a": 3, "b": 3}, {"a": 2}, InvalidPartitionCountError, "only grow"),
        ([("a", "b")], {"a": 3, "b": 3}, {"a": 2**31}, InvalidPartitionCountError, "2147483648"),
    ],
)
def test_what_cannot_be_planned(joins, counts, grown, error, said):
    with pytest.raises(error, match=said):
        plan_growth(joins, counts, grown)
