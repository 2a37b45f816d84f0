"""How the changes of a watched group are reported."""

import json
from dataclasses import replace

import pytest

from assignors.state import GroupState
from copartition.groups.snapshot import RecordStep
from copartition.watch.changes import Trouble
from copartition.watch.report import WatchReport, trouble_text
from tests.copartition.watch.groups import group

PREPARING = "PreparingRebalance"
NO_GROUP = GroupState.without_partitions(name="g", status="Dead")


def report_of(*seen, form="text"):
    report = WatchReport(form)
    return "".join(report.lines(RecordStep(*look)) for look in seen), report


def lines(*seen):
    """What is said of each change, without the columns before it."""
    return [line.split("  ", 3)[-1] for line in report_of(*seen)[0].splitlines()]


@pytest.mark.parametrize(
    ("strategy", "protocol", "stood"),
    [
        ("range", "classic", "; eager: every partition stood still"),
        ("cooperative-sticky", "classic", ""),
        ("some-plugin", "classic", ""),
        ("range", "consumer", ""),
    ],
)
def test_the_end_of_an_eager_rebalance_says_that_all_stood_still(strategy, protocol, stood):
    settled = group("Stable", strategy, protocol, a=[0, 1, 2, 3])
    found = lines((0, None, settled), (3, 2, group(PREPARING, strategy, protocol, a=[])), (6, 5, settled))
    assert found[1:] == [
        f"Stable -> {PREPARING}",
        f"{PREPARING} -> Stable after 2.0 s to 4.0 s: 1 member, 4 partitions, {strategy}{stood}",
    ]


def test_each_kind_of_change_is_a_line():
    found = lines(
        (0, None, NO_GROUP),
        (2, 1, group("Stable", "range", a_1=[0, 1, 3], b=[])),
        (4, 3, group("Stable", "sticky", count=5, a_2=[1, 3, 4], c=[0])),
        (6, 5, NO_GROUP),
    )
    assert found == [
        "there is no such group yet; waiting for it",
        "Dead -> Stable: 2 members, 4 partitions, range",
        "a joined",
        "b joined",
        "nobody -> a  t:0-1,3",
        "assignor range -> sticky",
        "a is back under a new member id",
        "c joined",
        "b left",
        "t grew from 4 to 5 partitions",
        "a -> c  t:0  no owner for at most 1.0 s",
        "nobody -> a  t:4",
        "the group is gone; waiting for it",
        "a left",
        "c left",
        "a -> nobody  t:1,3-4",
        "c -> nobody  t:0",
    ]


def test_a_line_begins_with_time_step_state_and_generation():
    text, _ = report_of((1e9, None, group("Stable", generation=7, a=[0, 1, 2, 3])))
    assert text == (
        "2001-09-09T01:46:40Z  #0  Stable  generation >= 7  1 member, 4 partitions, cooperative-sticky\n"
    )


def test_names_cannot_steer_a_terminal():
    text, _ = report_of((0, None, group("Stable", a=[0])), (2, 1, group("Stable", a=[0], **{"\x1b[31m": []})))
    assert text.endswith("\\x1b[31m joined\n")


def test_json_is_an_object_a_line():
    text, _ = report_of(
        (0, None, group("Stable", generation=7, a=[0, 1, 2, 3])),
        (2.5, 1.25, group("Stable", a=[0, 1], b=[2, 3])),
        form="json",
    )
    *_, moved = map(json.loads, text.splitlines())
    assert moved == {
        "at": "1970-01-01T00:00:02.500Z",
        "step": 1,
        "kind": "moved",
        "group": "g",
        "state": "Stable",
        "generation_at_least": None,
        "members": 2,
        "name": None,
        "before": None,
        "after": None,
        "source": "a",
        "target": "b",
        "partitions": {"t": [2, 3]},
        "least_ms": None,
        "most_ms": 1250,
    }


def test_the_end_tells_what_was_seen_and_what_cannot_have_been():
    _, report = report_of(
        (0, None, group("Stable", a=[0, 1], b=[2, 3])),
        (3, 2, group(PREPARING, a=[])),
        (6, 5, group("Stable", a=[0, 1, 2, 3])),
    )
    assert report.summary(60, 0.5) == (
        "1 min 00 s: 0 joined, 1 left, 0 restarted, 2 partitions taken over, "
        "without an owner for at most 4.0 s\n"
        "what came and went between two looks, at most 500 ms, was not seen\n"
        "a member that is killed owns its partitions until its session times out: nobody reads them, and no "
        "look shows it\n"
    )


def test_the_end_tells_that_no_look_shows_how_long_a_member_was_away():
    static = (("a_1", "pod-0"), ("a_2", "pod-0"))
    states = [
        replace(state, members=(member._replace(id=id_, instance_id=instance),))
        for (id_, instance), state in zip(static, [group("Stable", a=[0, 1, 2, 3])] * 2, strict=True)
        for member in state.members
    ]
    text, report = report_of((0, None, states[0]), (8, 7, states[1]))
    assert text.splitlines()[1].endswith("pod-0 is back under a new member id")
    assert "how long a restarted member was away shows in no look" in report.summary(8, None)


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Trouble(True, 0, "down"), "down; away since 1970-01-01T00:00:00Z, trying again"),
        (Trouble(True, 0, None), "it answers again, after 12.5 s without an answer"),
        (Trouble(False, 0, "no leader"), "no leader; trying again"),
        (Trouble(False, 0, None), "offsets can be read again"),
    ],
)
def test_trouble_is_told_with_the_time_since_which_nothing_is_known(trouble, words):
    assert trouble_text(trouble, 12.5) == words


def test_a_record_does_not_tell_how_often_somebody_looked():
    _, report = report_of((0, None, group("Stable", a=[0, 1, 2, 3])))
    assert report.summary(0.4, None) == "400 ms: 0 joined, 0 left, 0 restarted, 0 partitions taken over\n"
