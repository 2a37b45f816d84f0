"""Rates that consumers measure and send along."""

import math
from dataclasses import replace

import pytest

from assignors import Group, Member, PartitionList, StickyUserData, Topic, get_assignor
from assignors.protocol import decode_cooperative_user_data, decode_sticky_user_data
from assignors.weighted.weights import read_measured, with_rates
from partitioning.errors import InvalidConfigError

NAMES = ("weighted", "cooperative-weighted")
RATES = {("orders", 0): 9.0, ("orders", 1): 1.0, ("clicks", 3): 0.5}
EMPTY = b"\x00\x00\x00\x00RATE"
TOPICS = [Topic("orders", 4)]


def member(name, rates=None, **more):
    return Member(name, ["orders"], user_data=with_rates(None, rates or {}), **more)


@pytest.mark.parametrize("name", NAMES)
def test_the_leader_goes_by_what_members_measured(name):
    heavy = {("orders", partition): weight for partition, weight in enumerate([6, 2, 2, 2])}
    first = get_assignor(name).assign(Group(TOPICS, [member("a", heavy), member("b")]))
    assert sorted(map(len, first.values())) == [1, 3]


def test_the_greatest_of_several_rates_counts():
    earlier, later = {("orders", 0): 1.0}, {("orders", 0): 3.0, ("orders", 1): 1.0}
    assert read_measured([member("a", earlier), member("b", later)]).rates == later
    assert read_measured([member("a", later), member("b", earlier)]).rates == later


def test_weights_of_the_leader_come_first():
    members = [member("a", {("orders", 0): 100.0}), member("b")]
    even = get_assignor("weighted", weights={"orders": 1}).assign(Group(TOPICS, members))
    assert sorted(map(len, even.values())) == [2, 2]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("generation", [-1, 7])
def test_what_a_member_remembers_is_there_as_without_rates(name, generation):
    owned = PartitionList.of([("orders", 1), ("orders", 2)])
    plain = get_assignor(name).user_data(owned, generation)
    sent = get_assignor(name, rates=lambda: RATES).user_data(owned, generation)
    [found] = read_measured([Member("a", ["orders"], user_data=sent)]).members
    assert found.user_data == plain


def test_readers_that_know_nothing_of_rates_read_the_rest():
    owned = PartitionList.of([("orders", 1)])
    sent = [get_assignor(name, rates=lambda: RATES).user_data(owned, 7) for name in NAMES]
    assert decode_sticky_user_data(sent[0]) == (owned, 7)
    assert decode_cooperative_user_data(sent[1]) == 7


@pytest.mark.parametrize("name", NAMES)
def test_a_consumer_that_measured_nothing_sends_nothing_more(name):
    owned = PartitionList.of([("orders", 1)])
    silent = get_assignor(name, rates=dict).user_data(owned, 7)
    assert silent == get_assignor(name).user_data(owned, 7)


@pytest.mark.parametrize(
    "data",
    [
        with_rates(None, RATES)[:-5] + b"RATE",
        with_rates(None, RATES)[9:],
        b"RATE",
        b"\xff\xff\xff\xffRATE",
        EMPTY,
        StickyUserData(PartitionList.of([]), 1),
    ],
    ids=["cut behind", "cut before", "no length", "too long", "empty", "decoded"],
)
def test_what_are_no_rates_counts_as_none(data):
    said = read_measured([Member("a", ["orders"], user_data=data)])
    assert (said.rates, said.members[0].user_data) == ({}, data)


@pytest.mark.parametrize("rate", [math.nan, math.inf, -1.0])
def test_a_rate_that_is_none_is_refused_where_it_is_measured(rate):
    assignor = get_assignor("weighted", rates=lambda: {("orders", 0): rate})
    with pytest.raises(InvalidConfigError, match="the weight of orders-0 is"):
        assignor.user_data(PartitionList.of([]), -1)


def test_a_rate_that_is_none_is_left_out_where_it_is_read():
    sent = with_rates(None, {("orders", 0): 2.0, ("orders", 1): 1.0})
    odd = sent.replace(b"\x3f\xf0\x00\x00\x00\x00\x00\x00", b"\x7f\xf8\x00\x00\x00\x00\x00\x00")
    assert odd != sent
    assert read_measured([Member("a", ["orders"], user_data=odd)]).rates == {("orders", 0): 2.0}


def test_rates_that_are_no_function_are_refused():
    with pytest.raises(InvalidConfigError, match="give a function without arguments"):
        get_assignor("weighted", rates=RATES)


def test_members_keep_the_order_of_the_group():
    members = [member("b", RATES), replace(member("a"), owned=PartitionList.of([("orders", 0)]))]
    assert [reader.id for reader in read_measured(members).members] == ["b", "a"]
